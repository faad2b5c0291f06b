"""Prints the objects that `kubectl get` fetched; objects on which this program fails are reported and left out.

Source: kubectl pkg/cmd/get/get.go; cli-runtime pkg/printers.
"""

from __future__ import annotations

import datetime
import itertools
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from auditor.base.records import labels_of, metadata_of, name_of
from auditor.base.visible import visible
from auditor.golang.go_text import display
from auditor.printing.arguments import UsageError
from auditor.printing.discovery import UnknownResource
from auditor.printing.get.fetch import (
    Unrecognized,
    as_list,
    as_received,
    joined,
    place_of,
    without_managed_fields,
    without_own_managed_fields,
)
from auditor.printing.get.options import Found
from auditor.printing.get.server_errors import OF_THE_COMMAND, NotShown, StatusError, left_out
from auditor.printing.jsonpath import JsonPathError, compile_template, relaxed
from auditor.printing.jsonprint import to_json
from auditor.printing.outputs import OutputFormat, RequestRefused
from auditor.printing.print_rows import FORMS, print_rows
from auditor.printing.printer_columns import AGE, age_of
from auditor.printing.sorting import FieldNotFound, Unsortable, order_by
from auditor.printing.tables import ColumnHeader, Row, TableText
from auditor.printing.yamltext import YamlTextError, to_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from auditor.base.records import JsonObject
    from auditor.printing.arguments import Wanted
    from auditor.printing.discovery import Resource
    from auditor.printing.get.options import GetOptions, Store


FORESEEN: Final = (RequestRefused, UsageError, StatusError, UnknownResource, Unsortable)
"""Errors for which the command has a message."""

_SORT_HINT: Final = "hint: a table of several kinds has no order; name one kind, or add -o name or -o json\n"


def value_counts(path: str, objects: Iterable[JsonObject]) -> Counter[str]:
    """Return how many objects have each value at a JSONPath, as text.

    An object without a value there counts as ``<none>``; one with a value of another type in the path, such as a number
    in place of a list, as ``<another type>``.

    Args:
        path: The path, with or without braces; the items of lists are values.
        objects: The objects.
    """
    template = compile_template(relaxed(path))
    counts: Counter[str] = Counter()
    for obj in objects:
        try:
            blocks = template.find(obj)
        except JsonPathError:
            counts["<another type>"] += 1
            continue
        values = itertools.chain.from_iterable(
            value if type(value) is list else [value] for value in (blocks[0] if blocks else [])
        )
        counts.update(set(map(display, values)) or {"<none>"})
    return counts


