"""The rules of the reference definitions, each on a small definition of its own, with objects that reach it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from auditor.sources.crd_files import read_crd_documents
from tests.fuzz.cel.batches import Batch, definition, foo
from tests.fuzz.cel.objects import draw, stripped
from tests.shared import SHARED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

__all__ = ["corpus_batches"]

Schema = dict[str, Any]
_LITERAL = re.compile(r"'([^'\\]*)'|\"([^\"\\]*)\"")


def _nodes(schema: Schema, *, is_root: bool = True) -> Iterator[tuple[Schema, bool]]:
    """Yield every schema node with rules, and whether it is the root of the resource."""
    if schema.get("x-kubernetes-validations"):
        yield schema, is_root
    for child in schema.get("properties", {}).values():
        yield from _nodes(child, is_root=False)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _nodes(schema[key], is_root=False)


def corpus_batches(random: Random, times: int) -> Iterator[Batch]:
    """Yield a batch for each rule of each version: `times` objects or updates that it is evaluated on."""
    number = 0
    for document in read_crd_documents([str(SHARED / "corpus" / "crds")]):
        for version in document["spec"]["versions"]:
            schema = version.get("schema", {}).get("openAPIV3Schema", {})
            for node, is_root in _nodes(schema):
                for rule in node["x-kubernetes-validations"]:
                    number += 1
                    yield _batch(random, f"corpus{number}", node, rule, times, is_root=is_root)


def _batch(random: Random, name: str, node: Schema, rule: Schema, times: int, *, is_root: bool) -> Batch:
    plain = stripped(node) | {"x-kubernetes-validations": [rule]}
    texts = [first or second for first, second in _LITERAL.findall(rule["rule"])]
    made = plain if is_root else {"type": "object", "properties": {"v": plain}}
    batch = Batch(name, definition(name, made, is_root=is_root), [rule["rule"]], is_update="oldSelf" in rule["rule"])

    def value() -> Any:
        found = draw(random, node, texts)
        while found is None:
            found = draw(random, node, texts)
        return found

    for index in range(times):
        pair = [value(), value()] if batch.is_update else [value()]
        if len(pair) == 2 and random.random() < 0.3:
            pair[1] = pair[0]
        batch.objects.append([foo(name, each if is_root else {"v": each}, index, is_root=is_root) for each in pair])
    return batch
