"""``kubectl get`` over anything that can list and get objects: arguments, selection, output, errors, exit code.

Source: kubectl pkg/cmd/get/get.go, get_flags.go; cli-runtime pkg/genericclioptions/print_flags.go.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from auditor.base.visible import visible
from auditor.printing.arguments import NO_RESOURCE, UsageError, read_arguments
from auditor.printing.columns import AGE, age_of
from auditor.printing.discovery import UnknownResource
from auditor.printing.jsonpath import JsonPathError, relaxed
from auditor.printing.jsonprint import to_json
from auditor.printing.kyamltext import to_kyaml
from auditor.printing.left_out import OF_THE_COMMAND, left_out
from auditor.printing.outputs import Output, Refused, check_options
from auditor.printing.sorting import FieldNotFound, Unsortable, order_by
from auditor.printing.tables import Header, Row, TableText
from auditor.printing.yamltext import YamlTextError, to_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from auditor.base.records import JsonObject
    from auditor.printing.arguments import Wanted
    from auditor.printing.columns import Cell
    from auditor.printing.discovery import Discovery, Resource

__all__ = ["GetOptions", "NotShown", "StatusError", "Store", "get", "not_found"]


class StatusError(Exception):
    """The server answers with a Status in the place of objects."""

    def __init__(self, code: int, reason: str, message: str, details: JsonObject | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.bare: StatusError | None = None  # what the server said, where a client put words before it

    def status(self) -> JsonObject:
        """Return the Status object."""
        body: JsonObject = {
            "apiVersion": "v1",
            "code": self.code,
            "kind": "Status",
            "message": self.message,
            "metadata": {},
            "status": "Failure",
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        return body


class NotShown(StatusError):
    """An object that is there and cannot be read here, which says nothing of what a server answers."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "", message)


class Store(Protocol):
    """Where the objects are."""

    @property
    def discovery(self) -> Discovery:
        """The kinds there are."""

    def list_objects(self, resource: Resource, namespace: str, labels: str, fields: str) -> Iterable[JsonObject]:
        """Return the objects of a kind in key order; an empty namespace means all. Raises StatusError."""

    def get_object(self, resource: Resource, namespace: str, name: str) -> JsonObject:
        """Return one object. Raises StatusError."""

    def has_namespace(self, name: str) -> bool:
        """Whether there is such a namespace."""

    def table_order(self, resource: Resource, objects: Sequence[JsonObject]) -> Sequence[JsonObject]:
        """Return the objects of a LIST in the order of the rows that a server prints."""

    def warning_of(self, resource: Resource) -> str:
        """Return what a server says of a version that is going away; empty: nothing."""

    def through(self, resource: Resource, obj: JsonObject, subresource: str) -> tuple[Resource, JsonObject]:
        """Return an object as a subresource has it, and the kind of that. Raises StatusError."""

    def headers(self, resource: Resource) -> Sequence[Header]:
        """Return the columns of a kind, NAME included."""

    def cells(
        self, resource: Resource, objects: Sequence[JsonObject], now: float, *, listed: bool
    ) -> list[Sequence[Cell]]:
        """Return the rows of objects under those columns; `listed`: they are the whole answer to a list."""


class Clusters(Protocol):
    """Names the cluster that an object of a store belongs to."""

    def get_objects(self, resource: Resource, namespace: str, name: str) -> list[JsonObject]:
        """Return the objects of a name, at most one of each cluster. Raises StatusError."""

    def cluster_of(self, obj: JsonObject) -> str:
        """Return the cluster of an object."""

    def copied(self, obj: JsonObject, copy: JsonObject) -> JsonObject:
        """Note that a copy is of the same cluster; return the copy."""

    def tables(self, resource: Resource, objects: Sequence[JsonObject]) -> Sequence[tuple[Any, list[JsonObject]]]:
        """Return objects by the columns that their clusters have, with what has `headers` and `cells` for them."""


