"""What changed in a definition on the way to a field, between the report that a run is compared with and the run."""

from __future__ import annotations

from typing import Any, Final

import orjson

from auditor.base.longtext import cut

_NOT_CHECKS: Final = frozenset(
    ("description", "title", "example", "externalDocs", "default", "properties", "items", "additionalProperties")
)
"""Keywords that no value can break, and those whose content is compared on its own."""
_RULES: Final = "x-kubernetes-validations"
_LONGEST: Final = 120
_ABSENT: Final = object()


def changes_at(old: Any, new: Any, field: str, check: str = "") -> list[str]:
    """Return what two schemas say differently about a field; the nearest to the field first.

    Args:
        old: The openAPIV3Schema of the earlier definition; None if there was none.
        new: The same of the later definition.
        field: A path without indexes and map keys; ``<nil>`` is the object.
        check: The check that found something there: changed rules concern the check `rule` alone, and it only them;
            empty: everything.

    Returns:
        Texts such as ``required: + spec.tier`` and ``maximum of spec.size: 10 -> 5``.
    """
    if not isinstance(new, dict):
        return []
    if not isinstance(old, dict):
        return ["the definition is new"]
    names = [] if field == "<nil>" else _steps(field)
    out: list[str] = []
    before: Any = old
    after: Any = new
    path = ""
    for length in range(len(names) + 1):
        is_field = length == len(names)
        below = names[length] if not is_field else ""
        out = _at(before, after, path, below, is_field=is_field) + out
        if is_field:
            break
        before, after = _child(before, below), _child(after, below)
        path = _joined(path, below)
        if after is None:
            break
        if before is None:
            out = [f"{path} is new in the schema", *out]
            break
    return out if not check else [text for text in out if text.startswith(("rule of ", "rule: ")) == (check == "rule")]


def _steps(field: str) -> list[str]:
    """Return the names on a path; an index is a step of its own."""
    out: list[str] = []
    for name in field.split("."):
        bare, _, _ = name.partition("[")
        out += [bare] if bare else []
        out += ["[*]"] * name.count("[*]")
    return out


def _joined(path: str, name: str) -> str:
    return path + name if name == "[*]" else f"{path}.{name}" if path else name


def _child(schema: Any, name: str) -> Any:
    if not isinstance(schema, dict):
        return None
    properties = schema.get("properties")
    child = properties.get(name) if isinstance(properties, dict) else None
    if child is None:
        child = schema.get("items" if name == "[*]" else "additionalProperties")
    if child is None and name == "[*]":
        child = schema.get("additionalProperties")
    return child if isinstance(child, dict) else None


def _at(old: Any, new: Any, path: str, below: str, *, is_field: bool) -> list[str]:
    """Return the differences of two schemas of one place that may concern a field there or below it."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return []
    was, now = (schema.get("required") or [] for schema in (old, new))
    names = now if isinstance(now, list) and isinstance(was, list) else ()
    added = [str(name) for name in names if name not in was and (is_field or name == below)]
    out = [f"required: + {_joined(path, name)}" for name in added]
    out += _rules(old.get(_RULES), new.get(_RULES), path)
    if not is_field:
        return out
    place = f" of {path}" if path else ""
    for keyword in sorted(set(old) | set(new)):
        if keyword in _NOT_CHECKS or keyword in ("required", _RULES):
            continue
        first, second = old.get(keyword, _ABSENT), new.get(keyword, _ABSENT)
        if first != second:
            out.append(f"{keyword}{place}: {_value(first, second)}")
    return out


def _value(old: Any, new: Any) -> str:
    if isinstance(old, list) and isinstance(new, list):
        gone = [f"- {_text(item)}" for item in old if item not in new]
        return cut(", ".join(gone + [f"+ {_text(item)}" for item in new if item not in old]) or "reordered", _LONGEST)
    if old is _ABSENT:
        return f"+ {_text(new)}"
    return f"- {_text(old)}" if new is _ABSENT else f"{_text(old)} -> {_text(new)}"


def _text(value: Any) -> str:
    return cut(orjson.dumps(value).decode(), _LONGEST)


def _rules(old: Any, new: Any, path: str) -> list[str]:
    """Return the validation rules that only the later schema has."""
    was, now = (
        [rule.get("rule") for rule in rules if isinstance(rule, dict)] if isinstance(rules, list) else []
        for rules in (old, new)
    )
    place = f" of {path}" if path else ""
    return [f"rule{place}: + {cut(' '.join(str(rule).split()), _LONGEST)}" for rule in now if rule not in was]
