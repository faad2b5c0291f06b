"""Decides which gates are on, and which guarded fields: a field is on only if the gates of all its parents are, too.

A server drops `spec.customFeatureGates` when it stores a definition, so dumps do not have it; a sidecar file does: it
maps names of definitions to their configurations. A field whose gate is off would be lost if its object were created
again, for example from a backup. The object itself is valid: these findings do not make it invalid.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import AuditorError, PlanError, SourceError
from auditor.base.given_file import read_given
from auditor.base.records import Finding
from auditor.gates.config import gate_config, parse_sidecar
from auditor.gates.paths import places
from auditor.golang.jsontext import encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.gates.config import FieldGate, GateConfig
    from auditor.gates.paths import GatePath


_ALL: Final = {"AllAlpha": "alpha", "AllBeta": "beta"}
_TRUE: Final = ("1", "t", "T", "TRUE", "true", "True")
_FALSE: Final = ("0", "f", "F", "FALSE", "false", "False")
_OPTION: Final = "--field-gates"


@dataclass(frozen=True, slots=True)
class GateState:
    """Whether a gate is on, and for which reason."""

    gate: FieldGate
    on: bool
    why: str


@dataclass(frozen=True, slots=True)
class GuardedPath:
    """A guarded field.

    Attributes:
        state: The state of the field's own gate.
        on: Whether this gate and the gates of all parents are on.
        blocked_by: The highest parent whose gate is off, or None.
    """

    path: GatePath
    state: GateState
    on: bool
    blocked_by: GatePath | None = None


@dataclass(frozen=True, slots=True)
class ResolvedGates:
    """The gates of one definition for one run.

    Attributes:
        name: The definition.
        states: One a gate, in the order of the configuration.
        paths: The guarded fields, parents before their children.
    """

    name: str
    component: str
    states: tuple[GateState, ...]
    paths: tuple[GuardedPath, ...]

    @property
    def off(self) -> tuple[GuardedPath, ...]:
        """The highest fields that are off; the fields below them are off, too."""
        return tuple(path for path in self.paths if not path.on and path.blocked_by is None)

    def published(self) -> list[JsonObject]:
        """Return the content of ``x-kubernetes-feature-gates``."""
        return [
            {
                "name": state.gate.name,
                "preRelease": state.gate.stage,
                "enabled": state.on,
                "fieldPaths": [str(path) for path in state.gate.paths],
            }
            for state in self.states
        ]


def parse_overrides(text: str) -> dict[str, bool]:
    """Parse ``Name=true,Other=false``; if a name is given several times, the last one counts.

    Raises:
        PlanError: A part is malformed.
    Source: k8s.io/component-base featuregate (Set).
    """
    made: dict[str, bool] = {}
    for part in text.split(","):
        if not part.strip():
            continue
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise PlanError(_OPTION, f"missing bool value for {name}", "Name=true or Name=false")
        if value not in _TRUE + _FALSE:
            raise PlanError(_OPTION, f"invalid value of {name}={value}", "true or false")
        made[name] = value in _TRUE
    return made


def check_overrides(configs: Iterable[GateConfig], overrides: Mapping[str, bool]) -> None:
    """Check overrides against all gates that exist.

    Raises:
        PlanError: No gate has such a name, or an override turns a stable gate off.
    """
    gates = [gate for config in configs for gate in config.gates]
    for name, value in overrides.items():
        named = [gate for gate in gates if gate.name == name]
        if name not in _ALL and not named:
            known = ", ".join(sorted({gate.name for gate in gates})) or "none"
            raise PlanError(_OPTION, f"unrecognized feature gate: {name}", f"one of: {known}")
        if not value and any(gate.stage == "stable" for gate in named):
            raise PlanError(_OPTION, f"cannot set feature gate {name} to false", "true: a stable gate is always on")


def resolve(config: GateConfig, overrides: Mapping[str, bool] | None = None) -> ResolvedGates:
    """Decide which gates of a definition are on.

    Args:
        config: The gates, without the unusable ones.
        overrides: Settings of this run by name of a gate, or AllAlpha, AllBeta.
    Raises:
        PlanError: An override turns a stable gate off.
    """
    asked = overrides or {}
    states = tuple(_state(gate, asked) for gate in config.gates)
    own = {path: state for state in states for path in state.gate.paths}
    paths = tuple(_guarded(path, own) for path in sorted(own, key=lambda one: (len(one.steps), one.steps)))
    return ResolvedGates(config.name, config.component, states, paths)


def _state(gate: FieldGate, asked: Mapping[str, bool]) -> GateState:
    if gate.stage == "stable":
        if asked.get(gate.name) is False:
            reason = f"cannot set feature gate {gate.name} to false"
            raise PlanError(_OPTION, reason, "true: a stable gate is always on")
        return GateState(gate, on=True, why="stable")
    if gate.name in asked:
        return GateState(gate, asked[gate.name], f"{_OPTION} {gate.name}={str(asked[gate.name]).lower()}")
    for name, stage in _ALL.items():
        if name in asked and gate.stage == stage:
            return GateState(gate, asked[name], f"{_OPTION} {name}={str(asked[name]).lower()}")
    if gate.enabled is not None:
        return GateState(gate, gate.enabled, f"enabled: {str(gate.enabled).lower()}")
    if gate.default is not None:
        return GateState(gate, gate.default, f"default: {str(gate.default).lower()}")
    return GateState(gate, on=False, why=f"{gate.stage or 'no stage'}, and no default")


def _guarded(path: GatePath, own: Mapping[GatePath, GateState]) -> GuardedPath:
    above = sorted((guarded for guarded in own if guarded.is_above(path)), key=lambda one: len(one.steps))
    blocked = next((path for path in above if not own[path].on), None)
    return GuardedPath(path, own[path], own[path].on and blocked is None, blocked)


GATED_FIELD_IN_USE: Final = "GatedFieldInUse"
DEPRECATED_FIELD_IN_USE: Final = "DeprecatedFieldInUse"
_LONGEST: Final = 200


def fields_in_use(gates: ResolvedGates, obj: Any) -> list[Finding]:
    """Return a finding for every field in use whose gate is off or deprecated.

    Args:
        gates: The gates, with the fields that are on.
        obj: The object as stored, without defaults.
    """
    return [
        _finding(path, where, value)
        for path in gates.paths
        if not path.on or path.state.gate.stage == "deprecated"
        for where, value in places(obj, path.path.steps)
    ]


def _finding(one: GuardedPath, where: str, value: Any) -> Finding:
    gate = one.state.gate
    shown = encode(value)
    shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."
    lost = "a write that makes the object anew loses the field"
    if one.on:
        state = f"gate {gate.name} ({gate.stage}) is on"
    elif one.blocked_by is not None:
        state = f"gate {gate.name} ({gate.stage}) counts for nothing, because {one.blocked_by} is off: {lost}"
    else:
        state = f"gate {gate.name} ({gate.stage}) is off ({one.state.why}): {lost}"
    if gate.stage == "deprecated":
        detail = f"{gate.warning}; {state}" if gate.warning else f"deprecated; {state}"
        return Finding(where, DEPRECATED_FIELD_IN_USE, value, detail, f"{where}: Deprecated: {shown}: {detail}", "gate")
    return Finding(where, GATED_FIELD_IN_USE, value, state, f"{where}: Gated: {shown}: {state}", "gate")


def read_sidecars(paths: tuple[str, ...]) -> dict[str, Any]:
    """Return all sidecar files as one mapping; if two configure the same definition, the later counts.

    Raises:
        SourceError: A file cannot be read, or is not a mapping.
    """
    from auditor.sources.yaml import yaml_to_json  # noqa: PLC0415 - most runs read no sidecar

    made: dict[str, Any] = {}
    for path in paths:
        try:
            made |= parse_sidecar(yaml_to_json(read_given(path)))
        except (OSError, ValueError) as error:
            raise SourceError(
                path, str(error), "a mapping of names of definitions to their customFeatureGates"
            ) from None
        except AuditorError as error:
            raise SourceError(path, error.found, "YAML or JSON") from None
    return made


def gate_configs(
    definitions: Mapping[str, CustomResourceDefinition], sidecars: Mapping[str, Any]
) -> dict[str, GateConfig]:
    """Return the configurations of all definitions that have gates, or warnings about them, by name."""
    made = {name: gate_config(definition, sidecars) for name, definition in definitions.items()}
    return {name: config for name, config in made.items() if config.gates or config.findings or config.warnings}


def resolved_gates(
    definitions: Mapping[str, CustomResourceDefinition], sidecars: Mapping[str, Any], field_gates: str
) -> dict[str, ResolvedGates]:
    """Return which gates are on, by definition.

    Raises:
        PlanError: An override fits no gate, or a configuration is not valid.
    """
    configs = gate_configs(definitions, sidecars)
    overrides = parse_overrides(field_gates)
    check_overrides(configs.values(), overrides)
    for name, config in configs.items():
        if config.findings:
            first = config.findings[0]
            raise PlanError(
                name, f"its gates are not valid: {first.message}", advice="auditor gates check lists all faults"
            )
    return {name: resolve(config, overrides) for name, config in configs.items()}
