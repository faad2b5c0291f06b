"""How Go decodes, prints, parses and matches: the ground under everything that must agree with the API server.

Bytes and plain strings come in, plain values go out; nothing here knows a schema or an object. What Go refuses is
raised as an error of the module concerned, and its text is Go's, because the server shows that text to people.

The modules do not lean on Python's standard library where it is only nearly the same (`json`, `ipaddress`, `urllib`,
`email`, `datetime`); each names the Go package it follows. Import the modules, not this package: most of what uses them
needs one or two, and this package stays empty so that the cheap ones stay cheap to import.
"""

from __future__ import annotations

__all__: list[str] = []
