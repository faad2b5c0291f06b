"""The rows that the script of a page shows, packed: columns as codes and texts in JSON, compressed above 1 MB."""

from __future__ import annotations

import base64
import gzip
import json
from array import array
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import visible
from auditor.output.formats.problems import cut

if TYPE_CHECKING:
    from collections.abc import Iterable

    from auditor.output.formats.problems import Content, Problem


MOST_ROWS: Final = 200_000
_MOST_TEXT: Final = 300
_PLAIN: Final = 1_000_000
_COLUMNS: Final = ("severity", "cause", "kind", "object", "field", "message")


def packed(content: Content) -> tuple[str, str, int]:
    """Return the data of a page, its form (`plain` or `gzip`), and how many problems it leaves out."""
    every = (problem for problem in content.counted_problems() if not problem.accepted)
    rows, columns = _columns(islice(every, MOST_ROWS))
    left = sum(1 for _ in every)
    if left:
        rows, columns = _columns(content.worst(MOST_ROWS))
    text = json.dumps({"rows": rows, "columns": columns}, separators=(",", ":"))
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    if len(text) <= _PLAIN:
        return text, "plain", left
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode(), "gzip", left


def _columns(problems: Iterable[Problem]) -> tuple[int, dict[str, Any]]:
    """Return the number of problems, and for each column its texts and for each problem the number of its text."""
    texts: dict[str, dict[str, int]] = {name: {} for name in _COLUMNS}
    codes: dict[str, array[int]] = {name: array("l") for name in _COLUMNS}
    rows = 0
    for problem in problems:
        values = (
            problem.severity,
            problem.cause,
            problem.kind_name,
            problem.object_name,
            problem.field,
            problem.message,
        )
        for name, value in zip(_COLUMNS, values, strict=True):
            known = texts[name]
            codes[name].append(known.setdefault(visible(cut(value, _MOST_TEXT)), len(known)))
        rows += 1
    return rows, {name: {"codes": codes[name].tolist(), "texts": list(texts[name])} for name in _COLUMNS}
