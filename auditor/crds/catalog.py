"""CrdCatalog: the definitions of one cluster or folder, found by resource, kind, short name or parts of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from auditor.base.errors import PlanError, SchemaError
from auditor.base.wording import counted, first_of
from auditor.crds.definition import CustomResourceDefinition, document_name, parse_definition
from auditor.golang.jsontext import encode
from auditor.sources.crd_files import KIND, definitions_in

if TYPE_CHECKING:
    from collections.abc import Iterator


class CrdCatalog:
    """An immutable set of definitions.

    Attributes:
        crds: Resource (plural.group) to definition, in order of the resource.
        broken: Name of a document that no server could decode, to the reason; the other definitions are not affected.
    """

    __slots__ = ("_by_kind", "broken", "crds")

    def __init__(
        self, definitions: Iterable[CustomResourceDefinition], broken: Mapping[str, str] | None = None
    ) -> None:
        by_resource = {definition.resource: definition for definition in definitions}
        self.crds: Mapping[str, CustomResourceDefinition] = MappingProxyType(
            {resource: by_resource[resource] for resource in sorted(by_resource)}
        )
        self.broken: Mapping[str, str] = MappingProxyType(dict(broken or {}))
        self._by_kind = {(definition.group, definition.kind): definition for definition in self.crds.values()}

    def __repr__(self) -> str:
        broken = f", {len(self.broken)} broken" if self.broken else ""
        names = f": {first_of([*self.crds], 3)}" if self.crds else ""
        return f"<CrdCatalog of {counted(len(self.crds), 'definition')}{broken}{names}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (tuple(self.crds.values()), dict(self.broken)))

    @classmethod
    def from_documents(cls, documents: Iterable[Any], *, stored: bool = False) -> CrdCatalog:
        """Return the catalog of the definitions among decoded documents; documents of other kinds are ignored.

        Args:
            documents: Decoded JSON or YAML: documents, or one of them; the items of a List are documents, too. If two
                definitions have the same name, the later counts.
            stored: The documents come from a server, so that their status counts (`parse_definition`).
        Raises:
            PlanError: They are not decoded documents.
        """
        definitions: dict[str, CustomResourceDefinition] = {}
        broken: dict[str, str] = {}
        for number, document in enumerate(documents_given(documents)):
            if type(document) is not dict or document.get("kind") != "CustomResourceDefinition":
                continue
            try:
                definition = parse_definition(document, stored=stored)
            except SchemaError as error:
                broken[error.where or f"document {number}"] = error.found
                continue
            except RecursionError:
                broken[document_name(document) or f"document {number}"] = "the schema is nested too deeply"
                continue
            definitions[definition.name] = definition
        return cls(definitions.values(), broken)

    def find(self, text: str) -> CustomResourceDefinition | None:
        """Return the definition with a name, found as kubectl finds it.

        Args:
            text: plural.group, or any of plural, singular, kind or short name, alone or followed by ``.group`` or
                ``.version.group``; case is ignored.
        Raises:
            PlanError: Several definitions have the name; the error lists them.
        """
        exact = self.crds.get(text)
        if exact is not None:
            return exact
        wanted = text.lower()
        hits = [definition for definition in self.crds.values() if _means(wanted, definition)]
        if len(hits) > 1:
            names = ", ".join(hit.resource for hit in hits)
            raise PlanError(text, f"means {len(hits)} kinds: {names}", advice="name one of them in full")
        return hits[0] if hits else None

    def by_group_kind(self, group: str, kind: str) -> CustomResourceDefinition | None:
        """Return the definition of a kind, or None."""
        return self._by_kind.get((group, kind))

    def sha256(self) -> str:
        """Return a hash of all documents, hexadecimal; the order of documents and keys does not change it."""
        digest = hashlib.sha256()
        for definition in sorted(self.crds.values(), key=lambda one: (one.name, one.resource)):
            digest.update(encode(definition.document).encode("utf-8", "surrogatepass"))
            digest.update(b"\n")
        return digest.hexdigest()


def documents_given(documents: Any) -> Iterator[Any]:
    """Yield the documents that a caller gave: several or one of them, and the definitions in a List.

    Raises:
        PlanError: They are not decoded documents: text, or a path.
    """
    if isinstance(documents, (str, bytes)) or not isinstance(documents, Iterable):
        raise _not_documents(documents)
    for document in (documents,) if isinstance(documents, Mapping) else documents:
        if isinstance(document, (str, bytes)):
            raise _not_documents(document)
        kind = document.get("kind") if isinstance(document, Mapping) else None
        is_several = isinstance(document, list) or kind in ("List", f"{KIND}List")
        yield from definitions_in(document) if is_several else (document,)


def _not_documents(given: Any) -> PlanError:
    expected = "decoded documents: a list of dicts, as yaml.safe_load_all or json.load make them"
    return PlanError("definitions", f"{type(given).__name__} {str(given)[:40]!r} is given", expected)


def _means(wanted: str, definition: CustomResourceDefinition) -> bool:
    names = (definition.plural, definition.singular, definition.kind, *definition.short_names)
    for name in names:
        short = name.lower()
        if wanted in (short, f"{short}.{definition.group}"):
            return True
        if wanted.startswith(f"{short}.") and any(
            wanted == f"{short}.{version}.{definition.group}" for version in definition.versions
        ):
            return True
    return False
