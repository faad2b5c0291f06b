"""Built-in kinds: a list of them, decoding of stored protobuf, field selectors, printed columns.

Input: the bytes of one stored value, protobuf or JSON. Output: the object in the JSON of the API server, the texts that
field selectors compare, the cells of `kubectl get`. Nothing here reads a dump, validates or defaults.

messages.json holds the field numbers and JSON names of every stored kind, taken from the published definitions
(k8s.io/api and apimachinery v0.37.2, generated.proto). kinds: names, keys, ranks. protobuf: the wire reader.
selectable: labels and values. columns, other_columns, pods: the cells.

Source: k8s.io/api */generated.proto; kubernetes pkg/apis/*/conversion.go, pkg/registry/*/strategy.go,
pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

__all__: list[str] = []
