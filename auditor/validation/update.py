"""The checks of an update: those of the server's strategy for a new object and the old one, with ratcheting.

Schema findings of unchanged nodes are dropped, list types are checked only if those of the old object were valid, and
everything else is judged as on a create. An update of /status checks only the schema of `status`.

Source: apiextensions-apiserver pkg/registry/customresource/strategy.go, status_strategy.go, validator.go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from auditor.ratcheting import CorrelatedObject
from auditor.schema.structural import StructuralSchema
from auditor.validation.create import check_scale_spec, check_scale_status
from auditor.validation.field_errors import has_blocking, rules_not_checked, unique
from auditor.validation.keywords.legacy import matcher
from auditor.validation.name_checks import path_segment
from auditor.validation.node import validate_value
from auditor.validation.objectmeta import check_metadata, check_metadata_update, read_metadata

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from auditor.base.records import Finding, JsonObject
    from auditor.validation.create import CreateValidator

    UpdateRules = Callable[[JsonObject, JsonObject, CorrelatedObject | None], list[Finding]]


class UpdateValidator:
    """Judges updates with the compiled checks of a CreateValidator.

    Objects are taken as the storage read returns them. Rules are called with the new object, the old object and the
    correlation of both (None without ratcheting); without rules the step is skipped.
    """

    def __init__(self, create: CreateValidator) -> None:
        self.create = create
        self._last: tuple[JsonObject, JsonObject, list[Finding], list[Finding]] | None = None
        self._faulty: tuple[Collection[Finding] | None, frozenset[str]] = (None, frozenset())

    def run(
        self,
        new: JsonObject,
        old: JsonObject,
        *,
        ratchet: bool = True,
        ratchet_lists: bool | None = None,
        rules: UpdateRules | None = None,
        dropped: list[Any] | None = None,
        known: Collection[Finding] | None = None,
    ) -> list[Finding]:
        """Judge an update of the object.

        Args:
            new: The new object.
            old: The old object.
            ratchet: Whether to tolerate findings of unchanged values.
            ratchet_lists: The same for list types, if it differs: a server without CRDValidationRatcheting still
                tolerates old duplicates.
            rules: Evaluates the validation rules.
            dropped: Receives the tolerated findings of the schema, for `tolerated_values`.
            known: The findings of a create of the new object, if it differs from the old one only in metadata, and
                metadata come from a storage read. Then checks that found nothing do not run again.
        """
        create = self.create
        checks = None if known is None else {finding.check for finding in known}
        is_proven = checks is not None and "schema" not in checks
        twin = None
        if ratchet and not (is_proven and (rules is None or not create.has_rules)):
            twin = CorrelatedObject(new, old, create.version.structural)
            twin.dropped = dropped
            if known is not None and not is_proven:
                twin.faults = create.faults_of(new)
        findings = create.check_type_meta(new) if checks is None or "type-meta" in checks else []
        if not findings:
            findings = self.check_metadata(new, old, known)
            if not is_proven:
                # Ratcheting only drops findings: without any, no correlation is needed.
                plain = [] if known is not None else validate_value(create.root, new)
                if known is not None or (plain and twin is not None):
                    plain = validate_value(create.root, new, twin)
                findings += plain
            if checks is None or "scale" in checks:
                findings += check_scale_spec(new, create.version.scale)
                findings += check_scale_status(new, create.version.scale)
        if checks is None or "embedded" in checks:
            findings += create.check_embedded(new)
        findings += self._list_types(new, old, known, ratchet=ratchet if ratchet_lists is None else ratchet_lists)
        return findings + self._rules(findings, new, old, twin, rules)

    def crashes(self, new: JsonObject, old: JsonObject) -> bool:
        """Return whether the server fails on this update (code 500) instead of judging it.

        That is so if a legacy schema cannot be made structural and both objects have a field with a schema, because the
        correlation has no schema then. `run` judges without correlation in that case.
        """
        schema = self.create.version.schema
        if schema is None or self.create.version.structural is not None or self.create.check_type_meta(new):
            return False
        if isinstance(schema.additional_properties, StructuralSchema):
            return any(key in old for key in new)
        patterns = schema.legacy.pattern_properties if schema.legacy is not None else ()
        matchers = [matcher(pattern) for pattern in patterns]
        return any(
            key in old and (key in schema.properties or any(matches(key) for matches in matchers)) for key in new
        )

    def run_status(
        self,
        new: JsonObject,
        old: JsonObject,
        *,
        ratchet: bool = True,
        rules: UpdateRules | None = None,
        known: Collection[Finding] | None = None,
    ) -> list[Finding]:
        """Judge an update of /status; `new` is the old object with the new status (and managedFields).

        The other arguments are those of `run`; lists are always compared with the old ones.

        Source: apiextensions-apiserver pkg/registry/customresource/status_strategy.go.
        """
        create = self.create
        twin = CorrelatedObject(new, old, create.version.structural) if ratchet else None
        findings = create.check_type_meta(new)
        if not findings:
            findings = self.check_metadata(new, old, known)
            if known is None or status_may_fail(known):
                if twin is not None and known is not None:
                    twin.faults = create.faults_of(new)
                findings += self._status(new, old, twin)
            findings += check_scale_status(new, create.version.scale)
        findings += self._list_types(new, old, known, ratchet=True)
        return findings + self._rules(findings, new, old, twin, rules)

    def _status(self, new: JsonObject, old: JsonObject, twin: CorrelatedObject | None) -> list[Finding]:
        schema = self.create.root.schema.properties.get("status")
        if schema is None or "status" not in new:
            return []
        below = None
        if twin is not None and twin.schema is not None:
            # Without an old status the server starts a new correlation, with null as the old value.
            below = twin.key("status") or CorrelatedObject(new["status"], old.get("status"), schema)
        return validate_value(self.create.nodes[schema], new["status"], below, prefix="status")

    def _list_types(
        self, new: JsonObject, old: JsonObject, known: Collection[Finding] | None, *, ratchet: bool
    ) -> list[Finding]:
        if known is not None and (ratchet or not any(finding.check == "list-type" for finding in known)):
            return []
        findings = self.create.check_list_types(new)
        return [] if findings and ratchet and self.create.check_list_types(old) else findings

    def _rules(
        self,
        found: list[Finding],
        new: JsonObject,
        old: JsonObject,
        twin: CorrelatedObject | None,
        rules: UpdateRules | None,
    ) -> list[Finding]:
        if rules is None or not self.create.has_rules:
            return []
        return [rules_not_checked()] if has_blocking(found) else rules(new, old, twin)

    def check_metadata(
        self, new: JsonObject, old: JsonObject, known: Collection[Finding] | None = None
    ) -> list[Finding]:
        """Check metadata as the strategy does.

        Args:
            new: The new object.
            old: The old object.
            known: As in `run`.
        """
        if known is not None:
            return unique([*self._read_metadata(new["metadata"], old["metadata"], known)[1]])
        new_metadata, findings = read_metadata(new)
        if findings:
            return findings
        old_metadata, findings = read_metadata(old)
        return findings or unique(check_metadata_update(new_metadata, old_metadata))

    def check_common(self, new: JsonObject, old: JsonObject, known: Collection[Finding] | None = None) -> list[Finding]:
        """Check metadata as the generic registry does before every update, also of /status; never ratcheted.

        Args:
            new, old, known: As in `check_metadata`.

        Source: apiserver pkg/registry/rest/update.go (BeforeUpdate).
        """
        if known is not None:
            common, update = self._read_metadata(new["metadata"], old["metadata"], known)
            return common + update
        new_metadata, findings = read_metadata(new)
        if findings:
            return findings
        old_metadata, findings = read_metadata(old)
        if findings:
            return findings
        namespaced = self.create.definition.namespaced
        return check_metadata(new_metadata, namespaced=namespaced, name_rule=path_segment) + check_metadata_update(
            new_metadata, old_metadata
        )

    def _read_metadata(
        self, new: JsonObject, old: JsonObject, known: Collection[Finding]
    ) -> tuple[list[Finding], list[Finding]]:
        """Return the findings of metadata as on a create and as on an update; the last result is cached.

        An unchanged update has findings only in fields in which a create has some; but its check of a generateName
        differs.
        """
        fields = self._faulty_fields(known)
        if not fields and "generateName" not in new:
            return [], []
        last = self._last
        if last is None or last[1] is not old or last[0] != new:
            if fields <= _FIELDS:
                part = {name: new[name] for name in ("generateName", *fields) if name in new}
            else:  # not about the metadata alone
                part, fields = new, _FIELDS
            namespaced = self.create.definition.namespaced
            common = check_metadata(part, namespaced=namespaced, name_rule=path_segment, fields=fields)
            last = self._last = ({**new}, old, common, check_metadata_update(new, old, part))
        return last[2], last[3]

    def has_faulty_managers(self, known: Collection[Finding]) -> bool:
        """Return whether an unchanged update may have findings about managedFields; `known` is as in `run`."""
        fields = self._faulty_fields(known)
        return "managedFields" in fields or not fields <= _FIELDS

    def _faulty_fields(self, known: Collection[Finding]) -> frozenset[str]:
        """Return the fields of metadata in which a create has findings; other fields if these are not about metadata.

        The result of the last findings is cached.
        """
        if known is not self._faulty[0]:
            about = [finding.field for finding in known if finding.check in _ABOUT_METADATA]
            self._faulty = known, frozenset(_metadata_field(field) for field in about)
        return self._faulty[1]


_ABOUT_METADATA: Final = frozenset({"type-meta", "object-meta"})
"""Checks that have findings about metadata, or prevent other checks of it."""
_FIELD: Final = re.compile(r"metadata\.(\w+)")
_FIELDS: Final = frozenset(
    {
        *("annotations", "finalizers", "generateName", "generation", "labels", "managedFields", "name", "namespace"),
        "ownerReferences",
    }
)
"""Fields of metadata in which a create may have findings."""


def _metadata_field(field: str) -> str:
    """Return the name of the field of metadata that a finding is about; the whole field if it is about another."""
    inside = _FIELD.match(field)
    return field if inside is None else inside[1]


def status_may_fail(known: Collection[Finding]) -> bool:
    """Return whether the schema may have findings below the status; findings of a oneOf have no field."""
    fields = {finding.field for finding in known if finding.check == "schema"}
    return "<nil>" in fields or "status" in {field[:6] for field in fields}
