"""YAML as the Kubernetes tooling reads it: YAML 1.1 with Go's own table of scalars, turned into JSON.

In: bytes of a manifest, maybe of many documents. Out: JSON values, with numbers as a decoder of Kubernetes objects
sees them, or JSON text as Go prints it. Errors are YamlError with Go's text. Nothing here knows Kubernetes kinds.

The scanner is libyaml (events.py, which also undoes its differences from Go's); the tree (compose.py), what scalars
mean (scalars.py), merging, duplicates, alias limits, keys and numbers (convert.py) and the cutting of streams
(chunks.py) are ours, because PyYAML's follow other rules. No recursion: 10,000 levels are legal.

Source: sigs.k8s.io/yaml, go.yaml.in/yaml v2, k8s.io/apimachinery/pkg/util/yaml.
"""

from auditor.sources.yaml.chunks import Chunk, looks_like_json, yaml_chunks
from auditor.sources.yaml.errors import YamlError
from auditor.sources.yaml.text import line_behind_document, yaml_to_json, yaml_to_json_text

__all__ = [
    "Chunk",
    "YamlError",
    "line_behind_document",
    "looks_like_json",
    "yaml_chunks",
    "yaml_to_json",
    "yaml_to_json_text",
]