class ObjectPrinter:
    """The output of one run.

    Args:
        errors: Errors of the server.

    Attributes:
        left_out: Number of objects that are not printed because this program fails on them.
    """

    def __init__(
        self,
        store: Store,
        options: GetOptions,
        out: Callable[[str], None],
        err: Callable[[str], None],
        *,
        errors: list[StatusError],
    ) -> None:
        self.store = store
        self.options = options
        self.out = out
        self.err = err
        self.errors = errors
        self.left_out = 0
        self.is_trial = False
        self.with_namespace = False
        self.now = options.now if options.now is not None else datetime.datetime.now(datetime.UTC).timestamp()

    def count(self, found: list[Found]) -> None:
        """Print the number of objects, with the kind where there are several; of all kinds those not 0, and a sum."""
        is_every = self.options.every_kind
        groups = [group for group in found if group.objects or not is_every]
        counts = [(group.resource.group_resource, len(group.objects)) for group in groups]
        counts += [("total", sum(count for _, count in counts))] if is_every and len(counts) != 1 else []
        for name, count in counts:
            lead = f"{name} " if len(counts) > 1 or is_every else ""
            self.out(f"{visible(lead)}{count}\n")

    def count_by(self, found: list[Found]) -> None:
        """Print how many objects have each value at a path, the most frequent first; an object may have several."""
        counts = value_counts(self.options.count_by, (obj for group in found for obj in group.objects))
        rows = [
            {"objects": count, "value": value}
            for value, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        ]
        form = self.options.output if self.options.output in FORMS else "table"
        self.out("".join(print_rows(rows, ("objects", "value"), form, headers=self.options.headers)))

    def print(self, form: OutputFormat, wanted: Wanted, found: list[Found]) -> None:
        """Print the objects; those on which this program fails are reported and left out."""
        try:
            self._print_at_once(form, wanted, found)
        except (*FORESEEN, *OF_THE_COMMAND):
            raise
        except Exception:
            rest = [replace(group, objects=self._printable(form, wanted, group)) for group in found]
            if not self.left_out:
                raise
            self._print_at_once(form, wanted, rest)

    def _print_at_once(self, form: OutputFormat, wanted: Wanted, found: list[Found]) -> None:
        """Print all objects; if this program fails, nothing has been printed."""
        out, parts = self.out, list[str]()
        self.out = parts.append
        try:
            self._print(form, wanted, found)
        except (*FORESEEN, *OF_THE_COMMAND):
            out("".join(parts))
            raise
        finally:
            self.out = out
        out("".join(parts))

    def _printable(self, form: OutputFormat, wanted: Wanted, group: Found) -> list[JsonObject]:
        """Return the objects that can be printed one by one, and report the others."""
        options, resource, kept = self.options, group.resource, []
        out, err = self.out, self.err
        self.is_trial = True
        for obj in group.objects:
            self.out = self.err = lambda _: None
            try:
                self._print(form, wanted, [replace(group, objects=[obj])])
                if options.sort_by:
                    order_by([as_received(obj)] * 2, relaxed(options.sort_by))
            except (*FORESEEN, *OF_THE_COMMAND, FieldNotFound, JsonPathError):
                pass  # it is reported when all are printed
            except Exception as error:  # noqa: BLE001 - any: it is of this object alone
                self.left_out += 1
                err(left_out(self._place(resource, obj), error))
                continue
            finally:
                self.out, self.err = out, err
            kept.append(obj)
        self.is_trial = False
        return kept

    def _print(self, form: OutputFormat, wanted: Wanted, found: list[Found]) -> None:
        options = self.options
        if form.name not in options.extra_formats and not (form.is_table and options.server_print):
            found = [self._recognized(group) for group in found]
        if form.is_table:
            self._tables(wanted, found)
            return
        as_read = options.show_managed_fields or options.sort_by or form.template or form.custom
        shorten = without_own_managed_fields if not as_read else None
        pairs = [(group.resource, self._received(obj, shorten)) for group in found for obj in group.objects]
        if options.sort_by and not wanted.single and len(pairs) > 0:
            try:
                order = order_by([obj for _, obj in pairs], relaxed(options.sort_by))
            except (FieldNotFound, JsonPathError) as error:
                raise RequestRefused(str(error)) from None
            pairs = [pairs[position] for position in order[: options.limit]]
        is_missing = wanted.single and bool(self.errors)
        if is_missing or (options.ignore_not_found and not pairs):
            return
        if form.name in options.extra_formats:
            emit = options.extra_formats[form.name](pairs)
            if not self.is_trial:
                emit()
        elif form.name == "name":
            for resource, pair in pairs:
                kind = pair.get("kind") or resource.kind
                shown = resource if kind == resource.kind else replace(resource, kind=kind)
                self.out(visible(f"{shown.group_kind}/{metadata_of(pair).get('name', '')}") + "\n")
        elif form.custom is not None:
            text, failed = form.custom.render((obj for _, obj in pairs), headers=options.headers, shown=self._shown)
            self._out_of_template(text, found)
            if failed is not None:
                raise RequestRefused(str(failed))
        elif wanted.single and len(pairs) <= 1:
            for _, pair in pairs:
                self._whole(form, pair, found)
        elif found or wanted.names or any(not isinstance(error, NotShown) for error in self.errors):
            self._whole(form, as_list([obj for _, obj in pairs]), found)

    def _recognized(self, group: Found) -> Found:
        """Return listed objects without those of kinds that the server does not serve, which are reported."""
        if not group.listed:
            return group
        kinds = {(resource.api_version, resource.kind) for resource in self.store.discovery.resources}
        objects = []
        for obj in group.objects:
            api_version, kind = obj.get("apiVersion"), obj.get("kind")
            if kind is None or kind == group.resource.kind or (api_version, kind) in kinds:
                objects.append(obj)
            elif not self.is_trial:
                self.errors.append(self._unrecognized(group.resource, obj))
        return replace(group, objects=objects)

    def _unrecognized(self, resource: Resource, obj: JsonObject) -> StatusError:
        """Return the error of an object whose kind no definition has; with hints it names the object."""
        error = Unrecognized(str(obj.get("apiVersion")), str(obj.get("kind")))
        if not self.options.hints:
            return error
        self.left_out += 1
        return NotShown(
            f"{self._place(resource, obj)} is left out: {error.message.removeprefix('unable to recognize ')}"
        )

    def _place(self, resource: Resource, obj: JsonObject) -> str:
        return (self.options.place or place_of)(resource, obj)

    def _received(self, obj: JsonObject, shorten: Callable[[JsonObject], JsonObject] | None) -> JsonObject:
        """Return an object as a client receives it; `shorten` drops what is not printed."""
        out: JsonObject = as_received(obj if shorten is None else shorten(obj))
        return out if self.options.clusters is None else self.options.clusters.copied(obj, out)

    def _shown(self, text: str) -> str:
        """Return content as it is printed: escaped for a terminal."""
        return visible(text) if self.options.for_terminal else text

    def _out_of_template(self, text: str, found: list[Found]) -> None:
        """Print what a template or columns made of objects; a note says so if values of Secrets in it are redacted."""
        self.out(text)
        redacted = self.options.redacted
        if redacted and redacted in text and any(group.resource.group_resource == "secrets" for group in found):
            self.err(f"note: {redacted} replaces values of Secrets, which --show-secrets prints\n")

    def _whole(self, form: OutputFormat, value: JsonObject, found: list[Found]) -> None:
        """Print one object, or a List of several."""
        options = self.options
        if form.template is not None:
            text = form.templated(value, allow_missing=options.allow_missing, shown=self._shown)
            self._out_of_template(text, found)
            return
        if not options.show_managed_fields:
            value = without_managed_fields(value)
        if form.name == "json":
            self.out(to_json(value))
            return
        try:
            self.out(to_yaml(value, for_terminal=options.for_terminal))
        except YamlTextError as error:
            raise RequestRefused(str(error)) from None

    def _tables(self, wanted: Wanted, found: list[Found]) -> None:
        options = self.options
        found = [
            replace(group, objects=self.store.table_order(group.resource, group.objects)) if group.listed else group
            for group in found
        ]
        if options.sort_by:
            found = self._sorted_tables(wanted, found)
        groups = joined(found)
        kinds = {(group.resource.group, group.resource.version, group.resource.kind) for group in found}
        with_kind = options.show_kind or len(kinds) > 1
        table = TableText(
            wide=options.output == "wide",
            headers=options.headers,
            label_columns=[name for names in options.label_columns for name in names.split(",") if name],
            show_labels=options.show_labels,
        )
        printed = False
        for group in groups:
            for store, objects in self._alike(group):
                if printed and options.headers:
                    self.out("\n")
                printed = True
                part = Found(group.resource, objects, listed=group.listed)
                self.out(self._table(table, part, store, with_kind=with_kind))
        is_empty = not (printed or self.errors or self.left_out or getattr(self.store, "left_out", False))
        if is_empty and not options.ignore_not_found and wanted.kinds:
            everywhere = options.all_namespaces or any(not kind.namespaced for kind in wanted.kinds)
            where = "" if everywhere else f" in {options.namespace} namespace."
            self.err(f"No resources found{where}\n")

    def _alike(self, group: Found) -> Sequence[tuple[Any, Sequence[JsonObject]]]:
        """Return the objects of a group by the columns that they have, with the printer of each."""
        clusters = self.options.clusters
        return [(self.store, group.objects)] if clusters is None else clusters.tables(group.resource, group.objects)

    def _table(self, table: TableText, group: Found, store: Any, *, with_kind: bool) -> str:
        resource, clusters = group.resource, self.options.clusters
        self.with_namespace |= self.options.all_namespaces and resource.namespaced  # and for all later tables
        if self.options.server_print:
            columns = store.headers(resource)
            cells = store.cells(resource, group.objects, self.now, listed=group.listed)
        else:
            columns = (ColumnHeader("Name", is_name=True), ColumnHeader(AGE.name))
            cells = [
                (str(name_of(obj)), age_of(str(metadata_of(obj).get("creationTimestamp") or ""), self.now))
                for obj in group.objects
            ]
        rows = [
            Row(
                row,
                str(metadata_of(obj).get("namespace") or ""),
                labels_of(obj),
                "" if clusters is None else clusters.cluster_of(obj),
            )
            for row, obj in zip(cells, group.objects, strict=True)
        ]
        return table.render(
            columns,
            rows,
            with_namespace=self.with_namespace,
            with_cluster=clusters is not None,
            kind_prefix=resource.group_kind if with_kind else "",
            first_part=None if group.listed else 1,
        )

    def _sorted_tables(self, wanted: Wanted, found: list[Found]) -> list[Found]:
        """Sort a table; kubectl does so only for a single list, and prints no rows if a path leads nowhere.

        With hints that is an error, as it is in other formats. What is not a path is a template there: its text is
        the value of every row.
        """
        if wanted.single:
            return found
        path, refused = self.options.sort_by, ""
        try:
            path = relaxed(path)
        except JsonPathError as error:
            refused = str(error)
        if len(found) > 1:
            raise RequestRefused(str(FieldNotFound(path)), (_SORT_HINT,) if self.options.hints else ())
        out = []
        for group in found:
            if len(group.objects) < 2:
                out.append(group)
                continue
            try:
                order = order_by([as_received(obj) for obj in group.objects], path, is_table=True)
            except (FieldNotFound, JsonPathError) as error:
                if self.options.hints:
                    raise RequestRefused(refused or str(error)) from None
                out.append(Found(group.resource, [], listed=True))
                continue
            out.append(
                Found(
                    group.resource,
                    [group.objects[position] for position in order[: self.options.limit]],
                    listed=group.listed,
                )
            )
        return out
