"""The root functions of a fused program: for the whole object, its selectable fields, its scale.

Source: apiextensions-apiserver pkg/apiserver/customresource_handler.go,
pkg/registry/customresource/{strategy,validator}.go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from auditor.codegen import FunctionWriter
from auditor.fastpath.dicts.branches import accepts_everything
from auditor.fastpath.dicts.emit import LOCALS, ModuleEmitter
from auditor.fastpath.dicts.expand import defaults_below
from auditor.fastpath.dicts.map_code import KeyCounter, object_sizes, read_property, read_rest
from auditor.fastpath.dicts.metadata import prove_metadata
from auditor.fastpath.dicts.scope import META_KEYS, CodeScope, Mode, SchemaNotEmittable, chain
from auditor.schema.structural import StructuralSchema

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.crds.definition import CrdVersion, CustomResourceDefinition, Scale
    from auditor.fastpath.dicts.support import Log


_NO_SCHEMA = StructuralSchema(type="object")
PLAIN_PATH = re.compile(r"(?:\.[A-Za-z0-9_-]+)+").fullmatch
"""Matches a path of plain names, each after a dot."""


def fused(
    emitter: ModuleEmitter,
    definition: CustomResourceDefinition,
    version: CrdVersion,
    repair: Callable[[dict[str, Any], int, Log], bool],
) -> str:
    """Declare the function that reads and proves whole objects, and return its name.

    The function takes the decoded object, a `Log` and the size of the JSON text in bytes. It returns True if the object
    is proven valid, None if all but its metadata is; in both cases it is changed as by the storage read. It returns
    False if nothing is known.

    Args:
        emitter: Writes the function.
        definition: The definition of the objects.
        version: The version at which they are stored and audited.
        repair: Coerces the metadata of an object in place, and returns whether it is then proven valid; called only if
            the stored metadata is not.

    Raises:
        NotEmittable: Only the reference can read objects of this version.
    """
    schema = version.structural
    if (version.schema is None) != (schema is None) or version.unserved_reason:
        raise SchemaNotEmittable("the schema is not structural")
    schema = schema or _NO_SCHEMA
    if (
        schema.type not in ("", "object")
        or schema.int_or_string
        or schema.embedded_resource
        or schema.legacy is not None
        or isinstance(schema.additional_properties, StructuralSchema)  # it would also apply to apiVersion and kind
    ):
        raise SchemaNotEmittable("the root is not an object of its own")
    emitter.module.namespace.update(_metadata=prove_metadata, _repair=repair)
    function = _Root(emitter, definition, version, schema)
    return emitter.module.function(function.write)


_REPAIR: Final = (
    "if not is_repaired:",
    " is_repaired = True",
    " is_sound = _repair(o, size, log)",
)
"""Coerces the metadata if the read may change them: late, as most objects that are not proven fail before."""


class _Root:
    def __init__(
        self,
        emitter: ModuleEmitter,
        definition: CustomResourceDefinition,
        version: CrdVersion,
        schema: StructuralSchema,
    ) -> None:
        self.emitter = emitter
        self.api_version = f"{definition.group}/{version.name}"
        self.kind = definition.kind
        self.namespaced = definition.namespaced
        self.scale = version.scale
        self.schema = schema

    def write(self, name: str) -> str:
        """Write the function."""
        emitter, schema = self.emitter, self.schema
        scope = CodeScope(Mode.FUSED, frozen=not emitter.prunes, root=True)
        w = FunctionWriter()
        with w.block(f"def {name}(o, log, size, {LOCALS}):"):
            with w.block(f"if o['apiVersion'] != {self.api_version!r} or o['kind'] != {self.kind!r}:"):
                w.line("raise Refused('', 'identity')")
            w.line("stored = o['metadata']")
            with w.block("try:"):
                w.line(f"is_repaired = is_sound = _metadata(stored, size, {self.namespaced})")
            w.lines(("except Exception:", " is_repaired = False"))
            known = frozenset((*schema.properties, *META_KEYS))
            counter = KeyCounter(w, scope.local("n") if schema.additional_properties is None else "")
            counter.start(str(len(META_KEYS)))
            for key, child in schema.properties.items():
                if key in META_KEYS:
                    self._meta_property(w, key, child, scope)
                else:
                    below, is_required = scope.property(key), key in schema.required
                    read_property(emitter, w, key, child, "o", below, counter, is_required=is_required)
            read_rest(emitter, w, schema, "o", scope, known, counter)
            w.lines(_REPAIR)
            for key in dict.fromkeys(schema.required):
                if key not in known:
                    w.lines((f"if {key!r} not in o:", " return False"))
            w.lines(chain(object_sizes(schema, "o", Mode.FUSED)))
            w.lines(chain(emitter.conditions(schema, "o", "dict", Mode.FUSED)))
            if self.scale is not None:
                _scale(w, self.scale)
            w.line("return True if is_sound else None")
        return w.source

    def _meta_property(self, w: FunctionWriter, key: str, schema: StructuralSchema, scope: CodeScope) -> None:
        """Check schemas of apiVersion and kind now, as all objects have the same; write code for one of metadata."""
        emitter = self.emitter
        if key != "metadata":
            value = self.api_version if key == "apiVersion" else self.kind
            if not emitter.module.compile(emitter.prover(schema))(value):
                w.line("return False")
            return
        if defaults_below(schema):
            raise SchemaNotEmittable("defaults in metadata")
        accepts_all = accepts_everything(schema) or emitter.is_plain_object(schema)
        if accepts_all and not schema.properties:
            return
        w.lines((*_REPAIR, "if not is_sound:", " raise Refused('', 'metadata')"))
        if accepts_all:
            return
        below = scope.property(key, frozen=True)
        y = below.local("v")
        w.line(f"{y} = o['metadata']")
        emitter.value(w, schema, y, below)


def scale_tests(scale: Scale) -> list[tuple[str, str]]:
    """Return each path of a scale, with the expression that is true if its value `v` is not valid."""
    number, text = "type(v) is not int or not 0 <= v <= 2147483647", "type(v) is not str"
    paths = (scale.spec_replicas_path, scale.status_replicas_path, scale.label_selector_path)
    return [(path, test) for path, test in zip(paths, (number, number, text), strict=True) if path]


def _scale(w: FunctionWriter, scale: Scale) -> None:
    """Write the checks of the scale subresource; absent values are valid."""
    for path, test in scale_tests(scale):
        if not PLAIN_PATH(path):
            w.line("return False")
            continue
        *above, last = path[1:].split(".")
        depth = w.depth
        w.line("v = o")
        for name in above:
            w.lines((f"v = v.get({name!r})", "if v is None:", " pass"))
            w.lines(("elif type(v) is not dict:", " return False", "else:"))
            w.depth += 1
        with w.block(f"if {last!r} in v:"):
            w.lines((f"v = v[{last!r}]", f"if {test}:", " return False"))
        w.depth = depth


def selector(emitter: ModuleEmitter, definition: CustomResourceDefinition, version: CrdVersion) -> str | None:
    """Declare the function that returns the selectable values of a read object; None if only the reference can."""
    paths = version.selectable_fields
    if not all(map(PLAIN_PATH, paths)):
        return None

    def write(name: str) -> str:
        w = FunctionWriter()
        with w.block(f"def {name}(o):"):
            w.line("m = o['metadata']")
            if definition.namespaced:
                w.line("found = {'metadata.name': m.get('name', ''), 'metadata.namespace': m.get('namespace', '')}")
            else:
                w.line("found = {'metadata.name': m.get('name', '')}")
            for path in paths:
                names = path[1:].split(".")
                w.line("v = o")
                for index, step in enumerate(names):
                    w.line(f"v = v.get({step!r}) if type(v) is dict else None" if index else f"v = v.get({step!r})")
                w.line(f"found[{path[1:]!r}] = v if type(v) is str else '' if v is None else _display(v)")
            w.line("return found")
        return w.source

    return emitter.module.function(write)