@dataclass(slots=True)
class GetOptions:
    """What was asked for; names are those of kubectl's flags.

    Attributes:
        template: What ``--template`` gives.
        subresource: Through which objects are asked for; empty: none.
        across: ``-A`` was given, with which names cannot be.
        status_objects: Print the server's Status where ``-o json`` meets an error.
        hints: Add what a person may have meant to errors.
        usage_code: Exit code of requests that no server could answer.
        for_terminal: A terminal shows the output: content prints as escapes also where kubectl prints it as it is.
        extra_formats: More forms of output: name to what takes the objects and returns what prints them.
        place: Returns the words for where an object is.
        clusters: The objects are of several clusters, and tables say which; None: of one.
    """

    args: Sequence[str] = ()
    namespace: str = "default"
    all_namespaces: bool = False
    across: bool = False
    labels: str = ""
    fields: str = ""
    output: str = ""
    template: str = ""
    subresource: str = ""
    label_columns: Sequence[str] = ()
    show_labels: bool = False
    show_kind: bool = False
    headers: bool = True
    sort_by: str = ""
    ignore_not_found: bool = False
    server_print: bool = True
    allow_missing: bool = True
    show_managed_fields: bool = False
    limit: int | None = None
    count: bool = False
    status_objects: bool = False
    hints: bool = False
    usage_code: int = 1
    for_terminal: bool = False
    now: float | None = None
    extra_formats: dict[str, Callable[[list[tuple[Resource, JsonObject]]], Callable[[], None]]] = field(
        default_factory=dict
    )
    place: Callable[[Resource, JsonObject], str] | None = None
    clusters: Clusters | None = None


@dataclass(slots=True)
class _Found:
    """Objects of one kind that came in one answer."""

    resource: Resource
    objects: Sequence[JsonObject]
    listed: bool


def get(store: Store, options: GetOptions, out: Callable[[str], None], err: Callable[[str], None]) -> int:
    """Run the command; return its exit code.

    Args:
        out, err: Take text for standard output and standard error.
    """
    return _Get(store, options, out, err).run()


