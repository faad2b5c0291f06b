"""AuditProgram: judges one stored value and returns one AuditedObject.

There are two ways:

1. Proven. The generated program (`build`) reads the object and proves it valid in one pass, and generated rules prove
   that its validation rules hold (`rules`). Nearly all objects go this way.
2. Not proven, for any reason. What generated code did to the object is thrown away: its bytes are decoded again, and
   the reference reads and judges them.

The generated code never says what is wrong, nor where; only the reference does, in the server's words. A caller that
needs only the rows of valid objects calls `AuditProgram.typed` first (`auditor.shards.fast_path`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson
from msgspec import UNSET

from auditor.base.errors import SelectorError, TooMuchToReport
from auditor.base.paths import check_paths
from auditor.base.records import AuditedObject, Finding, Unreadable
from auditor.fastpath.dicts.build import VersionProgram, build_version
from auditor.fastpath.dicts.fallbacks import Fallbacks, Part, Reason, fallback_of
from auditor.fastpath.dicts.metadata import metadata_prover
from auditor.fastpath.dicts.scope import SchemaNotEmittable
from auditor.fastpath.dicts.support import Log, NotProven
from auditor.fastpath.rules.prover import RuleProver
from auditor.releases import changes
from auditor.schema.structural import StructuralSchema
from auditor.selectors.selectable_fields import selectable
from auditor.storage_read.read import read_object
from auditor.validation.create import CreateValidator, ProvenPart
from auditor.validation.rules import RuleProgram, servable

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition
    from auditor.fastpath.dicts.build import Run
    from auditor.fastpath.dicts.fallbacks import Fallback
    from auditor.fastpath.records.typed import TypedProgram
    from auditor.storage_read.read import ReadResult

    RuleHook = Callable[[JsonObject], list[Finding]]


RECORDS_AFTER: Final = 60
"""Number of objects of a version after which records of its schema are generated.

