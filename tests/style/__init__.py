"""Checks of the sources, tests and documents themselves; `make check` runs them (`python -m tests.style`).

Each is a function from the project's files, which are read and parsed once, to places: `path:line: what: what to write
instead`.
"""
