"""Reproduces how Go decodes, prints, parses and matches; agreement with the API server depends on it.

Input: bytes and strings. Output: plain values; nothing here knows schemas or objects. Each module raises its own error
for input that Go refuses; its text is Go's, as the server returns that text to clients.

The modules avoid parts of Python's standard library that are only similar (`json`, `ipaddress`, `urllib`, `email`,
`datetime`); each names the Go package that it follows. Import the modules, not this package: it is empty, so that
importing one module does not load the others.
"""

from __future__ import annotations

__all__: list[str] = []
