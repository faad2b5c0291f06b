"""Fetches the objects for `kubectl get`, and collects the errors of the server.

Source: kubectl pkg/cmd/get/get.go; cli-runtime pkg/resource.
"""

from __future__ import annotations

import itertools
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from auditor.base.records import metadata_of
from auditor.golang.go_text import quote
from auditor.golang.jsontext import has_no_floats
from auditor.printing.get.options import Found
from auditor.printing.get.server_errors import ConnectionClosed, NotShown, StatusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.base.records import JsonObject
    from auditor.printing.arguments import Wanted
    from auditor.printing.discovery import Resource
    from auditor.printing.get.options import GetOptions, Store


def as_received(value: Any) -> Any:
    """Return a value as a client decodes it: a float that JSON writes without fraction or exponent is an integer."""
    if type(value) in (dict, list) and has_no_floats(value):
        return value
    return _received(value)


def _received(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _received(each) for key, each in value.items()}
    if kind is list:
        return [_received(each) for each in value]
    if kind is float and value.is_integer() and -(2**63) <= value < 2**63:
        return int(value)
    return value


def joined(found: list[Found]) -> list[Found]:
    """Join consecutive answers of one kind; leave out empty ones."""
    out: list[Found] = []
    for group in found:
        if not group.objects:
            continue
        if out and out[-1].resource == group.resource and not group.listed:
            out[-1] = Found(group.resource, [*out[-1].objects, *group.objects], listed=False)
        else:
            out.append(group)
    return out


def place_of(resource: Resource, obj: JsonObject) -> str:
    """Return a description of where an object is."""
    metadata = metadata_of(obj)
    namespace = metadata.get("namespace")
    return f"{resource.group_resource} {f'{namespace}/' if namespace else ''}{metadata.get('name', '')}"


def as_list(items: list[JsonObject]) -> JsonObject:
    """Return the List that a client prints for several objects."""
    return {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}


def without_managed_fields(value: JsonObject) -> JsonObject:
    """Return an object, or a List of objects, without metadata.managedFields."""
    if "items" in value and value.get("kind") == "List":
        return {**value, "items": [without_managed_fields(item) for item in value["items"]]}
    return without_own_managed_fields(value)


def without_own_managed_fields(value: JsonObject) -> JsonObject:
    """Return an object without metadata.managedFields, whatever else is in it."""
    metadata = metadata_of(value)
    if "managedFields" not in metadata:
        return value
    return {**value, "metadata": {key: each for key, each in metadata.items() if key != "managedFields"}}


class Unrecognized(StatusError):
    """A listed object whose kind no definition has; clients leave it out."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(0, "", f'unable to recognize no matches for kind "{kind}" in version "{api_version}"')


class Fetch:
    """The requests of one run.

    Attributes:
        errors: Errors of the server.
    """

    def __init__(self, store: Store, options: GetOptions, err: Callable[[str], None]) -> None:
        self.store = store
        self.options = options
        self.err = err
        self.errors: list[StatusError] = []
        self._warned: set[str] = set()
        self._requests = 0

    def fetch(self, wanted: Wanted) -> Iterator[Found]:
        """Yield the objects, one answer after the other; errors are collected."""
        options = self.options
        for resource in wanted.kinds:
            namespace = "" if options.all_namespaces or not resource.namespaced else options.namespace
            try:
                objects = self._listed(resource, namespace)
            except NotShown as error:
                self.errors.append(error)
                continue
            except ConnectionClosed:
                self.errors.append(self._closed())
                continue
            except StatusError as error:
                self.errors.append(self._of_list(resource, error))
                continue
            yield Found(resource, objects, listed=True)
        for kind, name in wanted.names:
            resource = kind
            self._warn(resource)
            namespace = options.namespace if resource.namespaced else ""
            try:
                objects = self._named(resource, namespace, name)
                if options.subresource:
                    through = [self.store.through(resource, obj, options.subresource) for obj in objects]
                    resource, objects = through[0][0], [obj for _, obj in through]
                yield Found(resource, objects, listed=False)
            except ConnectionClosed:
                self.errors.append(self._closed())
            except StatusError as error:
                answer = self._without_subresource(resource) or error
                if answer.code == HTTPStatus.NOT_FOUND:
                    if options.ignore_not_found:
                        continue
                    answer.hint = answer.hint or options.why_absent(resource, namespace, name)
                self.errors.append(answer)

    def _closed(self) -> ConnectionClosed:
        """Return the error of the last request, whose stream the server closed; a client uses odd numbers."""
        return ConnectionClosed(2 * self._requests - 1)

    def _listed(self, resource: Resource, namespace: str) -> list[JsonObject]:
        self._warn(resource)
        self._requests += 1
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

    def _without_subresource(self, resource: Resource) -> StatusError | None:
        """Return the answer for a kind without the subresource, whether the object exists or not."""
        if self.options.subresource and self.options.clusters is None:
            try:
                self.store.through(resource, {}, self.options.subresource)
            except StatusError as error:
                return error if error.code == HTTPStatus.NOT_FOUND else None
        return None

    def _warn(self, resource: Resource) -> None:
        """Print the deprecation warning of a version once; rows about objects of many kinds have none."""
        text = self.store.warning_of(resource)
        if text and text not in self._warned and not self.options.answer:
            self._warned.add(text)
            self.err(f"Warning: {text}\n")

    def _of_list(self, resource: Resource, error: StatusError) -> StatusError:
        """Return the error with the client's text for lists, which contains the server's message."""
        options = self.options
        place = f'"{resource.api_version if resource.group else "/" + resource.version}, Resource={resource.plural}"'
        if options.labels or options.fields:
            selectors = f"label selector {quote(options.labels)}, field selector {quote(options.fields)}"
            prefix = f"Unable to find {place} that match {selectors}: "
        else:
            prefix = f"Unable to list {place}: "
        if error.code not in (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND):
            return error
        return StatusError(error.code, error.reason, prefix + error.message, error.details, hint=error.hint)

    def _named(self, resource: Resource, namespace: str, name: str) -> list[JsonObject]:
        if not resource.is_stored:
            raise StatusError(404, "NotFound", "the server could not find the requested resource")
        self._requests += 1
        try:
            if self.options.clusters is not None:
                return self.options.clusters.get_objects(resource, namespace, name)
            return [self.store.get_object(resource, namespace, name)]
        except StatusError as error:
            known = self.store.namespaces() if error.code == 404 and namespace not in ("", "default") else ()
            if known and namespace not in known:
                raise StatusError(404, "NotFound", f'namespaces "{namespace}" not found') from None
            raise
