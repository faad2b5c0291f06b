"""The typed tier: objects that are proven while they are decoded.

msgspec decodes JSON into records made of the schema of a version, and refuses what does not fit: another type, an
unknown field, a null, a missing field that is required, a text that is none of an enum, a number out of bounds. What it
cannot know (patterns, formats, sizes of lists, keys that repeat, defaults) a generated function checks on the records,
on few of them as a rule. Both together take less time than decoding to dicts and proving those.

Rules are proven on the records, too (`record_rules`). A node that records cannot express (unknown fields are preserved,
keys beside properties, anyOf and the like; everything with rules, if one of them has no code for records) is decoded to
plain values, and read and proven by the generated functions of `emit`. Where a version has too much of that there is no
program. An object that is not proven here is not judged at all: the caller goes the next way from its
bytes.

Source: as of `auditor.fastpath.dicts.emit`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
import orjson
from msgspec import UNSET, Meta, Raw, UnsetType

from auditor.base.path_size import FREE_BYTES, check_paths
from auditor.codegen import Module, Writer
from auditor.fastpath.dicts.branches import DECORATION, says_nothing
from auditor.fastpath.dicts.decoded import Decoded
from auditor.fastpath.dicts.emit import LOCALS, Emitter
from auditor.fastpath.dicts.expand import display, expand, repeats
from auditor.fastpath.dicts.lists import list_sizes
from auditor.fastpath.dicts.metadata import prove_embedded
from auditor.fastpath.dicts.objects import object_sizes
from auditor.fastpath.dicts.root import PLAIN_PATH, scale_tests
from auditor.fastpath.dicts.scalars import int_bounds
from auditor.fastpath.dicts.scope import META_KEYS, Condition, Mode, NotEmittable, Scope, chain, given, has_default
from auditor.fastpath.dicts.support import INT64_MAX, Log
from auditor.fastpath.records.metadata import Metadata, prove_record
from auditor.fastpath.records.rules import RecordRules
from auditor.golang.text import display as shown
from auditor.schema.structural import ListType, StructuralSchema
from auditor.selectors.fields import field_types
from auditor.validation.create import has_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable

    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.fastpath.rules.prover import RuleProver

__all__ = ["GLOBALS", "TypedProgram", "TypedWriter"]

MOST_RECORDS: Final = 400
"""Kinds of records a version may have; making one takes 50 us."""

MAX_LOOPS: Final = 6
"""Loops inside each other in one function; what lies deeper is decoded to plain values."""

_ABOUT: Final = DECORATION | {"type"}
_RECORD: Final = _ABOUT | {"properties", "required"}
_COUNTS: Final = {"min_properties", "max_properties"}
_LENGTHS: Final = {"min_length", "max_length"}
_BOUNDS: Final = {"format", "minimum", "maximum", "exclusive_minimum", "exclusive_maximum"}
GLOBALS: Final[dict[str, Any]] = {
    "_display": shown,
    "_metadata": prove_record,
    "_U": UNSET,
    "_loads": orjson.loads,
}
"""What the generated functions call."""
_INTEGER: Final = Annotated[int, Meta(ge=-INT64_MAX - 1, le=INT64_MAX)]


class TypedProgram:
    """Proves stored objects of a version from their bytes. Not for several threads at a time.

    Args:
        definition: The definition.
        version: At which the objects are stored and judged.
        rules: Proves the rules of the version; None: there are none, or they do not count.

    Attributes:
        module: The generated functions.
        defaulted: Dotted paths of what the read of the last object fills in, sorted; empty where it was not proven.
        pruned: The same of what it drops.

    Raises:
        NotEmittable: There is no such program for this version.
    """

    def __init__(
        self, definition: CustomResourceDefinition, version: CrdVersion, rules: RuleProver | None = None
    ) -> None:
        self.module = Module(
            f"{definition.kind}.{version.name}.{definition.group} typed",
            GLOBALS,
        )
        self.defaulted: tuple[str, ...] = ()
        self.pruned: tuple[str, ...] = ()
        self._rules = rules
        self._log = Log()
        self._record_rules: RecordRules | None = None
        writer = self._writer(definition, version)
        self._decode = msgspec.json.Decoder(writer.root.annotation).decode
        self._check: Callable[..., bool] = self.module.compile(writer.check)
        self._plain: Callable[[Any], dict[str, Any]] = self.module.compile(writer.plain)
        self.select: Callable[[Any], tuple[Any, ...]] = self.module.compile(writer.select)
        """Returns text and value of each selectable field of a proven object, in the order of the version."""

    def _writer(self, definition: CustomResourceDefinition, version: CrdVersion) -> TypedWriter:
        """Make the records: also of what has rules, if all of these can be proven on records."""
        rules = self._rules
        if rules is not None:
            with suppress(NotEmittable):
                writer = TypedWriter(self.module, definition, version, on_records=True)
                self._record_rules = RecordRules(rules.rules, writer.root, self.module.title, rules.more)
                return writer
        return TypedWriter(self.module, definition, version, has_rules=rules is not None)

    def prove(self, data: bytes) -> Any:
        """Return the record of an object that is proven valid, all its rules included, or None if it is not proven.

        The record has `metadata` (`typed_metadata.Metadata`) as the read leaves them, nothing dropped.

        Args:
            data: The stored bytes.

        Raises:
            TooMuchToReport: The paths of what was dropped and defaulted cannot be held.
        """
        log = self._log
        try:
            made = self._decode(data)
            if not self._check(made, log, len(data)):
                log.clear()
                return None
            if self._rules is not None and not (
                self._rules.hold(self._plain(made), data)
                if self._record_rules is None
                else self._record_rules.hold(made, len(data))
            ):
                log.clear()
                return None
        except Exception:  # noqa: BLE001 - whatever is wrong, the next way can tell
            log.clear()
            return None
        if log.defaulted or log.pruned:
            if len(data) > FREE_BYTES:
                check_paths(orjson.loads(data), len(data))
            self.defaulted, self.pruned = log.defaulted_paths(), log.pruned_paths()
            log.clear()
        else:
            self.defaulted = self.pruned = ()
        return made


class TypedWriter:
    """Makes the records of a version and writes the functions that go with them.

    Args:
        module: Takes the functions.
        definition, version: As of `TypedProgram`.
        has_rules: What has rules is left to others, as plain values.
        on_records: There are rules which are for the records that are made.
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
            or given(schema) - _RECORD
            or schema.type != "object"
            or schema.preserve_unknown_fields
            or schema.embedded_resource
            or schema.rules
            or not set(schema.required) <= {*schema.properties, *META_KEYS}
        ):
            raise NotEmittable("the root is no record")
        self.module = module
        self.has_rules = has_rules
        self.on_records = on_records
        self.namespaced = definition.namespaced
        self.version = version
        self.records = 0
        self._shapes: dict[tuple[StructuralSchema, tuple[str, ...]], Decoded] = {}
        self.emitter = Emitter(module, prunes=True, defaults=True, embedded=prove_embedded)
        self.root = self._root(definition, version, schema)
        self.check = module.function(self._write_check)
        self.plain = module.function(self._write_plain)
        self.select = module.function(self._write_select)

    # -- shapes -------------------------------------------------------------------------------------------------------

    def _root(self, definition: CustomResourceDefinition, version: CrdVersion, schema: StructuralSchema) -> Decoded:
        api_version = f"{definition.group}/{version.name}"
        for key, value in (("apiVersion", api_version), ("kind", definition.kind)):
            own = schema.properties.get(key)
            if own is not None and (has_default(own) or not self.module.compile(self.emitter.prover(own))(value)):
                raise NotEmittable(f"a schema of {key}")
        own = schema.properties.get("metadata")
        if own is not None and (has_default(own) or not (says_nothing(own) or self.emitter.is_plain_object(own))):
            raise NotEmittable("a schema of metadata")
        head = [("apiVersion", Literal[api_version]), ("kind", Literal[definition.kind]), ("metadata", Metadata)]
        rest = {name: child for name, child in schema.properties.items() if name not in META_KEYS}
        ruled = {name for name, child in rest.items() if self.has_rules and has_rules(child)}
        return self._record(schema, rest, head, ruled)

    def _shape(self, schema: StructuralSchema, keys: tuple[str, ...] = ()) -> Decoded:
        """Return what a node is decoded to; positions that say the same have one schema, and one kind of record."""
        found = self._shapes.get((schema, keys))
        if found is None:
            found = self._shapes[schema, keys] = self._make_shape(schema, keys)
        return found

    def _make_shape(self, schema: StructuralSchema, keys: tuple[str, ...]) -> Decoded:
        said = given(schema)
        if schema.type == "object" and not said & {"int_or_string", "embedded_resource", "preserve_unknown_fields"}:
            rest = schema.additional_properties
            if rest is None and said <= _RECORD | _COUNTS and set(schema.required) <= schema.properties.keys():
                return self._record(schema, schema.properties, keys=keys)
            if isinstance(rest, StructuralSchema) and said <= _ABOUT | _COUNTS | {"additional_properties"}:
                return self._several(schema, rest, "map")
        elif (
            schema.type == "array"
            and schema.items is not None
            and said <= _ABOUT | {*("items", "min_items", "max_items")}
            and not schema.preserve_unknown_fields
        ):
            return self._several(schema, schema.items, "list")
        elif schema.type in ("string", "integer", "boolean", "number") or schema.int_or_string:
            return self._scalar(schema, said - _ABOUT - {"int_or_string"})
        return self._as_plain(schema)

    @staticmethod
    def _as_plain(schema: StructuralSchema) -> Decoded:
        return Decoded(schema, "plain", Raw, has_checks=True, has_sites=True)

    def _record(
        self,
        schema: StructuralSchema,
        properties: dict[str, StructuralSchema],
        head: Iterable[tuple[str, Any]] = (),
        plain: Container[str] = (),
        keys: Container[str] = (),
    ) -> Decoded:
        """Make a record.

        Args:
            schema: The schema of it.
            properties: Those that are told by the schema.
            head: Fields before them.
            plain: Properties that are left as they are.
            keys: Properties that are compared with those of other records: none of them may be null.
        """
        self.records += 1
        if self.records > MOST_RECORDS:
            raise NotEmittable("too many records")
        made = Decoded(schema, "record", None)
        needed: list[Any] = list(head)
        others: list[Any] = []
        for name, child in properties.items():
            inner = self._as_plain(child) if name in plain else self._shape(child)
            is_defaulted = has_default(child)
            attribute = f"f{len(made.fields)}"
            made.fields[name] = (attribute, inner)
            made.has_checks |= inner.has_checks or is_defaulted
            made.has_sites |= inner.has_sites or is_defaulted
            annotation = _or_null(inner)
            if name in schema.required and not is_defaulted:
                needed.append((attribute, annotation, msgspec.field(name=name)))
            else:
                default: Any = UNSET
                if not child.nullable and name not in keys:
                    made.drops.add(name)
                    if annotation is not Raw:  # that it is not there and that it is null come to the same
                        annotation, default = annotation | None, None
                elif annotation is not Raw:
                    annotation |= UnsetType
                others.append((attribute, annotation, msgspec.field(name=name, default=default)))
        made.has_checks |= bool(_counts(made, "x"))
        made.annotation = msgspec.defstruct(f"R{self.records}", needed + others, forbid_unknown_fields=True, gc=False)
        return made

    def _several(self, schema: StructuralSchema, child: StructuralSchema, kind: str) -> Decoded:
        below = self._shape(child, schema.list_map_keys)
        annotation: Any = dict[str, _or_null(below)] if kind == "map" else list[_or_null(below)]  # type: ignore[misc]
        if kind == "list" and below.kind == "plain" and self.on_records:
            return self._as_plain(schema)  # its items are decoded apart, and rules may look at them
        made = Decoded(schema, kind, annotation, below=below, has_sites=below.has_sites)
        made.has_checks = below.has_checks
        if kind == "map":
            made.has_checks |= bool(object_sizes(schema, "x", Mode.PROVE))
            return made
        if schema.list_type is ListType.MAP:
            keys = [below.fields.get(key) for key in schema.list_map_keys]
            if not all(key is not None and key[1].kind == "scalar" and not key[1].schema.nullable for key in keys):
                return self._as_plain(schema)
        elif schema.list_type is ListType.SET and below.kind != "scalar":
            return self._as_plain(schema)
        made.has_checks |= bool(list_sizes(schema, "x", Mode.PROVE)) or schema.list_type in (
            ListType.MAP,
            ListType.SET,
        )
        return made

    def _scalar(self, schema: StructuralSchema, said: set[str]) -> Decoded:
        if schema.nullable and schema.enum:
            return self._as_plain(schema)
        made = Decoded(schema, "scalar", None)
        if schema.int_or_string:
            made.annotation = _INTEGER | str
            made.has_checks = bool(said)
        elif schema.type == "string":
            made.annotation = str
            if said == {"enum"} and schema.enum and all(type(value) is str for value in schema.enum):
                made.annotation = Literal[tuple(dict.fromkeys(schema.enum))]
            elif said and said <= _LENGTHS:
                made.annotation = Annotated[str, Meta(min_length=schema.min_length, max_length=schema.max_length)]
            else:
                made.has_checks = bool(said)
        elif schema.type == "integer":
            made.annotation = _INTEGER
            if said:
                low, high, is_doubtful = int_bounds(schema)
                if said <= _BOUNDS and not is_doubtful:
                    made.annotation = Annotated[
                        int, Meta(ge=-INT64_MAX - 1 if low is None else low, le=INT64_MAX if high is None else high)
                    ]
                else:
                    made.has_checks = True
        elif schema.type == "number":
            made.annotation = float | _INTEGER
            made.has_checks = bool(said)
        else:
            made.annotation = bool
            made.has_checks = bool(said)
        return made

    # -- checks -------------------------------------------------------------------------------------------------------

    def _write_check(self, name: str) -> str:
        w = Writer()
        scope = Scope(Mode.FUSED, root=True)
        with w.block(f"def {name}(o, log, size, {LOCALS}):"):
            with w.block(f"if not _metadata(o.metadata, size, {self.namespaced}):"):
                w.line("return False")
            self._fields(w, self.root, "o", scope)
            if self.version.scale is not None:
                for path, test in scale_tests(self.version.scale):
                    self._walk(w, path, strictly=True)
                    w.lines((f"if v is not _U and ({test}):", " return False"))
            w.line("return True")
        return w.source

    def _fields(self, w: Writer, shape: Decoded, x: str, scope: Scope) -> None:
        required = shape.schema.required
        for name, (attribute, child) in shape.fields.items():
            is_defaulted = has_default(child.schema)
            if not (child.has_checks or is_defaulted):
                continue
            below = scope.property(name)
            y = below.local("v")
            place = f"{x}.{attribute}"
            w.line(f"{y} = {place}")
            absent = shape.absent(name)
            if name in shape.drops and child.kind == "plain":
                w.lines((f"if {y} is not _U and bytes({y}) == b'null':", f" {place} = {y} = _U"))
            if is_defaulted:
                with w.block(f"if {y} is {absent}:"):
                    w.lines(self._insertion(child, place, below))
                if child.has_checks:
                    with w.block("else:"):
                        self._value(w, child, y, below, place)
            elif name in required:
                self._value(w, child, y, below, place)
            else:
                with w.block(f"if {y} is not {absent}:"):
                    self._value(w, child, y, below, place)

    def _insertion(self, shape: Decoded, place: str, scope: Scope) -> list[str]:
        """Return the lines that put in a default; records of a default are shared, for nothing changes them later."""
        schema = shape.schema
        expansion = expand(schema)
        is_valid = expansion.stable and self.module.compile(self.emitter.prover(schema))(expansion.value)
        if not is_valid or repeats(expansion.value, schema):
            return ["return False"]
        if shape.kind in ("scalar", "plain"):
            value = display(self.module, expansion.value)
        else:
            try:
                value = self.module.slot(msgspec.convert(expansion.value, shape.annotation))
            except msgspec.ValidationError:  # it holds what only plain values can
                return ["return False"]
        return [f"{place} = {value}", f"log.defaulted.append({self.emitter.site(scope)})"]

    def _value(self, w: Writer, shape: Decoded, x: str, scope: Scope, place: str) -> None:
        """Write the checks of a value that is there; it may be null where its schema allows that.

        Args:
            w, shape, x, scope: As everywhere; `x` is the variable that holds it.
            place: Where it comes from; what is decoded only here is put there.
        """
        if not shape.has_checks:
            return
        if shape.kind == "plain":
            name = self.emitter.reader(shape.schema)
            test = f"not {name}({x}, log, {self.emitter.site(scope)}) or log.doubts"
            w.line(f"{place} = {x} = _loads(bytes({x}))")
            if shape.schema.nullable and not shape.schema.enum:
                w.lines((f"if {x} is not None and ({test}):", " return False"))
            else:
                w.lines((f"if {x} is None or {test}:", " return False"))
            return
        if shape.schema.nullable:
            with w.block(f"if {x} is not None:"):
                self._present(w, shape, x, scope)
        else:
            self._present(w, shape, x, scope)

    def _present(self, w: Writer, shape: Decoded, x: str, scope: Scope) -> None:
        schema = shape.schema
        memo = self.emitter.remembered_text(schema) if shape.kind == "scalar" and schema.pattern else None
        if memo is not None and schema.type == "string":
            w.lines((f"if {x} not in {memo[0]} and not {memo[1]}({x}):", " return False"))
        elif shape.kind == "scalar":
            self.emitter.value(w, schema, x, Scope(Mode.PROVE, loops=scope.loops, level=scope.level))
        elif shape.kind == "record":
            self._fields(w, shape, x, scope)
            w.lines(chain(_counts(shape, x)))
        else:
            assert shape.below is not None
            if shape.below.has_checks:
                self._each(w, shape, shape.below, x, scope)
            sizes = object_sizes if shape.kind == "map" else list_sizes
            w.lines(chain([*sizes(schema, x, Mode.PROVE), *self._repeated(shape, x, scope)]))

    def _each(self, w: Writer, shape: Decoded, below: Decoded, x: str, scope: Scope) -> None:
        if scope.loops >= MAX_LOOPS:
            raise NotEmittable("too many loops")
        place = "_"  # nobody looks into lists
        if shape.kind == "map":
            inside = scope.key()
            head = f"for {inside.local('k')}, {inside.local('v')} in {x}.items():"
            place = f"{x}[{inside.local('k')}]"
        elif below.has_sites:
            inside = scope.numbered(keep=False)
            head = f"for {inside.local('i')}, {inside.local('v')} in enumerate({x}):"
        else:
            inside = scope.item(x, keep=False)
            head = f"for {inside.local('v')} in {x}:"
        with w.block(head):
            self._value(w, below, inside.local("v"), inside, place)

    @staticmethod
    def _repeated(shape: Decoded, x: str, scope: Scope) -> list[Condition]:
        if shape.schema.list_type is ListType.SET:
            return [(f"len({x}) > 1 and len(set({x})) != len({x})", "return False")]
        if shape.schema.list_type is not ListType.MAP:
            return []
        assert shape.below is not None
        i = f"j{scope.level}"
        keys = [f"{i}.{shape.below.fields[key][0]}" for key in shape.schema.list_map_keys]
        key = keys[0] if len(keys) == 1 else f"({', '.join(keys)})"
        return [(f"len({x}) > 1 and len({{{key} for {i} in {x}}}) != len({x})", "return False")]

    # -- what others want of a record ----------------------------------------------------------------------------------

    def _write_plain(self, name: str) -> str:
        """Write the function that returns what rules see: nothing but the values that have some."""
        w = Writer()
        with w.block(f"def {name}(o):"):
            w.line("found = {}")
            for key, (attribute, child) in self.root.fields.items():
                if child.kind == "plain":
                    w.line(f"v = o.{attribute}")
                    w.lines(("if v is not _U:", f" found[{key!r}] = v"))
            w.line("return found")
        return w.source

    def _write_select(self, name: str) -> str:
        w = Writer()
        found = []
        kinds = {"boolean": "bool", "integer": "int"}
        with w.block(f"def {name}(o):"):
            paths = zip(self.version.selectable_fields, field_types(self.version), strict=True)
            for number, (path, (_, declared)) in enumerate(paths):
                self._walk(w, path)
                kind = kinds.get(declared, "str")
                text, value = f"t{number}", f"u{number}"
                w.line(f"{text} = v if type(v) is str else '' if v is None or v is _U else _display(v)")
                w.line(f"{value} = v if type(v) is {kind} else None")
                found += [text, value]
            w.line(f"return ({''.join(f'{one}, ' for one in found)})")
        return w.source

    def _walk(self, w: Writer, path: str, *, strictly: bool = False) -> None:
        """Write the way to a value, `v`; UNSET: it is not there.

        Args:
            w: Takes it.
            path: Plain names, each after a dot.
            strictly: Nothing is proven where something on the way is no map.
        """
        names = path[1:].split(".")
        if not PLAIN_PATH(path) or names[0] in META_KEYS:
            raise NotEmittable("a path that is not plain")
        shape: Decoded | None = self.root
        w.line("v = o")
        for name in names:
            if shape is not None and shape.kind == "record":
                known = shape.fields.get(name)
                w.line("v = _U" if known is None else f"v = _U if v is None or v is _U else v.{known[0]}")
                if strictly and known is not None and name in shape.drops:
                    w.lines(("if v is None:", " v = _U"))
                shape = None if known is None else known[1]
            else:
                if strictly:
                    w.lines(("if v is not None and v is not _U and type(v) is not dict:", " return False"))
                w.line(f"v = v.get({name!r}, _U) if type(v) is dict else _U")
                shape = shape.below if shape is not None and shape.kind == "map" else None


def _counts(shape: Decoded, x: str) -> list[Condition]:
    """Return conditions on the number of properties of a record whose defaults are in place."""
    schema = shape.schema
    unsure = [
        f"({x}.{attribute} is not {shape.absent(name)})"
        for name, (attribute, child) in shape.fields.items()
        if name not in schema.required and not has_default(child.schema)
    ]
    sure = len(shape.fields) - len(unsure)
    least, most = schema.min_properties, schema.max_properties
    number = " + ".join((*unsure, str(sure)))
    found: list[Condition] = []
    if least is not None and least > sure:
        found.append(
            (f"not ({' or '.join(unsure) or 'False'})" if least == 1 else f"{number} < {least}", "return False")
        )
    if most is not None and most < len(shape.fields):
        found.append((f"{number} > {most}", "return False"))
    return found


def _or_null(shape: Decoded) -> Any:
    return shape.annotation | None if shape.schema.nullable and shape.annotation is not Raw else shape.annotation
