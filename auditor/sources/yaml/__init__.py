"""YAML as the Kubernetes tooling reads it: YAML 1.1 with Go's own table of scalars, turned into JSON.

Input: bytes of a manifest, maybe with many documents. Output: JSON values, with numbers as a decoder of Kubernetes
objects reads them, or JSON text as Go prints it. Errors are YamlError with Go's text. Nothing here knows Kubernetes
kinds.

The scanner is libyaml (events.py corrects its differences from Go's). The tree (compose.py), types of scalars
(scalars.py), merging, duplicates, alias limits, keys and numbers (convert.py) and the splitting of streams (chunks.py)
are ours, because PyYAML follows other rules. There is no recursion: 10,000 levels are legal.

Source: sigs.k8s.io/yaml, go.yaml.in/yaml v2, k8s.io/apimachinery/pkg/util/yaml.
"""

from auditor.sources.yaml.chunks import Chunk, looks_like_json, yaml_chunks
from auditor.sources.yaml.document_text import line_behind_document, yaml_to_json, yaml_to_json_text
from auditor.sources.yaml.yaml_error import YamlError

__all__ = [
    "Chunk",
    "YamlError",
    "line_behind_document",
    "looks_like_json",
    "yaml_chunks",
    "yaml_to_json",
    "yaml_to_json_text",
]
