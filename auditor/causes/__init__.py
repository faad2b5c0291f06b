"""Findings that people read: grouped into causes, with severities, from the stored tables of a report.

`model.FindingsModel` is the one way to them, for terminal output and for every file format. It reads a report of one
cluster or of a fleet, also one that an older auditor wrote, and needs no dump.

A *cause* is why findings are there: the part of a definition that a value breaks (definition, version, check, rule,
field without indexes and map keys, type, form of the message), or what objects do to a server (`impact`). Requests do
not count: the same finding of a create, a PUT and a status write has one cause. A finding that only follows from others
("some validation rules were not checked") belongs to the cause of the first of them.
"""
