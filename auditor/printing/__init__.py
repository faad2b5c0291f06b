"""Printing objects as `kubectl get` prints them: tables, JSONPath, custom columns, YAML, JSON, names.

What comes in are plain objects (dicts as the API server would answer them) and what was asked for; what goes out is
text. Nothing here reads a dump or an index: objects come through a small protocol (`get.Store`), by which the whole
command runs in tests against the recorded answers of the real one.

jsonpath, yamltext, jsonprint: one form each. columns, durations: from an object to the cells of its row, as the server
makes them. tables: cells to text, as the client does. discovery: which kinds there are and what a person means by a
word. get: the command, its arguments, its errors, its order.

Source: kubectl pkg/cmd/get, cli-runtime pkg/{printers,resource}, client-go util/jsonpath, apiextensions-apiserver
pkg/registry/customresource/tableconvertor.
"""

from __future__ import annotations

__all__: list[str] = []
