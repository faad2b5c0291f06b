"""Checks of authorization. No rule of a definition has an authorizer, so only the types of these functions matter.

An expression may call them on a value of any type (``dyn(x).allowed()``): that compiles, and fails on every object.

Source: k8s.io/apiserver pkg/cel/library/authz.go.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, NoReturn

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import BOOL, STRING, Type, object_type
from auditor.cel.estimate.call_costs import LIST_BASE, Operand, Priced, fixed
from auditor.cel.function import UNIT, Costs, Function, Overload
from auditor.cel.library.prices import REQUIREMENT
from auditor.cel.operations.cost import LIST, TEXT, size, text_cost
from auditor.cel.operations.equality import NO_SUCH_OVERLOAD

if TYPE_CHECKING:
    from collections.abc import Sequence


_AUTHORIZER, _PATH, _GROUP, _RESOURCE, _DECISION = (
    object_type(f"kubernetes.authorization.{name}")
    for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
)


_AUTHORIZATION = 350_000
"""Cost of checking whether a user may do something."""


def _selector_cost(args: Sequence[Any], _result: Any, _overload: str) -> int:
    length = size(args[1])
    return LIST + text_cost(length) + ceil(length * 0.5) * REQUIREMENT


def _selector_price(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced:
    length = args[0].bound
    return Priced(LIST_BASE + length.scaled(TEXT) + length.scaled(0.5).scaled(float(REQUIREMENT)))


_CHECK = Costs(
    lambda _args, _result, _overload: _AUTHORIZATION,
    lambda _target, _args, _overload: Priced(fixed(_AUTHORIZATION)),
    is_bounded=False,
)
_SELECTOR = Costs(_selector_cost, _selector_price, is_bounded=False)


def _never(*_values: object) -> NoReturn:
    raise CelError(NO_SUCH_OVERLOAD)


def _overload(key: str, receiver: Type, texts: int, result: Type) -> Overload:
    return Overload(key, (receiver, *[STRING] * texts), result, _never)


def _member(name: str, *overloads: Overload, costs: Costs = UNIT) -> Function:
    return Function(name, member=True, overloads=overloads, costs=costs)


def functions() -> tuple[Function, ...]:
    """Return the functions of the library."""
    return (
        _member("path", _overload("authorizer_path", _AUTHORIZER, 1, _PATH)),
        _member("group", _overload("authorizer_group", _AUTHORIZER, 1, _GROUP)),
        _member("serviceAccount", _overload("authorizer_serviceaccount", _AUTHORIZER, 2, _AUTHORIZER)),
        _member("resource", _overload("groupcheck_resource", _GROUP, 1, _RESOURCE)),
        _member("subresource", _overload("resourcecheck_subresource", _RESOURCE, 1, _RESOURCE)),
        _member("namespace", _overload("resourcecheck_namespace", _RESOURCE, 1, _RESOURCE)),
        _member("name", _overload("resourcecheck_name", _RESOURCE, 1, _RESOURCE)),
        _member(
            "check",
            _overload("pathcheck_check", _PATH, 1, _DECISION),
            _overload("resourcecheck_check", _RESOURCE, 1, _DECISION),
            costs=_CHECK,
        ),
        _member("errored", _overload("decision_errored", _DECISION, 0, BOOL)),
        _member("error", _overload("decision_error", _DECISION, 0, STRING)),
        _member("allowed", _overload("decision_allowed", _DECISION, 0, BOOL)),
        _member("reason", _overload("decision_reason", _DECISION, 0, STRING)),
    )


def selector_functions() -> tuple[Function, ...]:
    """Return the functions that narrow a check by selectors."""
    return tuple(
        _member(name, _overload(f"authorizer_{name.lower()}", _RESOURCE, 1, _RESOURCE), costs=_SELECTOR)
        for name in ("fieldSelector", "labelSelector")
    )
