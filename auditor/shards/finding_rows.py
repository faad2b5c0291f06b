"""Rows of findings/ of a shard, collected while its objects are judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from auditor.base import arrow
from auditor.base.longtext import LONG, cut
from auditor.shards.table_rows import FlatRows, array_of, shared_column
from auditor.shards.updates import CREATE
from auditor.validation.bounded_texts import LONGEST, SHORT, json_text

if TYPE_CHECKING:
    from auditor.base.longtext import LongText
    from auditor.base.records import Finding
    from auditor.shards.result import Kind
    from auditor.shards.table_rows import ObjectRows
    from auditor.shards.updates import UpdateColumns


_OBJECT_TEXT: Final = 4 << 20


class FoundRows:
    """Rows of findings/, built for speed: most columns come from the row of the object, or repeat for many objects.

    A row has the number of its object's row (the source of the columns in `OBJECT`), the number of its class (a tuple
    of the columns in `CLASS`, each held once), and the columns in `OWN`.

    Args:
        schema: The schema of findings/.
        objects: The rows of their objects.
    """

    CLASS = ("request", "check", "field", "type", "verdict", "guard_path", "rule")
    OBJECT_CLASS = ("cluster", "source", "group", "kind", "stored_version", "audited_version", "deleting")
    OBJECT = ("key", "mod_revision", "namespace", "name")
    OWN = ("bad_value", "detail", "message", "last_manager", "last_write")

    def __init__(self, schema: pa.Schema, objects: ObjectRows) -> None:
        self.schema = schema
        self.objects = objects
        self._classes: dict[tuple[Any, ...], int] = {}
        self._rows = FlatRows(2 + len(self.OWN))
        self._object, self._left = -1, _OBJECT_TEXT
        self._last_detail = ("", "")
        self._last_value: tuple[Any, str] = (None, "null")
        self._append = self._rows.append

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: int, finding: Finding, update: UpdateColumns) -> None:
        """Add the row of a finding.

        Args:
            row: The number of its object's row.
            finding: The finding.
            update: The columns about updates and writers.
        """
        request, verdict, guard, manager, time = update
        rule = finding.rule
        if rule is not None and len(rule) > LONG:
            rule = self._bounded_rule(row, rule)
        shared = (request, finding.check, finding.field, finding.type, verdict, guard, rule)
        number = self._classes.get(shared)
        if number is None:
            number = self._classes[shared] = len(self._classes)
        bad_value, detail, words = finding.bad_value, finding.detail, finding.words
        if bad_value is not self._last_value[0]:
            self._last_value = (bad_value, json_text(bad_value))
        value = self._last_value[1]
        if len(words) > LONG or len(value) > LONG:
            value, detail, message = self._bounded(row, value, detail, words)
        else:
            message = str(words)
        self._append((row, number, value, detail, message, manager, time))

    def _bounded(self, row: int, value: str, detail: str, words: str | LongText) -> tuple[str, str, str]:
        """Return long texts of a finding as they are stored: cut and followed by their length.

        Thousands of findings of one object may each list thousands of allowed values.
        """
        limit = self._limit(row)
        if detail != self._last_detail[0] or len(self._last_detail[1]) > limit + SHORT:
            self._last_detail = (detail, cut(detail, limit))
        detail, message = self._last_detail[1], cut(words, limit)
        if len(value) > limit:
            value = json_text(cut(value, limit))
        self._left -= len(value) + len(message)
        return value, detail, message

    def _bounded_rule(self, row: int, rule: str) -> str:
        shown = cut(rule, self._limit(row))
        self._left -= len(shown)
        return shown

    def _limit(self, row: int) -> int:
        """Return the most characters that a long text of an object may have."""
        if row != self._object:
            self._object, self._left = row, _OBJECT_TEXT
        return LONGEST if self._left > 0 else SHORT

    def counts(self) -> list[tuple[tuple[Kind, str, str, str], int]]:
        """Return (kind of the object, check, field, type) of findings of a create, with how many there are."""
        classes, numbers = self.objects.classes()
        kinds = [(shared["group"] or "", shared["kind"] or shared["plural"] or "") for shared in classes]
        row_classes = list(self._classes)
        pairs = numbers[np.array(self._rows.column(0), np.int64)] * np.int64(len(row_classes)) + self._rows.column(1)
        return [
            ((kinds[pair // len(row_classes)], *row_classes[pair % len(row_classes)][1:4]), count)
            for pair, count in zip(*(of.tolist() for of in np.unique(pairs, return_counts=True)), strict=True)
            if row_classes[pair % len(row_classes)][0] == CREATE
        ]

    def table(self, objects: pa.Table) -> pa.Table:
        """Return the rows as an Arrow table.

        Args:
            objects: The result of `ObjectRows.table`.
        """
        rows, columns_, *own = self._rows.columns()
        kinds = {field.name: field.type for field in self.schema}
        columns: dict[str, Any] = {}
        owners = pa.array(rows, pa.int64())
        for name in self.OBJECT:
            columns[name] = arrow.take(objects[name].combine_chunks(), owners)
        columns["namespace"] = _appearing(columns["namespace"])
        classes, numbers = self.objects.classes()
        numbered: dict[int, int] = {}
        codes = [numbered.setdefault(number, len(numbered)) for number in numbers[rows].tolist()]
        shared = pa.array(codes, pa.int32())
        for name in self.OBJECT_CLASS:
            columns[name] = shared_column([classes[number][name] for number in numbered], shared, kinds[name])
        shared = pa.array(columns_, pa.int32())
        for position, name in enumerate(self.CLASS):
            columns[name] = shared_column([facts[position] for facts in self._classes], shared, kinds[name])
        for name, values in zip(self.OWN, own, strict=True):
            columns[name] = array_of(values, kinds[name])
        return pa.Table.from_arrays([columns[field.name] for field in self.schema], schema=self.schema)


def _appearing(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return a dictionary column whose dictionary holds only values that appear, in order of appearance."""
    appearing = arrow.dictionary_encoded(column.indices)
    values = arrow.take(column.dictionary, appearing.dictionary)
    return pa.DictionaryArray.from_arrays(appearing.indices, values)