Generating them takes 2 to 7 ms and saves 20 us an object, and 70 us one with a fault that no other code need look for.
"""


class Judgement(NamedTuple):
    """The judgement of a program on one value.

    Attributes:
        audited: The object as read, with its findings.
        effect: The changes that the read made to its metadata (`rewritten_metadata`).
        proven: Whether generated code proved it valid.
    """

    audited: AuditedObject
    effect: str
    proven: bool = False

    @property
    def unevaluated(self) -> int:
        """Number of validation rules that a server would run and this audit did not."""
        return self.audited.unevaluated_rules


class AuditProgram:
    """Audits values at one version of a definition. Not thread-safe.

    Args:
        definition: The definition that owns the keys of the values.
        version: The version at which they are read and judged.
        compiled: Whether to use generated code; else the reference judges all values.
        rules: Whether to evaluate validation rules. Without them `AuditedObject.unevaluated_rules` is the number of
            rules of the version; with them it is the number of those that do not compile, and all where an object takes
            too long.
        warm_up: Number of values that the reference judges before code is generated, as generating it for few takes
            longer.

    Attributes:
        rule_program: The validation rules of the version; None if there are none or `rules` was False.
        rules: Evaluators of validation rules, called with the read object.
        total: Values audited.
        proven: How many of them were proven.
        fallbacks: Why the others were not, by reason, after the warm-up.
    """

    def __init__(
        self,
        definition: CustomResourceDefinition,
        version: CrdVersion,
        *,
        compiled: bool = True,
        rules: bool = True,
        warm_up: int = 0,
    ) -> None:
        self.definition = servable(definition)
        if self.definition is not definition:
            version = self.definition.versions[version.name]
        self.version = version
        self.compiled = compiled
        self.warm_up = warm_up
        self.rule_program = RuleProgram.of(version.structural) if rules else None
        self.rules: list[RuleHook] = [] if self.rule_program is None else [self.rule_program.run]
        self.total = self.proven = 0
        self.fallbacks = Fallbacks()
        self._failed: Fallback | None = None
        self._api_version = f"{definition.group}/{version.name}"
        self._left_out = 0 if rules else count_rules(version.structural)
        self._log = Log()
        self._program: VersionProgram | None = None
        self._typed: TypedProgram | None = None
        self._is_typed_known = False
        self._converting: dict[str, tuple[VersionProgram, VersionProgram] | None] = {}
        self._validator: CreateValidator | None = None
        self._rule_prover: RuleProver | None = None
        self._null_times = not changes.NO_NULL_TIMES.holds

    # -- its parts --------------------------------------------------------------------------------------------------

    @property
    def unevaluated_rules(self) -> int:
        """Number of rules without a result for the last judged object."""
        return self._left_out if self.rule_program is None else self.rule_program.unevaluated()

    @property
    def is_cold(self) -> bool:
        """Whether so few objects were judged that generating code takes longer than it saves."""
        return 0 < self.warm_up >= self.total

    def gave_up(self, unevaluated: int) -> bool:
        """Return from the unevaluated rules of an object or an update whether its rules took too much time or memory.

        Rules that do not compile also count as unevaluated; they have a finding of their own.
        """
        return self.rule_program is not None and unevaluated > len(self.rule_program.broken)

    @property
    def source(self) -> str:
        """The generated source of the version's own program, and of its rules."""
        rules = [self.prover.module.source] if self.rules else []
        return "\n\n".join([self._own().module.source, *rules])

    @property
    def validator(self) -> CreateValidator:
        """The reference validator."""
        if self._validator is None:
            self._validator = CreateValidator(self.definition, self.version)
        return self._validator

    @property
    def prover(self) -> RuleProver:
        """The prover of the rules of an object, if the version has rules."""
        if self._rule_prover is None:
            assert self.rule_program is not None
            self._rule_prover = RuleProver(self.rule_program, self.definition, self.version, self.fallbacks)
        return self._rule_prover

    def _own(self) -> VersionProgram:
        if self._program is None:
            self._program = build_version(self.definition, self.version)
        return self._program

    def typed(self, after: int = RECORDS_AFTER) -> TypedProgram | None:
        """Return the program that proves objects from their bytes; None if there is none or it does not pay yet.

        The caller that proves an object with it counts it: in `total` and in `proven`.

        Args:
            after: How many objects must have been judged after the warm-up.
        """
        is_due = max(self.total - self.warm_up, self.proven) >= after
        if not self._is_typed_known and self.compiled and is_due:
            from auditor.fastpath.records.typed import TypedProgram  # noqa: PLC0415 - a start does not need it

            self._is_typed_known = True
            if self._own().run is not None:
                rules = self.prover if self.rules else None
                try:
                    self._typed = TypedProgram(self.definition, self.version, rules, self.fallbacks)
                except SchemaNotEmittable as error:
                    self.fallbacks.note(Part.RECORD, Reason.DEFINITION, str(error))
                except Exception as error:  # noqa: BLE001 - without it the other ways judge the same
                    self.fallbacks.caught(Part.RECORD, error)
        return self._typed if is_due else None

    def count_anew(self) -> None:
        """Reset the counts, for another dump; generated code remains."""
        self.total = self.proven = 0
        self.fallbacks.take()

    def reference(self) -> AuditProgram:
        """Return a program of the same version that uses no generated code; compiled rules are shared with it."""
        exact = AuditProgram(self.definition, self.version, compiled=False, rules=False)
        if self.rule_program is not None:
            exact.rule_program, exact.rules, exact._left_out = self.rule_program, [self.rule_program.run], 0
        return exact

    def for_reads(self) -> AuditProgram:
        """Return a program of the same version that only reads: generated code is shared, counts are its own."""
        program = AuditProgram(self.definition, self.version, rules=False)
        program._program, program._converting = self._own(), self._converting
        return program

    # -- auditing ---------------------------------------------------------------------------------------------------

    def audit(self, data: bytes, decoded: Any = None) -> AuditedObject:
        """Return the audited object of one stored value; see `judge`."""
        return self.judge(data, decoded).audited

    def judge(self, data: bytes, decoded: Any = None) -> Judgement:
        """Judge one stored value.

        Args:
            data: The stored bytes, decrypted.
            decoded: The document that orjson decoded from them, if the caller has it and needs it no longer: it is
                changed in place.
        """
        self.total += 1
        if not self.compiled:
            return self._by_reference(data, self._failed, decoded)
        try:
            return self._by_program(data, decoded)
        except (OSError, TooMuchToReport):
            raise
        except Exception as error:  # noqa: BLE001 - code that cannot be made, or fails: the reference needs none
            self._log.clear()
            self.compiled = False
            self._failed = fallback_of(Part.OBJECT, error)
            return self._by_reference(data, self._failed)

    def judge_refused(self, data: bytes, reason: Reason, decoded: Any = None) -> Judgement:
        """Judge one stored value by the reference, because a typed program says that no generated code can prove it.

        Args:
            data, decoded: As of `judge`.
            reason: The reason to count (`TypedProgram.refusal`).
        """
        self.total += 1
        return self._by_reference(data, (Part.OBJECT, reason, ""), decoded)

    def _by_program(self, data: bytes, decoded: Any) -> Judgement:
        """Judge one stored value by generated code, if there is some; see `judge`."""
        log = self._log
        if self.is_cold:
            return self._by_reference(data, None, decoded)
        program = self._own()
        run = program.run
        if run is None:
            return self._by_reference(data, (Part.OBJECT, Reason.DEFINITION, program.reason))
        try:
            obj = orjson.loads(data) if decoded is None else decoded
            stored_version, is_proven = self._read(obj, run, len(data))
        except TooMuchToReport:
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the reference can name it
            log.clear()
            return self._by_reference(data, fallback_of(Part.OBJECT, error))
        pruned = log.pruned_paths() if log.pruned else ()
        defaulted = log.defaulted_paths() if log.defaulted else ()
        effect = log.effect
        log.clear()
        if is_proven is None:
            findings = self.validator.run(obj, self._rules_on(data, typed=True), ProvenPart.BODY)
            self.fallbacks.note(Part.OBJECT, Reason.METADATA, valid=not findings)
            return Judgement(self._audited(obj, pruned, defaulted, findings, stored_version, program.select), effect)
        if not is_proven:
            return self._by_reference(data, (Part.OBJECT, Reason.SCHEMA, ""))
        if self.rules and (why := self._why_rules_fail(obj, data)) is not None:
            return self._by_reference(data, why)
        self.proven += 1
        audited = self._audited(obj, pruned, defaulted, [], stored_version, program.select)
        return Judgement(audited, effect, proven=True)

    def proven_object(self, data: bytes) -> tuple[JsonObject, str] | None:
        """Return the object that a storage read gives for a stored value; None if generated code does not prove it.

        Its rules are not evaluated: a read does not depend on them.

        Returns:
            (the object, the version that it is stored at)
        """
        self.total += 1
        if self.is_cold or (run := self._own().run) is None:
            return None
        log = self._log
        try:
            obj: JsonObject = orjson.loads(data)
            stored_version, is_proven = self._read(obj, run, len(data))
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong, the reference can name it
            self.fallbacks.caught(Part.OBJECT, error)
            return None
        finally:
            log.clear()
        self.proven += is_proven is True
        return (obj, stored_version) if is_proven else None

    def _read(self, obj: JsonObject, run: Run, size: int) -> tuple[str, bool | None]:
        """Read and prove an object in place.

        Returns:
            The version that it is stored at, and what is proven, as by `run`.
        """
        check_paths(obj, size)
        stored = obj["apiVersion"]
        is_own = stored == self._api_version
        read = (self.version.name, run(obj, self._log, size)) if is_own else self._convert(obj, stored, size)
        if self._null_times:
            obj["metadata"].setdefault("creationTimestamp", None)
        return read

    def proven_names(self, data: bytes) -> JsonObject | None:
        """Do as `proven_object`, but return apiVersion, kind, and of the metadata the namespace and name alone."""
        typed = self.typed()
        made = None if typed is None else typed.prove(data)
        if made is not None:
            self.total += 1
            self.proven += 1
            return self._with_names(made.metadata.namespace, made.metadata.name)
        if typed is not None and typed.refusal is not None:
            self.total += 1
            return None
        read = self.proven_object(data)
        if read is None:
            return None
        metadata = read[0]["metadata"]
        return self._with_names(metadata.get("namespace", UNSET), metadata["name"])

    def _with_names(self, namespace: Any, name: str) -> JsonObject:
        metadata = {"name": name} if namespace is UNSET else {"namespace": namespace, "name": name}
        return {"apiVersion": self._api_version, "kind": self.definition.kind, "metadata": metadata}

    def proves(self, data: bytes) -> bool:
        """Return whether generated code proves an object valid that a read leaves as it is, except defaults."""
        run, log = self._own().run, self._log
        if run is None or (self.rule_program is not None and self.rule_program.broken):
            return False
        try:
            if (typed := self.typed()) is not None:
                if typed.prove(data) is not None:
                    return not typed.pruned
                if typed.refusal is not None:
                    return False
            obj = orjson.loads(data)
            check_paths(obj, len(data))
            is_proven = obj["apiVersion"] == self._api_version and bool(run(obj, log, len(data)))
            is_same = not log.pruned and not log.effect
            is_proven = is_proven and is_same and (not self.rules or self._why_rules_fail(obj, data) is None)
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 - not known
            self.fallbacks.caught(Part.OBJECT, error)
            return False
        finally:
            log.clear()
        self.proven += is_proven
        return is_proven

    def _convert(self, obj: JsonObject, stored: str, size: int) -> tuple[str, bool]:
        """Read an object stored at another version.

        Returns:
            That version, and whether the object is proven valid at this one.

        Raises:
            Refused: Only the reference can read it.
        """
        if stored not in self._converting:
            self._converting[stored] = self._build_conversion(stored)
        programs = self._converting[stored]
        if programs is None:
            raise NotProven(reason=Reason.CONVERSION)
        log = self._log
        first, second = programs
        assert first.run is not None
        assert second.run is not None
        if not first.run(obj, log, size):
            return stored, False
        obj["apiVersion"] = self._api_version
        before = len(log.pruned)
        is_proven = bool(second.run(obj, log, size))
        if len(log.pruned) > before and log.defaulted:
            raise NotProven("a default that the conversion may drop")
        return stored.rpartition("/")[2], is_proven

    def _build_conversion(self, stored: str) -> tuple[VersionProgram, VersionProgram] | None:
        definition = self.definition
        group, _, name = stored.rpartition("/")
        version = definition.versions.get(name)
        if version is None or group != definition.group or definition.conversion == "Webhook":
            return None
        programs = build_version(definition, version), build_version(definition, self.version, defaults=False)
        return None if any(program.run is None for program in programs) else programs

    def rules_hold(self, obj: JsonObject) -> bool:
        """Return True if every rule of a create is proven for an object that was read; False if that is not known."""
        if not self.rules:
            return True
        if not self.compiled:
            return False
        try:
            return self.prover.is_typed(obj) and self.prover.hold(obj, orjson.dumps(obj))
        except Exception as error:  # noqa: BLE001 - not known: the interpreter decides
            self.fallbacks.caught(Part.RULES, error)
            return False

    def _why_rules_fail(self, obj: JsonObject, data: bytes) -> Fallback | None:
        """Return why the rules of an object are not proven; None if they are. Which one it is, the reference tells."""
        try:
            return None if self.prover.hold(obj, data) else (Part.OBJECT, Reason.RULES, "")
        except Exception as error:  # noqa: BLE001 - not known: the reference decides
            return Part.OBJECT, Reason.RULES, type(error).__name__

    def _rules_on(self, data: bytes, *, typed: bool = False) -> RuleHook | None:
        """Return the evaluator of the rules of an object that was read from some bytes; None if there are none."""
        if not self.rules:
            return None
        if self.compiled and not self.is_cold:
            return lambda obj: self.prover.findings(obj, data, typed=typed)
        return lambda obj: [finding for rule in self.rules for finding in rule(obj)]

    def _by_reference(self, data: bytes, why: Fallback | None, decoded: Any = None) -> Judgement:
        """Judge one stored value by the reference.

        Args:
            data: The stored bytes.
            why: The reason to count; None if there is no generated code yet, or none is wanted.
            decoded: As of `judge`, as it was decoded.
        """
        proves = metadata_prover(data, namespaced=self.definition.namespaced) if self.compiled else None
        judgement = self._judged(read_object(self.definition, self.version.name, data, decoded, proves), data)
        if why is not None:
            audited = judgement.audited
            self.fallbacks.counts[why, audited.object is not None and not audited.findings] += 1
        return judgement

    def _judged(self, result: ReadResult, data: bytes) -> Judgement:
        if result.unreadable is not None or result.object is None:
            reason = Unreadable(result.unreadable or "")
            stored = result.stored_version
            return Judgement(AuditedObject(reason, stored_version=stored, audited_version=self.version.name), "")
        proven = ProvenPart.METADATA if result.is_metadata_proven else None
        findings = self.validator.run(result.object, self._rules_on(data), proven)
        audited = self._audited(result.object, result.pruned, result.defaulted, findings, result.stored_version)
        return Judgement(audited, result.effect)

    def _audited(
        self,
        obj: JsonObject,
        pruned: tuple[str, ...],
        defaulted: tuple[str, ...],
        findings: list[Finding] | None,
        stored_version: str | None,
        select: Callable[[JsonObject], dict[str, str]] | None = None,
    ) -> AuditedObject:
        """Return the record of an object.

        Args:
            obj, pruned, defaulted, findings, stored_version: Its parts; the findings in any order.
            select: Returns the selectable values; None for the function of the reference.
        """
        fields: dict[str, str] = {}
        select_error = None
        try:
            fields = select(obj) if select is not None else selectable(self.version, obj, self.definition.namespaced)
        except SelectorError as error:
            select_error = error.found
        if findings and len(findings) > 1:
            findings = sorted(findings, key=Finding.sort_key)
        return AuditedObject(
            None,
            obj,
            pruned,
            defaulted,
            tuple(findings) if findings else (),
            fields,
            stored_version,
            self.version.name,
            select_error,
            self.unevaluated_rules,
        )


def count_rules(schema: StructuralSchema | None) -> int:
    """Return the number of validation rules where the server evaluates rules: not below anyOf and the like."""
    if schema is None:
        return 0
    below = [*schema.properties.values(), schema.items, schema.additional_properties]
    return len(schema.rules) + sum(count_rules(child) for child in below if isinstance(child, StructuralSchema))