class _Get:
    """One run."""

    def __init__(
        self, store: Store, options: GetOptions, out: Callable[[str], None], err: Callable[[str], None]
    ) -> None:
        self.store = store
        self.options = options
        self.out = out
        self.err = err
        self.errors: list[StatusError] = []
        self.left_out = 0
        self.is_trial = False
        self.warned: set[str] = set()
        self.with_namespace = False
        self.now = options.now if options.now is not None else datetime.datetime.now(datetime.UTC).timestamp()

    def run(self) -> int:
        options = self.options
        if not options.args:
            for line in NO_RESOURCE.splitlines(keepends=True):
                self.err(line)
            return options.usage_code
        try:
            check_options(options)
            wanted = read_arguments(
                self.store.discovery,
                options.args,
                selective=bool(options.labels or options.fields),
                all_namespaces=options.across or (options.all_namespaces and bool(options.namespace)),
                warn=lambda text: self.err(text + "\n"),
            )
            form = self.form(wanted)
            found = self.fetch(wanted)
            if options.count:
                self.count(found)
            else:
                self.print_rest(form, wanted, found)
        except (Refused, UsageError) as error:
            return self.refuse(str(error), *getattr(error, "more", ()))
        except StatusError as error:  # of what a form of output asks of each object
            self.errors.append(error)
        except UnknownResource as error:
            return self.refuse(str(error), *(self.hint(error) if options.hints else ()))
        except Unsortable as error:
            is_table = options.output in ("", "wide")
            what = "[][][]reflect.Value" if is_table else "*unstructured.Unstructured"
            stamp = datetime.datetime.now(datetime.UTC).strftime("%m%d %H:%M:%S.%f")
            self.err(
                f"F{stamp} {os.getpid():7d} sorter.go:{375 if is_table else 329}] Field {error.path} in {what} is an "
                f"unsortable type: interface, err: {error}\n"
            )
            return 1
        for failed in self.errors:
            if isinstance(failed, NotShown):
                self.err(f"error: {failed.message}\n")
                continue
            reason = f" ({failed.reason})" if failed.reason else ""
            self.err(f"Error from server{reason}: {failed.message}\n")
        if any(failed.code == 400 for failed in self.errors):
            return options.usage_code
        if any(not isinstance(failed, NotShown) for failed in self.errors):
            return 1
        return 3 if self.left_out else 0

    def form(self, wanted: Wanted) -> Output:
        """Return the form of output; one name that is not there is said before a form that is none."""
        if self.options.subresource and wanted.kinds:
            raise Refused("subresource cannot be used when bulk resources are specified")
        try:
            return Output(self.options)
        except Refused:
            if wanted.single:
                self.fetch(wanted)
                if self.errors:
                    raise self.errors.pop() from None
            raise

    def refuse(self, text: str, *more: str) -> int:
        for line in (f"error: {text}\n", *more):
            self.err(line)
        return self.options.usage_code

    def hint(self, error: UnknownResource) -> tuple[str, ...]:
        near = self.store.discovery.similar(error.name)
        if near:
            return (f"did you mean {' or '.join(near)}?\n",)
        known = sorted({one.group_resource for one in self.store.discovery.resources if one.is_stored})
        return (f"kinds here: {', '.join(known)}\n",) if len(known) <= 30 else ()

    # ---- fetch

    def fetch(self, wanted: Wanted) -> list[_Found]:
        options = self.options
        found: list[_Found] = []
        for resource in wanted.kinds:
            namespace = "" if options.all_namespaces or not resource.namespaced else options.namespace
            try:
                objects = self.listed(resource, namespace)
            except NotShown as error:
                self.errors.append(error)
                continue
            except StatusError as error:
                self.errors.append(self.of_list(resource, error))
                continue
            found.append(_Found(resource, objects, listed=True))
        for kind, name in wanted.names:
            resource = kind
            self.warn(resource)
            namespace = options.namespace if resource.namespaced else ""
            try:
                objects = self.named(resource, namespace, name)
                if options.subresource:
                    through = [self.store.through(resource, one, options.subresource) for one in objects]
                    resource, objects = through[0][0], [one for _, one in through]
                found.append(_Found(resource, objects, listed=False))
            except StatusError as error:
                if not (error.code == 404 and options.ignore_not_found):
                    self.errors.append(error)
        if options.status_objects and options.output == "json":
            for failed in self.errors:
                if failed.code != 404 and not isinstance(failed, NotShown):
                    self.out(to_json((failed.bare or failed).status()))
        return found

    def listed(self, resource: Resource, namespace: str) -> list[JsonObject]:
        self.warn(resource)
        if resource.is_list_kind:
            raise StatusError(404, "NotFound", "the server could not find the requested resource")
        if "list" in resource.verbs:
            raise NotShown(f"{resource.plural} are what a live server is like when it is asked: a dump has none")
        if not resource.is_stored:
            raise StatusError(
                405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
            )
        options = self.options
        objects = self.store.list_objects(resource, namespace, options.labels, options.fields)
        return list(objects if options.sort_by else itertools.islice(objects, options.limit))

    def warn(self, resource: Resource) -> None:
        """Pass on what the server says of a version that is going away, once."""
        text = self.store.warning_of(resource)
        if text and text not in self.warned:
            self.warned.add(text)
            self.err(f"Warning: {text}\n")

    def of_list(self, resource: Resource, error: StatusError) -> StatusError:
        """Return the error as the client words it, which keeps the server's own."""
        options = self.options
        place = f'"{resource.api_version if resource.group else "/" + resource.version}, Resource={resource.plural}"'
        if options.labels or options.fields:
            selectors = f'label selector "{options.labels}", field selector "{options.fields}"'
            prefix = f"Unable to find {place} that match {selectors}: "
        else:
            prefix = f"Unable to list {place}: "
        if error.code == 405:
            prefix = ""
        told = StatusError(error.code, error.reason, prefix + error.message, error.details)
        told.bare = error
        return told

    def named(self, resource: Resource, namespace: str, name: str) -> list[JsonObject]:
        if not resource.is_stored:
            raise StatusError(404, "NotFound", "the server could not find the requested resource")
        try:
            if self.options.clusters is not None:
                return self.options.clusters.get_objects(resource, namespace, name)
            return [self.store.get_object(resource, namespace, name)]
        except StatusError as error:
            gone = namespace not in ("", "default") and not self.store.has_namespace(namespace)
            if error.code == 404 and gone:
                raise StatusError(404, "NotFound", f'namespaces "{namespace}" not found') from None
            raise

    # ---- print

    def count(self, found: list[_Found]) -> None:
        for group in found:
            lead = f"{group.resource.group_resource} " if len(found) > 1 else ""
            self.out(f"{visible(lead)}{len(group.objects)}\n")

    def print_rest(self, form: Output, wanted: Wanted, found: list[_Found]) -> None:
        """Print the objects; those that this program fails on are reported and left out."""
        try:
            self.print_at_once(form, wanted, found)
        except (*_FORESEEN, *OF_THE_COMMAND):
            raise
        except Exception:
            rest = [replace(group, objects=self.printable(form, wanted, group)) for group in found]
            if not self.left_out:
                raise
            self.print_at_once(form, wanted, rest)

    def print_at_once(self, form: Output, wanted: Wanted, found: list[_Found]) -> None:
        """Print the objects; where this program fails, nothing has been printed."""
        out, parts = self.out, list[str]()
        self.out = parts.append
        try:
            self.print(form, wanted, found)
        except (*_FORESEEN, *OF_THE_COMMAND):
            out("".join(parts))
            raise
        finally:
            self.out = out
        out("".join(parts))

    def printable(self, form: Output, wanted: Wanted, group: _Found) -> list[JsonObject]:
        """Return the objects that print when they are alone, and report the others."""
        options, resource, kept = self.options, group.resource, []
        out, err = self.out, self.err
        self.is_trial = True
        for one in group.objects:
            self.out = self.err = lambda _: None
            try:
                self.print(form, wanted, [replace(group, objects=[one])])
                if options.sort_by:
                    order_by([_as_received(one)] * 2, options.sort_by)
            except (*_FORESEEN, *OF_THE_COMMAND, FieldNotFound, JsonPathError):
                pass  # it is said when all are printed
            except Exception as error:  # noqa: BLE001 - any: it is of this object alone
                self.left_out += 1
                place = options.place(resource, one) if options.place is not None else _place(resource, one)
                err(left_out(place, error))
                continue
            finally:
                self.out, self.err = out, err
            kept.append(one)
        self.is_trial = False
        return kept

    def print(self, form: Output, wanted: Wanted, found: list[_Found]) -> None:
        options = self.options
        if form.is_table:
            self.tables(wanted, found)
            return
        pairs = [(group.resource, self.received(one)) for group in found for one in group.objects]
        if options.sort_by and not wanted.single and len(pairs) > 0:
            try:
                order = order_by([one for _, one in pairs], options.sort_by)
            except (FieldNotFound, JsonPathError) as error:
                raise Refused(str(error)) from None
            pairs = [pairs[at] for at in order[: options.limit]]
        if form.name in options.extra_formats:
            emit = options.extra_formats[form.name](pairs)
            if not self.is_trial:
                emit()
        elif form.name == "name":
            for resource, one in pairs:
                self.out(visible(f"{resource.group_kind}/{_metadata(one).get('name', '')}") + "\n")
        elif form.custom is not None:
            text, failed = form.custom.render((one for _, one in pairs), headers=options.headers, shown=self.shown)
            self.out(text)
            if failed is not None:
                raise Refused(str(failed))
        elif wanted.single and len(pairs) <= 1:
            for _, one in pairs:
                self.whole(form, one)
        elif found or wanted.names:
            self.whole(form, _as_list([one for _, one in pairs]))

    def received(self, obj: JsonObject) -> JsonObject:
        """Return an object as it arrives at a client."""
        out: JsonObject = _as_received(obj)
        return out if self.options.clusters is None else self.options.clusters.copied(obj, out)

    def shown(self, text: str) -> str:
        """Return content as the output shows it."""
        return visible(text) if self.options.for_terminal else text

    def shown_lines(self, text: str) -> str:
        """Return text of several lines as the output shows it."""
        return "\n".join(map(self.shown, text.split("\n")))

    def whole(self, form: Output, value: JsonObject) -> None:
        """Print one object, or the List that stands for many."""
        options = self.options
        if form.template is not None:
            self.out(form.templated(value, allow_missing=options.allow_missing, shown=self.shown))
            return
        if form.go_template is not None:
            form.go_templated(value, lambda text: self.out(self.shown_lines(text)), allow_missing=options.allow_missing)
            return
        if not options.show_managed_fields:
            value = _without_managed_fields(value)
        if form.name == "json":
            self.out(to_json(value))
            return
        if form.name == "kyaml":
            self.out(self.shown_lines(to_kyaml(value)))
            return
        try:
            self.out(to_yaml(value, for_terminal=options.for_terminal))
        except YamlTextError as error:
            raise Refused(str(error)) from None

    def tables(self, wanted: Wanted, found: list[_Found]) -> None:
        options = self.options
        found = [
            replace(group, objects=self.store.table_order(group.resource, group.objects)) if group.listed else group
            for group in found
        ]
        if options.sort_by:
            found = self.sorted_tables(wanted, found)
        groups = _joined(found)
        kinds = {(group.resource.group, group.resource.version, group.resource.kind) for group in groups}
        with_kind = options.show_kind or len(kinds) > 1
        table = TableText(
            wide=options.output == "wide",
            headers=options.headers,
            label_columns=[name for names in options.label_columns for name in names.split(",") if name],
            show_labels=options.show_labels,
        )
        printed = False
        for group in groups:
            for store, objects in self.alike(group):
                if printed and options.headers:
                    self.out("\n")
                printed = True
                part = _Found(group.resource, objects, listed=group.listed)
                self.out(self.table(table, part, store, with_kind=with_kind))
        unseen = any(getattr(self.store, name, 0) for name in ("sealed", "corrupt", "refused"))
        is_empty = not (printed or self.errors or self.left_out or unseen)
        if is_empty and not options.ignore_not_found and wanted.kinds:
            everywhere = options.all_namespaces or any(not one.namespaced for one in wanted.kinds)
            where = "" if everywhere else f" in {options.namespace} namespace."
            self.err(f"No resources found{where}\n")

    def alike(self, group: _Found) -> Sequence[tuple[Any, Sequence[JsonObject]]]:
        """Return the objects of a group by the columns that they have, with what prints them."""
        clusters = self.options.clusters
        return [(self.store, group.objects)] if clusters is None else clusters.tables(group.resource, group.objects)

    def table(self, table: TableText, group: _Found, store: Any, *, with_kind: bool) -> str:
        resource, clusters = group.resource, self.options.clusters
        self.with_namespace |= self.options.all_namespaces and resource.namespaced  # and for all tables after it
        if self.options.server_print:
            columns = store.headers(resource)
            cells = store.cells(resource, group.objects, self.now, listed=group.listed)
        else:
            columns = (Header("Name", is_name=True), Header(AGE.name))
            cells = [
                (_name(one), age_of(str(_metadata(one).get("creationTimestamp") or ""), self.now))
                for one in group.objects
            ]
        rows = [
            Row(
                row,
                str(_metadata(one).get("namespace") or ""),
                _labels(one),
                "" if clusters is None else clusters.cluster_of(one),
            )
            for row, one in zip(cells, group.objects, strict=True)
        ]
        return table.render(
            columns,
            rows,
            with_namespace=self.with_namespace,
            with_cluster=clusters is not None,
            kind_prefix=resource.group_kind if with_kind else "",
            first_part=None if group.listed else 1,
        )

    def sorted_tables(self, wanted: Wanted, found: list[_Found]) -> list[_Found]:
        """Sort a table; the original knows how only for one list, and keeps silent where the path leads nowhere."""
        if wanted.single:
            return found
        if len(found) > 1:
            path = self.options.sort_by
            with contextlib.suppress(JsonPathError):
                path = relaxed(path)
            raise Refused(str(FieldNotFound(path)))
        out = []
        for group in found:
            if len(group.objects) < 2:
                out.append(group)
                continue
            try:
                order = order_by([_as_received(one) for one in group.objects], self.options.sort_by)
            except (FieldNotFound, JsonPathError):
                out.append(_Found(group.resource, [], listed=True))
                continue
            out.append(
                _Found(group.resource, [group.objects[at] for at in order[: self.options.limit]], listed=group.listed)
            )
        return out


