"""Proofs that a narrower schema refuses nothing that the old one accepts.

Source: kube-openapi pkg/validation/validate (values.go): how bounds are compared.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING, Any, Final

from auditor.crddiff.values import Maker
from auditor.golang.jsontext import encode
from auditor.schema.structural import ABSENT, StructuralSchema
from auditor.validation.rules import RuleProgram
from auditor.validation.string_formats import strip_format

if TYPE_CHECKING:
    from auditor.crddiff.positions import Position
    from auditor.upgrade.schema_change import SchemaChange


_TEXT: Final = re.compile(r"'[^'\\\\]*'|\"[^\"\\\\]*\"")
_SELF: Final = re.compile(r"\bself\b(?:\s*\.\s*([A-Za-z_]\w*)(\s*\()?)?")
_HAS: Final = re.compile(r"\bhas\(\s*self\s*\.\s*([A-Za-z_]\w*)\s*\)")
_MOST: Final = 512
"""Combinations of values for which a rule is evaluated."""


def why_implied(change: SchemaChange, position: Position) -> str:
    """Return why a change of a keyword refuses no value that the old schema accepts; empty if that is not shown."""
    old, new = position.old, position.new
    if old is None or new is None:
        return ""
    if change.change == "now required":
        child = new.properties.get(change.new)
        if child is not None and child.default is not ABSENT:
            return f"where {change.new} is missing its default is filled in: {encode(child.default)}"
        return ""
    if change.change == "format" and not strip_format(new):
        return "the server does not know the format, and ignores it"
    if change.change == "new rule":
        return _why_rule_holds(change.new, old, new)
    if old.type == new.type == "integer" and change.change in ("maximum", "exclusiveMaximum"):
        was, now = _greatest(old), _greatest(new)
        return f"both allow integers up to {was}" if was == now else _looser(was is not None and was < (now or 0))
    if old.type == new.type == "integer" and change.change in ("minimum", "exclusiveMinimum"):
        was, now = _least(old), _least(new)
        return f"both allow integers from {was}" if was == now else _looser(was is not None and was > (now or 0))
    if change.change == "multipleOf" and old.multiple_of and new.multiple_of:
        whole = old.multiple_of == int(old.multiple_of) and new.multiple_of == int(new.multiple_of)
        return _looser(whole and old.type == "integer" and old.multiple_of % new.multiple_of == 0)
    return ""


def is_finite(schema: StructuralSchema) -> bool:
    """Return whether all values of a schema can be listed: `probes` yields each of them."""
    return (schema.enum is not None and len(schema.enum) <= 40) or schema.type == "boolean"


def _looser(is_shown: bool) -> str:
    return "each value that was allowed still is" if is_shown else ""


def _greatest(schema: StructuralSchema) -> int | None:
    if schema.maximum is None:
        return None
    whole = math.floor(schema.maximum)
    return whole - 1 if schema.exclusive_maximum and whole == schema.maximum else whole


def _least(schema: StructuralSchema) -> int | None:
    if schema.minimum is None:
        return None
    whole = math.ceil(schema.minimum)
    return whole + 1 if schema.exclusive_minimum and whole == schema.minimum else whole


def _why_rule_holds(text: str, old: StructuralSchema, new: StructuralSchema) -> str:
    """Return why a new rule holds for each value that the old schema accepts; empty if that is not shown.

    It is if the rule reads only fields that the old schema does not have, or that have few values, and holds for all
    combinations of these.
    """
    rule = next((rule for rule in new.rules if rule.rule == text), None)
    bare = _TEXT.sub("''", text)
    used = [(match[1], match[2]) for match in _SELF.finditer(bare)]
    if rule is None or "oldSelf" in bare or "\\" in text or not all(name and not call for name, call in used):
        return ""
    if old.preserve_unknown_fields or old.additional_properties or rule.message_expression:
        return ""
    read = {name for name, _ in ((match[1], match[2]) for match in _SELF.finditer(_HAS.sub("", bare)))}
    states: dict[str, list[Any]] = {}
    for name in dict.fromkeys(name for name, _ in used):
        own = _states(name, old, new, is_read=name in read)
        if not own:
            return ""
        states[name] = own
    if math.prod(map(len, states.values())) > _MOST:
        return ""
    properties = {name: new.properties[name] for name in states}
    program = RuleProgram.of(StructuralSchema(type="object", properties=properties, rules=(rule,)))
    if program is None or program.broken:
        return ""
    for values in itertools.product(*states.values()):
        obj = {name: value for name, value in zip(states, values, strict=True) if value is not ABSENT}
        if program.run(obj) or program.unevaluated():
            return ""
    return f"the rule holds whatever an object of the old schema has as {', '.join(states)}"


def _states(name: str, old: StructuralSchema, new: StructuralSchema, *, is_read: bool) -> list[Any]:
    """Return the values that an object of the old schema may have in a field; empty if they cannot be listed."""
    after, before = new.properties.get(name), old.properties.get(name)
    if after is None:
        return []
    missing = after.default
    if before is None:
        return [missing]
    out = [] if name in old.required and before.default is ABSENT else [missing]
    out += [before.default] if before.default is not ABSENT else []
    if before.type != after.type or before.int_or_string != after.int_or_string or before.nullable:
        return []
    if not is_read:
        return [*out, Maker().value(after)]
    if not is_finite(before):
        return []
    return [*out, *(before.enum if before.enum is not None else (True, False))]
