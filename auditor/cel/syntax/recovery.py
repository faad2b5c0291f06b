"""What the server says of a text that is no expression: where it gave up, what it expected, and how it went on.

Its parser is made by ANTLR. It looks ahead as far as it must to choose between the alternatives of a rule; where no one
fits, it reports, skips or imagines tokens and goes on, so that one mistake can bring several complaints, in words that
depend on the state of its machine. Here is that machine, made from the grammar; it is asked for complaints alone, and
only after the parser proper has failed.

Source: cel-go parser/gen/CEL.g4, parser/parser.go; ANTLR's adaptive prediction (ALL(*)) and its default error strategy.

Over 500 lines: a model of ANTLR's error recovery, whose parts mean nothing alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from auditor.cel.syntax.lexer import END, Skipped, Token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["Complaint", "Tree", "parse_broken"]

_MOST_COMPLAINTS: Final = 100
_MOST_RECOVERIES: Final = 30
_MOST_SKIPPED: Final = 256
_DEEPEST: Final = 250
_EPSILON: Final = ""
_SYMBOLS: Final = (
    *("==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":"),
    *("+", "*", "/", "%", "true", "false", "null"),
)
_KINDS: Final = (
    *(END, *_SYMBOLS, "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER"),
)
_ORDER: Final = {kind: number for number, kind in enumerate(_KINDS)}
"""In which complaints list tokens."""


class Complaint(NamedTuple):
    """One complaint.

    Attributes:
        offset: Where, in code points; None: nowhere in particular.
        text: What.
    """

    offset: int | None
    text: str


@dataclass(slots=True)
class Tree:
    """What was read of a rule.

    Attributes:
        rule: Its name.
        offset: Where it begins.
        alternative: Which of its alternatives was chosen, from 1; of a left-recursive rule which way it goes on, 0 for
            the part before. 0 where none fitted.
        parts: Tokens and rules as they should be, without what was skipped, up to where the rule was given up.
    """

    rule: str
    offset: int
    alternative: int = 0
    parts: list[Token | Tree] = field(default_factory=list)


# -- the grammar -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Match:
    """One token out of some."""

    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Rule:
    """Another rule, of a rule that is left-recursive the part that binds at least so tight."""

    name: str
    precedence: int = 0


@dataclass(frozen=True, slots=True)
class _Maybe:
    """A part that may be missing; one token tells."""

    part: _Part


@dataclass(frozen=True, slots=True)
class _Repeat:
    """A part that comes several times.

    Attributes:
        at_least_one: Whether it comes once at least.
        looks_ahead: Whether one token does not tell.
    """

    part: _Part
    at_least_one: bool = False
    looks_ahead: bool = False


@dataclass(frozen=True, slots=True)
class _Choice:
    """One of several parts."""

    parts: tuple[_Part, ...]
    looks_ahead: bool = True


@dataclass(frozen=True, slots=True)
class _Follow:
    """What a left-recursive rule goes on with, for operators that bind at least so tight."""

    precedence: int
    part: _Part


_Part = _Match | _Rule | _Maybe | _Repeat | _Choice | _Follow | tuple["_Part", ...]


def _one(*kinds: str) -> _Match:
    return _Match(kinds)


_DOT, _COMMA, _COLON, _NAME = _one("."), _one(","), _one(":"), _one("IDENTIFIER")
_EXPR, _MARK = _Rule("expr"), _Maybe(_one("?"))
_ARGUMENTS: Final = (_one("("), _Maybe(_Rule("exprList")), _one(")"))


def _listed(first: _Part, *, looks_ahead: bool) -> _Part:
    return (first, _Repeat((_COMMA, first), looks_ahead=looks_ahead))


def _braced(opening: str, inner: str, closing: str) -> _Part:
    return (_one(opening), _Maybe(_Rule(inner)), _Maybe(_COMMA), _one(closing))


_GRAMMAR: Final[dict[str, _Part]] = {
    "start": (_EXPR, _one(END)),
    "expr": (
        _Rule("conditionalOr"),
        _Maybe((_one("?"), _Rule("conditionalOr"), _COLON, _EXPR)),
    ),
    "conditionalOr": (_Rule("conditionalAnd"), _Repeat((_one("||"), _Rule("conditionalAnd")))),
    "conditionalAnd": (_Rule("relation"), _Repeat((_one("&&"), _Rule("relation")))),
    "relation": (
        _Rule("calc"),
        _Repeat(
            _Follow(1, (_one("<", "<=", ">=", ">", "==", "!=", "in"), _Rule("relation", 2))),
            looks_ahead=True,
        ),
    ),
    "calc": (
        _Rule("unary"),
        _Repeat(
            _Choice((
                _Follow(2, (_one("*", "/", "%"), _Rule("calc", 3))),
                _Follow(1, (_one("+", "-"), _Rule("calc", 2))),
            )),
            looks_ahead=True,
        ),
    ),
    "unary": _Choice((
        _Rule("member"),
        (_Repeat(_one("!"), at_least_one=True), _Rule("member")),
        (_Repeat(_one("-"), at_least_one=True, looks_ahead=True), _Rule("member")),
    )),
    "member": (
        _Rule("primary"),
        _Repeat(
            _Choice((
                _Follow(3, (_DOT, _MARK, _Rule("escapeIdent"))),
                _Follow(2, (_DOT, _NAME, *_ARGUMENTS)),
                _Follow(1, (_one("["), _MARK, _EXPR, _one("]"))),
            )),
            looks_ahead=True,
        ),
    ),
    "primary": _Choice((
        (_Maybe(_DOT), _NAME),
        (_Maybe(_DOT), _NAME, *_ARGUMENTS),
        (_one("("), _EXPR, _one(")")),
        _braced("[", "listInit", "]"),
        _braced("{", "mapInitializerList", "}"),
        (_Maybe(_DOT), _NAME, _Repeat((_DOT, _NAME)), _braced("{", "fieldInitializerList", "}")),
        _Rule("literal"),
    )),
    "exprList": _listed(_EXPR, looks_ahead=False),
    "listInit": _listed(_Rule("optExpr"), looks_ahead=True),
    "fieldInitializerList": _listed((_Rule("optField"), _COLON, _EXPR), looks_ahead=True),
    "optField": (_MARK, _Rule("escapeIdent")),
    "mapInitializerList": _listed((_Rule("optExpr"), _COLON, _EXPR), looks_ahead=True),
    "escapeIdent": _Choice((_NAME, _one("ESC_IDENTIFIER")), looks_ahead=False),
    "optExpr": (_MARK, _EXPR),
    "literal": _Choice((
        (_Maybe(_one("-")), _one("NUM_INT")),
        _one("NUM_UINT"),
        (_Maybe(_one("-")), _one("NUM_FLOAT")),
        *map(_one, ("STRING", "BYTES", "true", "false", "null")),
    )),
}  # fmt: skip
_LEFT_RECURSIVE: Final = frozenset({"relation", "calc", "member"})


# -- its machine -------------------------------------------------------------------------------------------------------


class _State:
    """One state.

    Attributes:
        rule: Name of the rule that it is in.
        kind: Where parsing may get back in step: at a ``block`` or ``loop``, ``again`` in a loop; ``end`` of a rule.
        edges: Ways out.
    """

    __slots__ = ("edges", "first", "kind", "rule")

    def __init__(self, rule: str, kind: str = "") -> None:
        self.rule = rule
        self.kind = kind
        self.edges: list[_Edge] = []
        self.first: frozenset[str] | None = None

    def to(self, target: _State) -> None:
        """Add an edge that needs nothing."""
        self.edges.append(_Edge(target))


@dataclass(frozen=True, slots=True, eq=False)
class _Edge:
    """One way out of a state.

    Attributes:
        target: Where it leads.
        kinds: Tokens that it takes; empty if there is none.
        follow: It enters a rule, which returns there.
        precedence: It may be taken in a part that binds no tighter.
        left: The left-recursive rule that it leaves for good.
    """

    target: _State
    kinds: tuple[str, ...] = ()
    follow: _State | None = None
    precedence: int = 0
    left: str = ""


@dataclass(frozen=True, slots=True)
class _Step:
    """A part of the grammar with its states.

    Attributes:
        part: The part.
        state: The state of the machine before it; in front of the first item of a repetition.
        again: The same in front of further items.
        steps: Its parts.
        inside: Where its part begins, of one that may be missing or comes several times.
    """

    part: _Part
    state: _State
    again: _State
    steps: tuple[_Step, ...] = ()
    inside: _State | None = None


class _Builder:
    def __init__(self) -> None:
        self.starts = {name: _State(name) for name in _GRAMMAR}
        self.ends = {name: _State(name, "end") for name in _GRAMMAR}
        self.steps: dict[str, _Step] = {}
        self.calls: list[tuple[_Rule, _State]] = []
        self.known: dict[tuple[_State, int, str], int] = {}
        """Choices that one token settles, by state, precedence and token."""
        for name, part in _GRAMMAR.items():
            self.steps[name] = self.build(part, name, self.starts[name], self.ends[name])
        for rule, follow in self.calls:
            left = rule.name if rule.name in _LEFT_RECURSIVE and not rule.precedence else ""
            self.ends[rule.name].edges.append(_Edge(follow, left=left))

    def build(self, part: _Part, rule: str, before: _State, after: _State) -> _Step:
        """Add the states of a part between two states."""
        match part:
            case tuple():
                return self.sequence(part, rule, before, after)
            case _Match():
                before.edges.append(_Edge(after, kinds=part.kinds))
                return _Step(part, before, before)
            case _Rule():
                self.calls.append((part, after))
                before.edges.append(_Edge(self.starts[part.name], follow=after))
                return _Step(part, before, before)
            case _Follow():
                inside = _State(rule)
                before.edges.append(_Edge(inside, precedence=part.precedence))
                return _Step(part, before, before, (self.build(part.part, rule, inside, after),))
            case _Choice():
                return self.choice(part, rule, before, after)
            case _Maybe():
                block, inside = _State(rule, "block"), _State(rule)
                before.to(block)
                block.to(inside)
                inner = self.build(part.part, rule, inside, after)
                block.to(after)
                return _Step(part, block, block, (inner,), inside)
        return self.repeat(part, rule, before, after)

    def sequence(self, parts: tuple[_Part, ...], rule: str, before: _State, after: _State) -> _Step:
        steps = []
        for index, part in enumerate(parts):
            target = after if index == len(parts) - 1 else _State(rule)
            steps.append(self.build(part, rule, before, target))
            before = target
        return _Step(parts, steps[0].state, steps[0].state, tuple(steps))

    def choice(self, part: _Choice, rule: str, before: _State, after: _State) -> _Step:
        block = _State(rule, "block")
        before.to(block)
        steps = []
        for one in part.parts:
            inside = _State(rule)
            block.to(inside)
            steps.append(self.build(one, rule, inside, after))
        return _Step(part, block, block, tuple(steps))

    def repeat(self, part: _Repeat, rule: str, before: _State, after: _State) -> _Step:
        inside, again = _State(rule), _State(rule, "again")
        if part.at_least_one:
            entry = _State(rule, "block")
            before.to(entry)
            entry.to(inside)
            inner = self.build(part.part, rule, inside, again)
            again.to(entry)
            again.to(after)
        else:
            entry = _State(rule, "loop")
            before.to(entry)
            entry.to(inside)
            entry.to(after)
            inner = self.build(part.part, rule, inside, again)
            again.to(entry)
        return _Step(part, entry, again, (inner,), inside)


def _first(state: _State) -> frozenset[str]:
    """Return the tokens that may come next within the rule, and `_EPSILON` if the rule may end."""
    if state.first is None:
        found: set[str] = set()
        seen: set[_State] = set()
        waiting = [state]
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            if at.kind == "end":
                found.add(_EPSILON)
                continue
            for edge in at.edges:
                if edge.follow is not None:
                    found |= _first(edge.target)  # no rule is empty
                elif edge.kinds:
                    found.update(edge.kinds)
                else:
                    waiting.append(edge.target)
        state.first = frozenset(found)
    return state.first


@lru_cache(maxsize=1)
def _machine() -> _Builder:
    return _Builder()


# -- looking ahead -----------------------------------------------------------------------------------------------------


class _Unfit(Exception):
    """No way on; holds what is said of it."""

    def __init__(self, offset: int, text: str) -> None:
        super().__init__(text)
        self.offset = offset
        self.text = text


Stack = tuple["_State", "Stack"] | None
"""States to return to, nearest first; at its end comes what contains the rule before, which may be anything."""


class _Config(NamedTuple):
    """One way on.

    Attributes:
        state: Where it is.
        alternative: Which alternative it began with.
        stack: Where it returns to.
        precedence: What the rule asked for may be at most, 0: anything.
        outside: Whether it left the rule that asks.
        kept: Whether the filter of precedence leaves it alone.
    """

    state: _State
    alternative: int
    stack: Stack
    precedence: int = 0
    outside: bool = False
    kept: bool = False


class _Configs:
    """Ways on that differ by state, alternative and precedence alone; their stacks are merged."""

    def __init__(self, *, full: bool) -> None:
        self.full = full
        self.stacks: dict[tuple[_State, int, int], dict[Stack, None]] = {}
        self.outside: set[tuple[_State, int, int]] = set()
        self.kept: set[tuple[_State, int, int]] = set()

    def add(self, config: _Config) -> None:
        """Add one."""
        key = config.state, config.alternative, config.precedence
        self.stacks.setdefault(key, {})[config.stack] = None
        if config.outside:
            self.outside.add(key)
        if config.kept:
            self.kept.add(key)

    def __iter__(self) -> Iterator[_Config]:
        for key, stacks in self.stacks.items():
            state, alternative, precedence = key
            for stack in self.merged(stacks):
                yield _Config(state, alternative, stack, precedence, key in self.outside, key in self.kept)

    def __len__(self) -> int:
        return len(self.stacks)

    def merged(self, stacks: Iterable[Stack]) -> frozenset[Stack]:
        """Return stacks; where nothing is known of what is around, an end stands for all that begin like it."""
        if self.full:
            return frozenset(stacks)
        known = {_unrolled(stack) for stack in stacks}
        return frozenset(_rolled(each) for each in known if not any(each[:size] in known for size in range(len(each))))

    def alternatives(self) -> set[int]:
        """Return the alternatives that are left."""
        return {alternative for _, alternative, _ in self.stacks}

    def conflicts(self) -> list[set[int]]:
        """Return, for each state and what it returns to, the alternatives that lead there."""
        found: dict[tuple[_State, frozenset[Stack]], set[int]] = {}
        for (state, alternative, _), stacks in self.stacks.items():
            found.setdefault((state, self.merged(stacks)), set()).add(alternative)
        return list(found.values())

    def finished(self) -> list[_Config]:
        """Return those that are at the end of a rule."""
        return [config for config in self if config.state.kind == "end"]


def _unrolled(stack: Stack) -> tuple[_State, ...]:
    states = []
    while stack is not None:
        state, stack = stack
        states.append(state)
    return tuple(states)


def _rolled(states: Sequence[_State]) -> Stack:
    stack: Stack = None
    for state in reversed(states):
        stack = state, stack
    return stack


class _Prediction:
    """The choice between the ways out of one state.

    Args:
        decision: The state.
        precedence: What the rule was asked for.
        follows: Where the rules around go on, outermost first.
        look: Tells the kind of a token ahead, from 1.
        offending: Says that nothing fits, from the first token to one some tokens further on.
    """

    def __init__(
        self,
        decision: _State,
        precedence: int,
        follows: Sequence[_State],
        look: Callable[[int], str],
        offending: Callable[[int], _Unfit],
    ) -> None:
        self.decision = decision
        self.by_precedence = decision.kind == "loop" and decision.rule in _LEFT_RECURSIVE
        self.by_one_token = False
        self.precedence = precedence
        self.follows = follows
        self.look = look
        self.offending = offending

    def run(self) -> int:
        """Return the alternative, from 1.

        Raises:
            _Unfit: There is none.
        """
        before = self.start(None, full=False)
        if self.by_precedence:
            before = self.filtered(before)
        ahead = 1
        while True:
            after = self.step(before, self.look(ahead))
            if after is None:
                return self.fallback(before, ahead)
            left = after.alternatives()
            sure = len(left) == 1
            if sure or self.is_conflict(after):
                self.by_one_token = ahead == 1
                allowed = self.allowed(after)
                if sure and allowed is None:
                    return min(left)
                if allowed is not None and (sure or len(allowed) == 1):
                    if not allowed:
                        raise self.offending(1)
                    return min(allowed)
                self.by_one_token = False
                return self.in_full()
            before = after
            ahead += self.look(ahead) != END

    def in_full(self) -> int:
        """Choose with what is known of the rules around."""
        before = self.start(_rolled(self.follows[::-1]), full=True)
        ahead = 1
        while True:
            after = self.step(before, self.look(ahead))
            if after is None:
                return self.fallback(before, 1)
            left = after.alternatives()
            firsts = {min(each) for each in after.conflicts()}
            if len(left) == 1 or len(firsts) == 1:
                return min(left if len(left) == 1 else firsts)
            before = after
            ahead += self.look(ahead) != END

    def fallback(self, before: _Configs, ahead: int) -> int:
        """Return an alternative that was at the end of the rule before nothing fitted."""
        for fits in (True, False):
            found = [
                config.alternative
                for config in before
                if self.is_allowed(config.precedence) is fits
                and (config.outside or (config.state.kind == "end" and config.stack is None))
            ]
            if found:
                return min(found)
        raise self.offending(ahead)

    def is_allowed(self, precedence: int) -> bool:
        return not precedence or precedence >= self.precedence

    def allowed(self, configs: _Configs) -> set[int] | None:
        """Return the alternatives that precedence allows, None if it does not matter."""
        asked: dict[int, set[int]] = {}
        for _, alternative, precedence in configs.stacks:
            asked.setdefault(alternative, set()).add(precedence)
        if all(0 in precedences for precedences in asked.values()):
            return None
        return {each for each, precedences in asked.items() if any(map(self.is_allowed, precedences))}

    def is_conflict(self, configs: _Configs) -> bool:
        """Return whether looking further would not help as long as nothing is known of the rules around."""
        if len(configs.finished()) == len(list(configs)):
            return True
        by_state: dict[_State, set[int]] = {}
        for state, alternative, _ in configs.stacks:
            by_state.setdefault(state, set()).add(alternative)
        return any(len(each) > 1 for each in configs.conflicts()) and all(len(each) > 1 for each in by_state.values())

    # Sets of ways

    def start(self, stack: Stack, *, full: bool) -> _Configs:
        found = _Configs(full=full)
        for number, edge in enumerate(self.decision.edges, 1):
            self.close(_Config(edge.target, number, stack), found, set(), depth=0, asks=True)
        return found

    def filtered(self, configs: _Configs) -> _Configs:
        """Leave out what the first alternative, which goes on in the same rule, leads to as well."""
        found = _Configs(full=False)
        first: dict[_State, frozenset[Stack]] = {}
        for (state, alternative, precedence), stacks in configs.stacks.items():
            if alternative == 1 and self.is_allowed(precedence):
                first[state] = configs.merged(stacks)
        for config in configs:
            if config.alternative == 1:
                if self.is_allowed(config.precedence):
                    found.add(config._replace(precedence=0))
            else:
                key = config.state, config.alternative, config.precedence
                if config.kept or first.get(config.state) != configs.merged(configs.stacks[key]):
                    found.add(config)
        return found

    def step(self, configs: _Configs, kind: str) -> _Configs | None:
        """Return the ways on behind a token."""
        between = _Configs(full=configs.full)
        ended = []
        for config in configs:
            if config.state.kind == "end":
                if configs.full or kind == END:
                    ended.append(config)
                continue
            for edge in config.state.edges:
                if kind in edge.kinds:
                    between.add(config._replace(state=edge.target))
        if not ended and kind != END and len(between.alternatives()) == 1:
            return between
        found = _Configs(full=configs.full)
        busy: set[_Config] = set()
        for config in between:
            self.close(config, found, busy, depth=0, asks=False, at_end=kind == END)
        if kind == END:
            finished = found.finished()
            found = _Configs(full=configs.full)
            for config in finished:
                found.add(config)
        if ended and not (configs.full and found.finished()):
            for config in ended:
                found.add(config)
        return found if len(found) else None

    def close(
        self, config: _Config, found: _Configs, busy: set[_Config], *, depth: int, asks: bool, at_end: bool = False
    ) -> None:
        """Add a way and all that it leads to without a token.

        Args:
            config: The way.
            found: Where to.
            busy: What has been followed before.
            depth: The depth of rules entered since, below 0 once the rule that asks is left.
            asks: Whether precedence counts.
            at_end: Whether the end of the text takes no token.
        """
        state = config.state
        if state.kind == "end":
            if config.stack is not None:
                target, stack = config.stack
                popped = _Config(target, config.alternative, stack, config.precedence, config.outside)
                self.close(popped, found, busy, depth=depth, asks=asks, at_end=at_end)
                return
            if found.full:
                found.add(config)
                return
        if any(edge.kinds for edge in state.edges) or not state.edges:
            found.add(config)
        for edge in state.edges[self.skips(config) :]:
            self.follow(config, edge, found, busy, depth=depth, asks=asks, at_end=at_end)

    def skips(self, config: _Config) -> bool:
        """Return whether a loop is left to the same rule around, which has it too."""
        state, stack = config.state, config.stack
        if state.kind != "loop" or state.rule not in _LEFT_RECURSIVE or stack is None:
            return False
        return stack[0].rule == state.rule

    def follow(
        self,
        config: _Config,
        edge: _Edge,
        found: _Configs,
        busy: set[_Config],
        *,
        depth: int,
        asks: bool,
        at_end: bool,
    ) -> None:
        target = config._replace(state=edge.target)
        if edge.kinds:
            if not (at_end and END in edge.kinds) or target in busy:
                return
            busy.add(target)
        elif config.state.kind == "end":
            leaves = self.by_precedence and edge.left == self.decision.rule
            target = target._replace(outside=True, kept=config.kept or leaves)
            if target in busy:
                return
            busy.add(target)
            depth -= 1
        elif edge.follow is not None:
            target = target._replace(stack=(edge.follow, config.stack))
            depth += depth >= 0
        elif edge.precedence and asks and depth == 0:
            if not found.full:
                lowest = min(filter(None, (config.precedence, edge.precedence)))
                target = target._replace(precedence=lowest)
            elif not self.is_allowed(edge.precedence):
                return
        self.close(target, found, busy, depth=depth, asks=asks, at_end=at_end)


# -- the parser --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Frame:
    """A rule that the parser is in.

    Attributes:
        tree: What it has read so far.
        follow: Where the parser goes on behind it; None at the outermost.
        precedence: What it was asked for.
    """

    tree: Tree
    follow: _State | None
    precedence: int = 0


class _Abandoned(Exception):
    """The parser gives up."""


def parse_broken(text: str, tokens: Sequence[Token], skipped: Sequence[Skipped]) -> tuple[Tree | None, list[Complaint]]:
    """Return what can be read of a text that is no expression (None means it is given up), and what is wrong with it.

    Args:
        text: The text.
        tokens: What it is cut into, with `END` at the end.
        skipped: What is no token.
    """
    parser = _Recovering(text, tokens, skipped)
    try:
        return parser.rule("start", None, 0), parser.found
    except _Abandoned:
        return None, parser.found


@dataclass(slots=True)
class _Recovering:
    text: str
    tokens: Sequence[Token]
    skipped: Sequence[Skipped]
    found: list[Complaint] = field(default_factory=list)
    at: int = 0
    seen: int = -1
    told: int = 0
    frames: list[_Frame] = field(default_factory=list)
    depths: dict[str, int] = field(default_factory=dict)
    recoveries: int = 0
    quiet: bool = False
    last_at: int = -1
    last_states: set[_State] = field(default_factory=set)
    state: _State | None = None

    # Tokens

    def token(self, ahead: int = 1) -> Token:
        index = min(self.at + ahead - 1, len(self.tokens) - 1)
        if index > self.seen:
            self.seen = index
            while self.told < len(self.skipped) and self.skipped[self.told].start < self.tokens[index].offset:
                self.told += 1
                self.tell(*self.skipped[self.told - 1][::2])
        return self.tokens[index]

    def look(self, ahead: int = 1) -> str:
        return self.token(ahead).kind

    def consume(self) -> None:
        self.at = min(self.at + 1, len(self.tokens) - 1)

    def matched(self) -> None:
        self.quiet = False
        self.last_at = -1
        self.last_states = set()

    # Complaints

    def tell(self, offset: int, text: str) -> None:
        if len(self.found) == _MOST_COMPLAINTS:
            self.found.append(Complaint(offset, f"Syntax error: More than {_MOST_COMPLAINTS} syntax errors"))
            raise _Abandoned
        self.found.append(Complaint(offset, f"Syntax error: {text}"))

    def say(self, text: str, offset: int) -> None:
        """Complain, unless the last complaint may be the reason."""
        if not self.quiet:
            self.quiet = True
            self.tell(offset, text)

    def give_up(self, text: str) -> _Abandoned:
        self.found.append(Complaint(None, text))
        return _Abandoned()

    def no_alternative(self, ahead: int) -> _Unfit:
        first, last = self.token(), self.token(ahead)
        if first.kind == END:
            shown = END
        else:
            stop = len(self.text) if last.kind == END else last.offset + len(last.text)
            at, parts = first.offset, []
            for start, end, _ in self.skipped:
                if at <= start < stop:
                    parts.append(self.text[at:start])
                    at = end
            shown = "".join((*parts, self.text[at:stop]))
        text = f"no viable alternative at input {_quoted(shown)}"
        if len(shown) > 1 and shown[1:] in ("true", "false", "null"):
            text = f"mismatched input '{shown[1:]}' expecting IDENTIFIER"
        return _Unfit(last.offset, text)

    def mismatch(self) -> _Unfit:
        token = self.token()
        return _Unfit(token.offset, f"mismatched input {_shown(token)} expecting {_listing(self.expected())}")

    def expected(self) -> frozenset[str]:
        """Return the tokens that fit here, with all that is known of the rules around."""
        assert self.state is not None
        return self.around(_first(self.state))

    def around(self, found: frozenset[str]) -> frozenset[str]:
        for frame in reversed(self.frames):
            if _EPSILON not in found:
                return found
            found -= {_EPSILON}
            found |= {END} if frame.follow is None else _first(frame.follow)
        return found

    # Recovery

    def resume_set(self) -> frozenset[str]:
        found = frozenset[str]().union(*(_first(frame.follow) for frame in self.frames if frame.follow is not None))
        return found - {_EPSILON}

    def skip_to(self, kinds: frozenset[str], most: int | None = None) -> None:
        count = 0
        while self.look() != END and self.look() not in kinds:
            if count == most:
                raise self.give_up(f"error recovery token lookahead limit exceeded: {_MOST_SKIPPED}")
            self.consume()
            count += 1

    def count_recovery(self) -> None:
        if self.recoveries == _MOST_RECOVERIES:
            self.tell(self.token().offset, f"error recovery attempt limit exceeded: {_MOST_RECOVERIES}")
            raise _Abandoned
        self.recoveries += 1

    def recover(self) -> None:
        """Skip to a token that may follow any of the rules around."""
        self.count_recovery()
        assert self.state is not None
        most = _MOST_SKIPPED
        if self.last_at == self.at and self.state in self.last_states:
            self.consume()
            most -= 1
        self.last_at = self.at
        self.last_states.add(self.state)
        self.skip_to(self.resume_set(), most)

    def delete_one(self) -> bool:
        """Skip a token if the one behind it fits."""
        expected = self.expected()
        if self.look(2) not in expected:
            return False
        self.say(f"extraneous input {_shown(self.token())} expecting {_listing(expected)}", self.token().offset)
        self.consume()
        self.matched()
        return True

    def recover_inline(self, step: _Step) -> Token:
        """Skip a token, or imagine one, so that a step fits; return the one that fits."""
        self.count_recovery()
        if self.delete_one():
            found = self.token()
            self.consume()
            return found
        behind = self.around(_first(step.state.edges[0].target))
        if self.look() not in behind:
            raise self.mismatch()
        expected = self.expected()
        self.say(f"missing {_listing(expected)} at {_shown(self.token())}", self.token().offset)
        kind = min(expected, key=_ORDER.__getitem__)
        shown = f"'{kind}'" if kind in _SYMBOLS else "undefined"
        return Token(kind, f"<missing {END if kind == END else shown}>", self.token().offset)

    def sync(self, state: _State) -> None:
        """Get back in step in front of a part that may be missing or repeated."""
        self.state = state
        if self.quiet or _first(state) & {_EPSILON, self.look()}:
            return
        if state.kind == "again":
            expected = self.expected()
            self.say(f"extraneous input {_shown(self.token())} expecting {_listing(expected)}", self.token().offset)
            self.skip_to(expected | self.resume_set())
        elif not self.delete_one():
            raise self.mismatch()

    # Rules

    def rule(self, name: str, follow: _State | None, precedence: int) -> Tree:
        frame = _Frame(Tree(name, self.token().offset), follow, precedence)
        self.frames.append(frame)
        self.enter(name)
        try:
            self.run(_machine().steps[name])
        except _Unfit as error:
            self.say(error.text, error.offset)
            self.recover()
        self.frames.pop()
        self.depths[name] -= 1
        return frame.tree

    def enter(self, name: str) -> None:
        self.depths[name] = self.depths.get(name, 0) + 1
        if self.depths[name] > _DEEPEST:
            raise self.give_up(f"expression recursion limit exceeded: {_DEEPEST}")

    def predict(self, decision: _State) -> int:
        frame, kind = self.frames[-1], self.look()
        known = _machine().known
        key = decision, frame.precedence, kind
        number = known.get(key)
        if number is None:
            follows = [each.follow for each in self.frames if each.follow is not None]
            prediction = _Prediction(decision, frame.precedence, follows, self.look, self.no_alternative)
            number = prediction.run()
            if prediction.by_one_token:
                known[key] = number
        return number

    def run(self, step: _Step) -> None:
        match step.part:
            case tuple() | _Follow():
                for one in step.steps:
                    self.run(one)
            case _Match(kinds):
                self.state = step.state
                if self.look() in kinds:
                    self.matched()
                    found = self.token()
                    self.consume()
                else:
                    found = self.recover_inline(step)
                self.frames[-1].tree.parts.append(found)
            case _Rule(name, precedence):
                found_tree = self.rule(name, step.state.edges[0].follow, precedence)
                self.frames[-1].tree.parts.append(found_tree)
            case _Maybe():
                self.sync(step.state)
                if self.fits(step):
                    self.run(step.steps[0])
            case _Choice(looks_ahead=looks_ahead):
                self.sync(step.state)
                number = self.predict(step.state) if looks_ahead else self.chosen(step)
                self.alternative(step.state.rule, number)
                self.run(step.steps[number - 1])
            case _Repeat():
                self.repeat(step, step.part)

    def fits(self, step: _Step) -> bool:
        assert step.inside is not None
        return self.look() in _first(step.inside)

    def chosen(self, step: _Step) -> int:
        for number, one in enumerate(step.steps, 1):
            if self.look() in _first(one.state):
                return number
        raise self.no_alternative(1)

    def alternative(self, rule: str, number: int) -> None:
        """Note which alternative is read; in a left-recursive rule all that was read so far becomes its first part."""
        frame = self.frames[-1]
        if rule in _LEFT_RECURSIVE:
            frame.tree = Tree(rule, frame.tree.offset, number, [frame.tree])
        else:
            frame.tree.alternative = number

    def repeat(self, step: _Step, part: _Repeat) -> None:
        self.sync(step.state)
        goes_on = part.at_least_one or self.goes_on(step, part, step.state)
        while goes_on:
            if isinstance(part.part, _Follow):
                self.alternative(step.state.rule, 1)
            self.run(step.steps[0])
            self.sync(step.again)
            goes_on = self.goes_on(step, part, step.again if part.at_least_one else step.state)

    def goes_on(self, step: _Step, part: _Repeat, decision: _State) -> bool:
        return self.predict(decision) == 1 if part.looks_ahead else self.fits(step)


def _quoted(text: str) -> str:
    shown = text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{shown}'"


def _shown(token: Token) -> str:
    return _quoted(token.text)


def _listing(kinds: frozenset[str]) -> str:
    names = [f"'{kind}'" if kind in _SYMBOLS else kind for kind in sorted(kinds, key=_ORDER.__getitem__)]
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"