def _as_received(value: Any) -> Any:
    """Return a value as it arrives at a client: a float that JSON writes without fraction or exponent is an integer."""
    kind = type(value)
    if kind is dict:
        return {key: _as_received(each) for key, each in value.items()}
    if kind is list:
        return [_as_received(each) for each in value]
    if kind is float and value.is_integer() and -(2**63) <= value < 2**63:
        return int(value)
    return value


def _joined(found: list[_Found]) -> list[_Found]:
    """Join answers of one kind that follow each other; leave out the empty ones."""
    out: list[_Found] = []
    for group in found:
        if not group.objects:
            continue
        if out and out[-1].resource == group.resource and not group.listed:
            out[-1] = _Found(group.resource, [*out[-1].objects, *group.objects], listed=False)
        else:
            out.append(group)
    return out


_FORESEEN: Final = (Refused, UsageError, StatusError, UnknownResource, Unsortable)


def _place(resource: Resource, obj: JsonObject) -> str:
    metadata = _metadata(obj)
    namespace = metadata.get("namespace")
    return f"{resource.group_resource} {f'{namespace}/' if namespace else ''}{metadata.get('name', '')}"


def _metadata(obj: JsonObject) -> JsonObject:
    metadata = obj.get("metadata")
    return metadata if type(metadata) is dict else {}


def _name(obj: JsonObject) -> str:
    return str(_metadata(obj).get("name") or "")


def _labels(obj: JsonObject) -> dict[str, str]:
    labels = _metadata(obj).get("labels")
    return labels if type(labels) is dict else {}


def _as_list(items: list[JsonObject]) -> JsonObject:
    return {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}


def _without_managed_fields(value: JsonObject) -> JsonObject:
    if "items" in value and value.get("kind") == "List":
        return {**value, "items": [_without_managed_fields(item) for item in value["items"]]}
    metadata = _metadata(value)
    if "managedFields" not in metadata:
        return value
    return {**value, "metadata": {key: each for key, each in metadata.items() if key != "managedFields"}}


def not_found(resource: Resource, name: str) -> StatusError:
    """Return the server's answer to a GET of what is not there."""
    return StatusError(404, "NotFound", f'{resource.group_resource} "{name}" not found')
