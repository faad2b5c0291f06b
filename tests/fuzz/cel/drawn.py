"""Batches of drawn rules: typed expressions over every type, expressions that cost too much, costs to the unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.cel.cel_errors import CompileError
from auditor.cel.kubernetes import kubernetes_environment, latest
from auditor.schema.parse import parse_schema
from auditor.validation.rules import cel_type, declare
from auditor.validation.rules.adapters import Adapters
from tests.fuzz.cel.batches import Batch, definition, foo
from tests.fuzz.cel.expressions import Drawer, is_shown
from tests.fuzz.cel.nested import spoiled
from tests.fuzz.cel.objects import RICH, draw

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from auditor.cel.cel_types import Type
    from auditor.cel.environment import Environment

__all__ = ["drawn_batches", "environment", "limit_batches", "price_batches"]

_DECLARED = declare(parse_schema(RICH), is_resource=False)
assert _DECLARED is not None
_SELF, _OBJECTS = cel_type(_DECLARED, latest())
_FIELDS = {each.name: dict(each.fields) for each in _OBJECTS}
_PER_CALL = 1_000_000


def environment() -> Environment:
    """Return the environment of rules over `RICH`, of the release that is reproduced at the moment."""
    return kubernetes_environment({"self": _SELF, "oldSelf": _SELF}, _OBJECTS)


def variables(root: str = "self") -> list[tuple[str, Type]]:
    """Return what can be read of an object of `RICH`: fields, fields of fields, items, optional ones."""
    found: list[tuple[str, Type]] = []
    for name, kind in _FIELDS["selfType"].items():
        found.append((f"{root}.{name}", kind))
        for field, inner in _FIELDS.get(kind.name, {}).items():
            found.append((f"{root}.{name}.{field}", inner))
        if kind.name == "list":
            found.append((f"{root}.{name}[0]", kind.parameters[0]))
            found += [
                (f"{root}.{name}[0].{field}", inner)
                for field, inner in _FIELDS.get(kind.parameters[0].name, {}).items()
            ]
        if kind.name == "map":
            found += [(f"{root}.{name}.a", kind.parameters[1]), (f"{root}.{name}['b']", kind.parameters[1])]
    return found


def _compiles(text: str) -> bool:
    try:
        environment().compile(text)
    except CompileError:
        return False
    return True


def _rule(random: Random, drawer: Drawer, turn: int) -> dict[str, Any]:
    text, kind = drawer.root(turn)
    if kind.name == "bool" and random.random() < 0.6:
        return {"rule": text}
    if is_shown(kind) and random.random() < 0.5:
        return {"rule": random.choice(["false", "self.i > 100"]), "messageExpression": f"'%s'.format([{text}])"}
    other = text if random.random() < 0.3 else drawer.of(kind, 1)
    return {"rule": f"{text} {random.choice(['==', '!='])} {other}"}


def drawn_batches(random: Random, rules: int, evaluations: int) -> Iterator[Batch]:
    """Yield batches of `rules` rules until there are so many evaluations; about one in six judges updates."""
    turn = made = number = 0
    while made < evaluations:
        number += 1
        is_update = number % 6 == 0
        readable = variables() + (variables("oldSelf") if is_update else [])
        drawer = Drawer(random, readable)
        batch = Batch(f"drawn{number}", {}, [], is_update=is_update)
        chosen: list[dict[str, Any]] = []
        refused = 0
        while len(chosen) < rules:
            rule = _rule(random, drawer, turn)
            turn += 1
            if not _compiles(rule.get("messageExpression", rule["rule"])):
                refused += 1
                if refused > 2:
                    continue
            chosen.append(rule)
        batch.rules = [rule["rule"] + " " + rule.get("messageExpression", "") for rule in chosen]
        batch.crd = definition(batch.name, RICH | {"x-kubernetes-validations": chosen})
        for index in range(25):
            pair = [draw(random, RICH, []) for _ in range(2 if is_update else 1)]
            if is_update and random.random() < 0.6:
                # What is wrong already is tolerated, so that rules see it.
                wrong = spoiled(random, spoiled(random, pair[0]))
                pair[0] = wrong if isinstance(wrong, dict) else pair[0]
                pair[1] = pair[0] | {
                    key: pair[1][key] for key in ("i", "s", "li") if key in pair[1] and random.random() < 0.3
                }
            batch.objects.append([foo(batch.name, each, index) for each in pair])
        made += len(chosen) * len(batch.objects)
        yield batch


_LISTS = [
    # rule over self (a list of integers), and lengths around that at which it meets the limit of one call
    ("self.all(x, self.all(y, x + y > -1))", (376, 377, 378)),
    ("self.exists(x, self.exists(y, x + y < -1))", (350, 400)),
    ("self.map(x, self.map(y, x + y)).size() > 0", (260, 280)),
    ("self.distinct().size() >= 0", range(704, 710)),
    ("self.sort().size() >= 0", range(704, 710)),
    ("sets.contains(self, self)", range(997, 1003)),
]
_TEXTS = [
    ("self.contains(self)", range(9_940, 10_060, 10)),
    ("self.matches('^(a|b|c|d|e|f|g|h|i|j)+$')", (999_000, 1_000_000, 1_111_090, 1_111_120)),
    ("[1,2,3,4,5,6,7,8,9,10].all(i, self.contains(self))", range(3_100, 3_200, 10)),
]


def limit_batches(random: Random) -> Iterator[Batch]:
    """Yield batches that meet the limit of one call, and that of an object."""
    numbers, text = {"type": "array", "items": {"type": "integer"}}, {"type": "string"}
    for number, (rule, lengths) in enumerate((*_LISTS, *_TEXTS)):
        kind = numbers if number < len(_LISTS) else text
        heavy = kind | {"x-kubernetes-validations": [{"rule": rule}, {"rule": "self.size() < 0"}]}
        batch = Batch(f"call{number}", {}, [rule, "self.size() < 0"], is_heavy=True)
        batch.crd = definition(batch.name, {"type": "object", "properties": {"a": heavy}})
        for index, length in enumerate(lengths):
            value: Any = list(range(length)) if kind is numbers else "a" * length
            batch.objects.append([foo(batch.name, {"a": value}, index)])
        yield batch
    rule, message = "!self.contains(self)", "string(self.contains(self))"
    items = text | {"x-kubernetes-validations": [{"rule": rule, "messageExpression": message}]}
    batch = Batch("budget", {}, [rule + message], is_heavy=True)
    batch.crd = definition("budget", {"type": "object", "properties": {"a": {"type": "array", "items": items}}})
    for index in range(45):
        length = random.choice([3_170, 9_000, 9_990])
        texts = ["a" * (length + random.randint(-30, 9))] * random.randint(4, 120)
        batch.objects.append([foo("budget", {"a": texts}, index)])
    yield batch


def price_batches(random: Random, count: int) -> Iterator[Batch]:
    """Yield batches that hold the price of an expression against the limit to the unit.

    The expression is repeated as often as the limit just allows, by our own count, and once more.
    """
    drawer = Drawer(random, variables())
    made = turn = 0
    while made < count:
        text, _ = drawer.root(random.randrange(len(drawer.turns)))
        turn += 1
        value = draw(random, RICH, [])
        times = _most_times(text, value)
        if times is None:
            continue
        batch = Batch(f"price{turn}", {}, [], is_heavy=True)
        repeated = [f"lists.range({each}).all(i, type({text}) == int || true)" for each in (times, times + 1)]
        batch.rules = repeated
        schema = RICH | {"x-kubernetes-validations": [{"rule": rule} for rule in repeated]}
        batch.crd = definition(batch.name, schema)
        batch.objects.append([foo(batch.name, value, 0)])
        made += 1
        yield batch


def _most_times(text: str, value: Any) -> int | None:
    """Return how often an expression can be computed within the limit, None if that is too often to be tried."""
    found = Adapters().of(parse_schema(RICH))(value)
    costs = []
    for each in (0, 1, 2):
        try:
            program = environment().compile(f"lists.range({each}).all(i, type({text}) == int || true)")
        except CompileError:
            return None
        costs.append(program.evaluate({"self": found, "oldSelf": found}, _PER_CALL)[1])
    step = costs[2] - costs[1]
    if not 60 <= step <= _PER_CALL // 10:
        return None
    return (_PER_CALL - costs[0]) // step
