"""A predicate as generated code: true or false, or not proven; then the interpreter decides.

The interpreter alone has values that are no bool, errors and costs. The code is made after some objects: making it for
few takes longer than it saves.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import orjson

from auditor.cel.emit import RuleModule, emit_predicate
from auditor.codegen import FunctionWriter, Module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from auditor.base.records import JsonObject
    from auditor.cel.check.checked import CheckedExpression
    from auditor.cel.declarations import Declarations
    from auditor.cel.emit import RuleCode


WARM_UP: Final = 50
"""Number of first objects that the interpreter decides."""


class WhereCode:
    """Generated code of one predicate.

    Args:
        environment: The environment in which it was checked.
        checked: The predicate.
        names: The fields at the top of objects that are variables; ``self`` is the whole object.
        most: The cost that the evaluation may not exceed.

    Attributes:
        undecided: What was raised where the code was made or did not decide, and how often.
    """

    def __init__(self, environment: Declarations, checked: CheckedExpression, names: Iterable[str], most: int) -> None:
        self._made = (environment, checked)
        self._variables = {name: f"o[{name!r}]" for name in names} | {"self": "o"}
        self._most = most
        self.undecided: Counter[str] = Counter()
        self._left = WARM_UP
        self._run: Callable[[JsonObject], object] | None = None
        self._is_cheap: list[bool] = []

    def decide(self, obj: JsonObject) -> bool | None:
        """Return whether an object is selected, or None if that is not proven."""
        if self._left:
            self._left -= 1
            if not self._left:
                self._make()
            return None
        if self._run is None:
            return None
        try:
            if self._is_cheap and not self._is_cheap[len(orjson.dumps(obj)).bit_length()]:
                return None
            value = self._run(obj)
        except Exception as error:  # noqa: BLE001 - an error, or a value of another type: the interpreter decides
            self.undecided[type(error).__name__] += 1
            return None
        return value if type(value) is bool else None

    def _make(self) -> None:
        """Make the code, if it can be made."""
        environment, checked = self._made
        module = Module("--where")
        try:
            code = emit_predicate(environment, checked, self._variables, RuleModule(module))
            self._run = module.compile(module.function(lambda name: _source(name, code)))
        except Exception as error:  # noqa: BLE001 - there is no code for it: the interpreter decides
            self.undecided[str(error)] += 1
            return
        if code.cost.degree:  # else it does not depend on the size of objects
            self._is_cheap = [code.cost.at(1 << bits) <= self._most for bits in range(64)]
        elif code.cost.at(0) > self._most:
            self._run = None


def _source(name: str, code: RuleCode) -> str:
    w = FunctionWriter()
    with w.block(f"def {name}(o):"):
        w.line(f"return {code.test}")
    return w.source
