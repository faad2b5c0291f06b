"""The record tier: proves objects while they are decoded.

msgspec decodes JSON into record types generated from the schema of a version. It refuses a value of another type, an
unknown field, a null, a missing required field, a string outside an enum and a number out of bounds (`shapes`). A
generated function checks the rest on the records: patterns, formats, sizes of lists, unique keys, defaults (`checks`).
Both together are faster than decoding to dicts and proving those.

Rules are proven on the records, too (`rules`). A node that no record type can express (preserved unknown fields, keys
beside properties, anyOf; every node with rules, if one rule has no code for records) is decoded to plain values, and
the functions of `fastpath.dicts.emit` read and prove those. A version without any record type has no program. If an
object is not proven here, the caller tries the next tier from the stored bytes, or goes straight to the exact path if
the next tier could not prove the object either (`TypedProgram.refusal`).

Source: as of `auditor.fastpath.dicts.emit`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import orjson
from msgspec import UNSET

from auditor.base.paths import FREE_BYTES, check_paths
from auditor.codegen import Module
from auditor.fastpath.dicts.branches import accepts_everything
from auditor.fastpath.dicts.emit import ModuleEmitter
from auditor.fastpath.dicts.fallbacks import Fallbacks, Part, Reason
from auditor.fastpath.dicts.metadata import prove_embedded
from auditor.fastpath.dicts.metadata_parts import NotNormal
from auditor.fastpath.dicts.scope import META_KEYS, SchemaNotEmittable, given, has_default
from auditor.fastpath.dicts.support import Log, NotProven
from auditor.fastpath.records.checks import CheckWriter, write_plain_values, write_select
from auditor.fastpath.records.metadata import Metadata, prove_record
from auditor.fastpath.records.record_types import RECORD_KEYWORDS, RecordTypes
from auditor.fastpath.records.rules import RecordRules
from auditor.golang.go_text import display as shown
from auditor.validation.create import has_rules as contains_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.fastpath.rules.prover import RuleProver
    from auditor.schema.structural import StructuralSchema


GLOBALS: Final[dict[str, Any]] = {
    "_display": shown,
    "_U": UNSET,
    "_loads": orjson.loads,
}
"""Names that the generated functions use."""


class TypedProgram:
    """Proves stored objects of a version from their bytes. Not thread-safe.

    Args:
        definition: The definition.
        version: The version at which the objects are stored and judged.
        rules: Proves the rules of the version; None if there are none, or to ignore them.
        fallbacks: Counts objects that are not proven.

    Attributes:
        module: The generated functions.
        defaulted: Dotted paths of the defaults that a read of the last proven object fills in, sorted.
        pruned: Dotted paths of the fields that this read drops, sorted.
        refusal: Reason for which the code for dicts cannot prove the last object either, if it was not proven; None if
            that code may prove it. For `METADATA` it may prove all but the metadata. It decides nothing but what is
            tried next.

    Raises:
        NotEmittable: There is no such program for this version.
    """

    def __init__(
        self,
        definition: CustomResourceDefinition,
        version: CrdVersion,
        rules: RuleProver | None = None,
        fallbacks: Fallbacks | None = None,
    ) -> None:
        self.module = Module(
            f"{definition.kind}.{version.name}.{definition.group} typed",
            GLOBALS,
        )
        self.defaulted: tuple[str, ...] = ()
        self.pruned: tuple[str, ...] = ()
        self.refusal: Reason | None = None
        self._rules = rules
        self._fallbacks = Fallbacks() if fallbacks is None else fallbacks
        self._log = Log()
        self._record_rules: RecordRules | None = None
        writer = self._writer(definition, version)
        self._decode = msgspec.json.Decoder(writer.root.annotation).decode
        self._decode_body = msgspec.json.Decoder(writer.body).decode
        self._has_plain = writer.has_plain
        self._namespaced = definition.namespaced
        self._check: Callable[..., bool] = self.module.compile(writer.check)
        self._plain: Callable[[Any], dict[str, Any]] = self.module.compile(writer.plain)
        self.select: Callable[[Any], tuple[Any, ...]] = self.module.compile(writer.select)
        """Returns (text, value) of each selectable field of a proven object, in the order of the version."""

    def _writer(self, definition: CustomResourceDefinition, version: CrdVersion) -> TypedWriter:
        """Make the record types; properties with rules get one too, if all rules can be proven on records."""
        rules = self._rules
        if rules is not None:
            with suppress(SchemaNotEmittable):
                writer = TypedWriter(self.module, definition, version, on_records=True)
                self._record_rules = RecordRules(rules.rules, writer.root, self.module.title, rules.more)
                return writer
        return TypedWriter(self.module, definition, version, has_rules=rules is not None)

    def prove(self, data: bytes) -> Any:
        """Return the record of an object that is proven valid, including its rules, or None if it is not proven.

        The metadata of the record (`records.metadata.Metadata`) are as after the read.

        Args:
            data: The stored bytes.

        Raises:
            TooMuchToReport: The paths of dropped and defaulted fields need too much memory.
        """
        log, size = self._log, len(data)
        try:
            made = self._decode(data)
            if not prove_record(made.metadata, size, self._namespaced):
                raise NotProven(reason=Reason.METADATA)  # noqa: TRY301 - as where they are not even normal
            if self._has_plain:  # the text of a plain value is looked at later, but never if its key comes again
                orjson.loads(data)
            if not self._check(made, log, size):
                return self._refused(Reason.SCHEMA)
            if self._rules is not None and not (
                self._rules.hold(self._plain(made), data)
                if self._record_rules is None
                else self._record_rules.hold(made, size)
            ):
                return self._refused(Reason.RULES)
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the next way can tell
            log.clear()
            self._fallbacks.caught(Part.RECORD, error)
            self.refusal = _refusal(error)
            if _is_about_metadata(error) and self._is_body_refused(data):
                self.refusal = Reason.SCHEMA
            return None
        if log.defaulted or log.pruned:
            if size > FREE_BYTES:
                check_paths(orjson.loads(data), size)
            self.defaulted, self.pruned = log.defaulted_paths(), log.pruned_paths()
            log.clear()
        else:
            self.defaulted = self.pruned = ()
        return made

    def _is_body_refused(self, data: bytes) -> bool:
        """Return whether an object has a fault that no read repairs, whatever its metadata."""
        try:
            return not self._check(self._decode_body(data), self._log, len(data))
        except Exception as error:  # noqa: BLE001 - what it says is asked
            return _refusal(error) is Reason.SCHEMA
        finally:
            self._log.clear()

    def _refused(self, reason: Reason) -> None:
        self._log.clear()
        self._fallbacks.note(Part.RECORD, reason)
        self.refusal = reason


def _refusal(error: Exception) -> Reason | None:
    """Return the reason for which the code for dicts cannot prove an object either; None if it may prove it.

    That code can prove what a read repairs: unknown fields, nulls, metadata of other types, another stored version.

    Args:
        error: What the decoder or the generated code raised. msgspec writes ``<fault> - at `<path>` ``.
    """
    if type(error) is NotProven and error.reason == Reason.METADATA:
        return Reason.METADATA
    fault, _, path = str(error).rpartition(" - at `$.")
    if type(error) is not msgspec.ValidationError or not fault or fault.startswith("Object contains unknown field"):
        return None
    if path.startswith("metadata"):
        if path.startswith(("metadata.ownerReferences[", "metadata.managedFields[")):
            is_final = ", got `" not in fault
        else:
            is_final = (fault, path) in _METADATA
        return Reason.METADATA if is_final else None
    if path in ("apiVersion`", "kind`") or (fault.endswith("got `null`") and path.endswith("[...]`")):
        return None  # a value of a map is dropped if it is null
    return Reason.SCHEMA


def _is_about_metadata(error: Exception) -> bool:
    if type(error) is NotProven:
        return error.reason == Reason.METADATA
    return type(error) is NotNormal or " - at `$.metadata" in str(error)


_METADATA: Final = {
    ("Object missing required field `name`", "metadata`"),
    ("Expected `str` of length >= 1", "metadata.name`"),
    ("Expected `int` >= 0", "metadata.generation`"),
}
"""Faults of metadata that no read repairs, with their path."""


class TypedWriter:
    """Makes the record types of a version and the functions that check and read its records.

    Args:
        module: Receives the functions.
        definition, version: As in `TypedProgram`.
        has_rules: Whether to decode properties that have rules to plain values.
        on_records: Whether the rules run on the records.

    Attributes:
        root: The form of the decoded objects of the version.
        body: The record type of objects with any metadata.
        check, plain, select: Names of the functions.
        has_plain: Whether a part of an object is decoded to plain values.
    """

    def __init__(
        self,
        module: Module,
        definition: CustomResourceDefinition,
        version: CrdVersion,
        *,
        has_rules: bool = False,
        on_records: bool = False,
    ) -> None:
        schema = version.structural
        if (
            schema is None
            or version.schema is None
            or version.unserved_reason
            or definition.preserve_unknown_fields
            or given(schema) - RECORD_KEYWORDS
            or schema.type != "object"
            or schema.preserve_unknown_fields
            or schema.embedded_resource
            or schema.rules
            or not set(schema.required) <= {*schema.properties, *META_KEYS}
        ):
            raise SchemaNotEmittable("the root is no record")
        emitter = ModuleEmitter(module, prunes=True, defaults=True, embedded=prove_embedded)
        api_version = f"{definition.group}/{version.name}"
        _check_root(module, emitter, schema, (("apiVersion", api_version), ("kind", definition.kind)))
        head = [("apiVersion", Literal[api_version]), ("kind", Literal[definition.kind]), ("metadata", Metadata)]
        rest = {name: child for name, child in schema.properties.items() if name not in META_KEYS}
        ruled = {name for name, child in rest.items() if has_rules and contains_rules(child)}
        types = RecordTypes(on_records=on_records)
        root = self.root = types.record(schema, rest, head, ruled)
        self.body: Any = types.record(schema, rest, [*head[:2], ("metadata", msgspec.Raw)], ruled).annotation
        self.has_plain = types.has_plain
        checks = CheckWriter(module, emitter)
        self.check = module.function(lambda name: checks.write(name, root, version))
        self.plain = module.function(lambda name: write_plain_values(name, root))
        self.select = module.function(lambda name: write_select(name, root, version))


def _check_root(
    module: Module, emitter: ModuleEmitter, schema: StructuralSchema, constants: Iterable[tuple[str, str]]
) -> None:
    """Raise NotEmittable if the schema restricts apiVersion, kind or metadata beyond what every object satisfies."""
    for key, value in constants:
        own = schema.properties.get(key)
        if own is not None and (has_default(own) or not module.compile(emitter.prover(own))(value)):
            raise SchemaNotEmittable(f"a schema of {key}")
    own = schema.properties.get("metadata")
    if own is not None and (has_default(own) or not (accepts_everything(own) or emitter.is_plain_object(own))):
        raise SchemaNotEmittable("a schema of metadata")
