"""File formats that a stored report is written in, one module each.

`problems.Content` is what each of them gets: the run, its causes, and all problems in the order of the report. A format
writes to a text stream, in bounded memory, the same bytes for the same report. `registry.FORMATS` lists them.
"""
