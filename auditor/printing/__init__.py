"""Printing objects as `kubectl get` prints them: tables, JSONPath, custom columns, YAML, JSON, names.

Input: objects (dicts as the API server would return them) and options. Output: text. Nothing here reads a dump or an
index: objects come through a small protocol (`get.Store`), so that tests can run the whole command against recorded
answers of the real one.

jsonpath, yamltext, jsonprint: one output format each. columns, durations: from an object to the cells of its row, as
the server does. tables: from cells to text, as the client does. discovery: the kinds, and how an argument names one.
get: the command, its arguments, errors and order.

Source: kubectl pkg/cmd/get, cli-runtime pkg/{printers,resource}, client-go util/jsonpath, apiextensions-apiserver
pkg/registry/customresource/tableconvertor.
"""

from __future__ import annotations

__all__: list[str] = []
