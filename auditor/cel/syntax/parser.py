"""From text to tree: recursive descent over the grammar of CEL, with macros expanded on the way.

Nodes have the numbers and positions of cel-go: a call is at its opening parenthesis, a selection at its dot, an
operator at its sign. The first syntax error ends the parse; its text and position are those of the server's parser,
which goes on and may report more. Errors about a name, a literal or a macro do not end it.
Source: cel-go parser/parser.go, parser/gen/CEL.g4; ANTLR DefaultErrorStrategy (sync, recoverInline), adaptivePredict.
"""

from __future__ import annotations

from auditor.cel.cel_errors import Issue, syntax_error
from auditor.cel.cel_values import UInt
from auditor.cel.syntax.ast import (
    Call,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    Select,
    StructField,
    StructLiteral,
    Unspecified,
    line_and_column,
)
from auditor.cel.syntax.lexer import (
    END,
    Token,
    listing,
    parse_double,
    parse_int,
    quoted,
    tokenize,
    unescape_bytes,
    unescape_string,
)
from auditor.cel.syntax.macros import ACCUMULATOR, MACROS, ONE_VARIABLE_MACROS, WRITTEN_ACCUMULATOR, Builder, MacroError
from auditor.releases import changes

MAX_DEPTH = 250

_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
    "namespace", "null", "package", "return", "true", "var", "void", "while",
})  # fmt: skip
_RELATIONS = {
    "<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_", "==": "_==_", "!=": "_!=_", "in": "@in",
}  # fmt: skip
_SUMS = {"+": "_+_", "-": "_-_"}
_PRODUCTS = {"*": "_*_", "/": "_/_", "%": "_%_"}
_LEVELS = (_RELATIONS, _SUMS, _PRODUCTS)

# What a token may be: the sets that errors list.
_LITERALS = frozenset({"true", "false", "null", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES"})
_MEMBER = _LITERALS | {"[", "{", "(", ".", "-", "IDENTIFIER"}
_OPERAND = _MEMBER | {"!"}
_ITEM = _OPERAND | {"?"}
_FIELD = frozenset({"IDENTIFIER", "ESC_IDENTIFIER"})
_FIELD_BEFORE = frozenset({"IDENTIFIER"})
_NUMBER = frozenset({"NUM_INT", "NUM_FLOAT"})
# What may follow an operand, by the place of the expression that it is in.
_OPERATOR = frozenset({*_RELATIONS, *_SUMS, *_PRODUCTS, "&&", "||", ".", "["})
_IN_CONDITION = _OPERATOR | {":"}
_AT_TOP = _OPERATOR | {"?", END}
_IN_PARENTHESES = _OPERATOR | {"?", ")"}
_IN_CALL = _OPERATOR | {"?", ",", ")"}
_IN_INDEX = _OPERATOR | {"?", "]"}
_IN_LIST = _OPERATOR | {"?", ",", "]"}
_IN_KEY = _OPERATOR | {"?", ":"}
_IN_VALUE = _OPERATOR | {"?", ",", "}"}


class Stop(Exception):
    """The text is not an expression.

    Args:
        issue: The first syntax error.
    """

    def __init__(self, issue: Issue) -> None:
        super().__init__(issue)
        self.issue = issue


class Parser:
    """A recursive descent over the tokens of one text."""

    def __init__(self, text: str, *, pairs: bool = True) -> None:
        self.text = text
        self.macros = MACROS if pairs else ONE_VARIABLE_MACROS
        self.offsets: dict[int, int] = {}
        self.next_id = 1
        self.depth = 0
        self.heights: dict[int, int] = {}
        self.tokens, self.skipped = tokenize(text)
        self.issues = [self._issue(start, syntax_error(complaint)) for start, _, complaint in self.skipped]
        self.position = 0
        self.after_operand: frozenset[str] = frozenset()
        self.field = _FIELD if changes.BACKTICKS_ARE_READ.holds else _FIELD_BEFORE

    # Tokens

    def _issue(self, offset: int, complaint: str) -> Issue:
        return Issue(*line_and_column(self.text, offset), complaint)

    def _report(self, offset: int, complaint: str) -> Expr:
        node = Unspecified(self._id(offset))
        self.issues.append(self._issue(offset, complaint))
        return node

    def _peek(self, ahead: int = 0) -> Token:
        try:
            return self.tokens[self.position + ahead]
        except IndexError:
            return self.tokens[-1]

    def _next(self) -> Token:
        token = self._peek()
        self.position += 1
        return token

    def _accept(self, kind: str) -> Token | None:
        return self._next() if self._peek().kind == kind else None

    def _expect(self, kind: str, behind: frozenset[str] = frozenset()) -> Token:
        if self._peek().kind != kind:
            raise self._unfit(frozenset({kind}), behind)
        return self._next()

    def _require(self, kinds: frozenset[str]) -> None:
        if self._peek().kind not in kinds:
            raise self._unfit(kinds)

    def _id(self, offset: int) -> int:
        number = self.next_id
        self.next_id += 1
        self.offsets[number] = offset
        return number

    # Syntax errors

    def _stop(self, token: Token, complaint: str) -> Stop:
        return Stop(self._issue(token.offset, syntax_error(complaint)))

    def _unfit(self, expected: frozenset[str], behind: frozenset[str] = frozenset()) -> Stop:
        """Return the error about the next token.

        Args:
            expected: What it may be.
            behind: What may follow an expected token; the server takes the token as missing if one of these is next.
        """
        token = self._peek()
        if self._peek(1).kind in expected:
            return self._superfluous(expected)
        if token.kind in behind:
            return self._stop(token, f"missing {listing(expected)} at {quoted(token.text)}")
        return self._stop(token, f"mismatched input {quoted(token.text)} expecting {listing(expected)}")

    def _superfluous(self, expected: frozenset[str]) -> Stop:
        token = self._peek()
        return self._stop(token, f"extraneous input {quoted(token.text)} expecting {listing(expected)}")

    def _no_alternative(self, first: Token) -> Stop:
        """Return the error about the tokens from one to the next, which begin nothing; skipped text is left out."""
        last = self._peek()
        start, stop, parts = first.offset, len(self.text) if last.kind == END else last.offset + len(last.text), []
        for skipped in self.skipped:
            if start <= skipped.start < stop:
                parts.append(self.text[start : skipped.start])
                start = skipped.stop
        shown = "".join((*parts, self.text[start:stop]))
        if shown[1:] in ("true", "false", "null"):
            return self._stop(last, f"mismatched input '{shown[1:]}' expecting IDENTIFIER")
        return self._stop(last, f"no viable alternative at input {quoted(shown)}")

    # Rules

    def start(self) -> Expr:
        """Return the tree of the whole text."""
        root = self._expr(_AT_TOP)
        self._expect(END)
        return root

    def _expr(self, after_operand: frozenset[str]) -> Expr:
        """Read an expression; `after_operand` has what may follow an operand of it."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Stop(Issue(-1, 0, f"expression recursion limit exceeded: {MAX_DEPTH}"))
        outer, self.after_operand = self.after_operand, after_operand
        condition = self._logic("||")
        if self._peek().kind == "?":
            node_id = self._id(self._next().offset)
            self.after_operand = _IN_CONDITION
            yes = self._logic("||")
            self._expect(":", _OPERAND)
            condition = self._operator(node_id, "_?_:_", condition, yes, self._expr(after_operand))
        self.after_operand = outer
        self.depth -= 1
        return condition

    def _logic(self, sign: str) -> Expr:
        first = self._logic("&&") if sign == "||" else self._binary(0)
        terms, ids = [first], []
        while self._peek().kind == sign:
            token = self._next()
            terms.append(self._logic("&&") if sign == "||" else self._binary(0))
            ids.append(self._id(token.offset))
        return self._balanced(f"_{sign}_", terms, ids, 0, len(ids) - 1) if ids else first

    def _balanced(self, function: str, terms: list[Expr], ids: list[int], low: int, high: int) -> Expr:
        middle = (low + high + 1) // 2
        left = terms[middle] if middle == low else self._balanced(function, terms, ids, low, middle - 1)
        right = terms[middle + 1] if middle == high else self._balanced(function, terms, ids, middle + 1, high)
        return self._over(Call(ids[middle], function, None, (left, right)), left, right)

    def _binary(self, level: int) -> Expr:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        operators = _LEVELS[level]
        while self._peek().kind in operators:
            token = self._next()
            node_id = self._id(token.offset)
            left = self._operator(node_id, operators[token.kind], left, self._binary(level + 1))
        return left

    def _unary(self) -> Expr:
        sign = self._peek()
        if sign.kind not in ("!", "-"):
            return self._member()
        if sign.kind == "-" and self._peek(1).kind in _NUMBER:
            return self._member()
        count = 0
        while token := self._accept(sign.kind):
            count += 1
            if sign.kind == "-" and self._peek().kind not in _MEMBER:
                raise self._no_alternative(token)
        if self._peek().kind not in _MEMBER:
            raise self._superfluous(_OPERAND)
        if count % 2 == 0:
            return self._member()
        node_id = self._id(sign.offset)
        operand = self._member()
        return self._over(self._call(node_id, "!_" if sign.kind == "!" else "-_", operand), operand)

    def _member(self) -> Expr:
        operand = self._primary()
        while True:
            token = self._peek()
            if token.kind == "[":
                operand = self._index(operand)
            elif token.kind == ".":
                operand = self._selection(operand)
            else:
                return operand

    def _index(self, operand: Expr) -> Expr:
        node_id = self._id(self._next().offset)
        self._require(_ITEM)
        function = "_[?_]" if self._accept("?") else "_[_]"
        index = self._expr(_IN_INDEX)
        self._expect("]", self.after_operand)
        return self._operator(node_id, function, operand, index)

    def _selection(self, operand: Expr) -> Expr:
        dot = self._next()
        optional = self._accept("?") is not None
        if not optional and self._peek().kind not in _FIELD:
            raise self._no_alternative(dot)
        name = self._field_name(self.after_operand)
        field = self._field(name, name.offset)
        if optional:
            literal = Literal(self._id(name.offset), field)
            return self._over(Call(self._id(dot.offset), "_?._", None, (operand, literal)), operand, more=1)
        if name.kind == "IDENTIFIER" and self._peek().kind == "(":
            paren = self._next()
            node_id = self._id(paren.offset)
            args = self._arguments()
            return self._over(self._call_or_macro(node_id, name.text, operand, args), operand, *args, more=1)
        return self._over(Select(self._id(dot.offset), operand, field), operand, more=1)

    def _field_name(self, behind: frozenset[str]) -> Token:
        if self._peek().kind not in self.field:
            raise self._unfit(self.field, frozenset() if "ESC_IDENTIFIER" in self.field else behind)
        return self._next()

    def _field(self, name: Token, offset: int) -> str:
        """Return the field that a token names; report what no field may be, at an offset."""
        if name.kind == "IDENTIFIER":
            return name.text
        if changes.QUOTED_FIELDS.holds:
            return name.text[1:-1]
        self._report(offset, "unsupported syntax: '`'")
        return ""

    def _arguments(self) -> tuple[Expr, ...]:
        self._require(_OPERAND | {")"})
        if self._accept(")"):
            return ()
        args = [self._expr(_IN_CALL)]
        while self._accept(","):
            args.append(self._expr(_IN_CALL))
        self._expect(")", self.after_operand)
        return tuple(args)

    def _primary(self) -> Expr:
        token = self._peek()
        match token.kind:
            case "(":
                self._next()
                inner = self._expr(_IN_PARENTHESES)
                self._expect(")", self.after_operand)
                return inner
            case "[":
                return self._list()
            case "{":
                return self._map()
            case "." | "IDENTIFIER":
                return self._name()
            case "-" | "NUM_INT" | "NUM_FLOAT" | "NUM_UINT":
                return self._number()
            case "STRING" | "BYTES":
                return self._quoted()
            case "true" | "false" | "null":
                self._next()
                value = None if token.kind == "null" else token.kind == "true"
                return Literal(self._id(token.offset), value)
        raise self._unfit(_OPERAND)

    def _number(self) -> Expr:
        start = self._peek()
        sign = "-" if self._accept("-") else ""
        if sign and self._peek().kind not in _NUMBER:
            raise self._no_alternative(start)
        token = self._next()
        kind = token.kind
        value: object
        if kind == "NUM_FLOAT":
            value, name = parse_double(sign + token.text), "double"
        elif kind == "NUM_UINT":
            number = parse_int(token.text[:-1], unsigned=True)
            value, name = None if number is None else UInt(number), "uint"
        else:
            value, name = parse_int(sign + token.text, unsigned=False), "int"
        if value is None:
            return self._report(start.offset, f"invalid {name} literal")
        return Literal(self._id(start.offset), value)

    def _quoted(self) -> Expr:
        token = self._next()
        value: object = token.text
        try:
            value = unescape_string(token.text) if token.kind == "STRING" else unescape_bytes(token.text[1:])
        except ValueError as error:
            self._report(token.offset, str(error))
        return Literal(self._id(token.offset), value)

    def _name(self) -> Expr:
        start = self._peek()
        dotted = "." if self._accept(".") else ""
        name = self._peek()
        if name.kind != "IDENTIFIER":
            raise self._no_alternative(start)
        if self._is_message():
            return self._message(dotted)
        self._next()
        if self._peek().kind != "(":
            if name.text in _RESERVED:
                return self._report(start.offset, f"reserved identifier: {name.text}")
            if name.text == WRITTEN_ACCUMULATOR and not changes.NO_RESULT_VARIABLE.holds:
                return Ident(self._id(name.offset), dotted + ACCUMULATOR)
            return Ident(self._id(name.offset), dotted + name.text)
        paren = self._next()
        if name.text in _RESERVED:
            reserved = self._report(start.offset, f"reserved identifier: {name.text}")
            known = len(self.issues)
            self._arguments()
            del self.issues[known:]
            return reserved
        node_id = self._id(paren.offset)
        args = self._arguments()
        return self._over(self._call_or_macro(node_id, dotted + name.text, None, args), *args)

    def _is_message(self) -> bool:
        ahead = 1
        while self._peek(ahead).kind == "." and self._peek(ahead + 1).kind == "IDENTIFIER":
            ahead += 2
        return self._peek(ahead).kind == "{"

    def _message(self, dotted: str) -> Expr:
        name = dotted + self._next().text
        while self._accept("."):
            name += "." + self._next().text
        node_id = self._id(self._next().offset)
        start = self._peek().offset
        fields: list[StructField] = []
        self._require(self.field | {"?", ",", "}"})
        while self._peek().kind not in ("}", ","):
            optional = self._accept("?") is not None
            field = self._field_name(frozenset({":"}))
            field_id = self._id(self._expect(":", _OPERAND).offset)
            text = self._field(field, start)
            known = len(self.issues)
            fields.append(StructField(field_id, text, self._expr(_IN_VALUE), optional))
            if not text:
                del self.issues[known:]
            if not self._another(self.field | {"?"}):
                break
        self._close("}")
        return self._over(StructLiteral(node_id, name, tuple(fields)), *(field.value for field in fields))

    def _another(self, firsts: frozenset[str]) -> bool:
        """Whether a comma and another part follow, by what the part may begin with; read the comma then."""
        return self._peek(1).kind in firsts and self._accept(",") is not None

    def _close(self, kind: str) -> None:
        self._require(frozenset({kind, ","}))
        self._accept(",")
        self._expect(kind, self.after_operand)

    def _list(self) -> Expr:
        node_id = self._id(self._next().offset)
        elements: list[Expr] = []
        optional: set[int] = set()
        self._require(_ITEM | {",", "]"})
        while self._peek().kind not in ("]", ","):
            if self._accept("?"):
                optional.add(len(elements))
            elements.append(self._expr(_IN_LIST))
            if not self._another(_ITEM):
                break
        self._close("]")
        return self._over(ListLiteral(node_id, tuple(elements), frozenset(optional)), *elements)

    def _map(self) -> Expr:
        node_id = self._id(self._next().offset)
        entries: list[MapEntry] = []
        self._require(_ITEM | {",", "}"})
        while self._peek().kind not in ("}", ","):
            optional = self._accept("?") is not None
            reserved = self._id(-1)  # the number of the colon comes first
            known = len(self.issues)
            try:
                key = self._expr(_IN_KEY)
                self.offsets[reserved] = self._expect(":", _OPERAND).offset
            except Stop:
                del self.issues[known:]  # the server does not read a key without a colon
                raise
            entries.append(MapEntry(reserved, key, self._expr(_IN_VALUE), optional))
            if not self._another(_ITEM):
                break
        self._close("}")
        parts = [part for entry in entries for part in (entry.key, entry.value)]
        return self._over(MapLiteral(node_id, tuple(entries)), *parts)

    # Calls

    def _call(self, node_id: int, function: str, *args: Expr) -> Expr:
        return Call(node_id, function, None, args)

    def _operator(self, node_id: int, function: str, *args: Expr) -> Expr:
        return self._over(Call(node_id, function, None, args), *args, more=1)

    def _over(self, expr: Expr, *parts: Expr, more: int = 0) -> Expr:
        """Record how many operators are nested in an expression with parts, and return it; it adds `more`."""
        height = more + max([self.heights.get(part.id, 0) for part in parts], default=0)
        if height:
            self.heights[expr.id] = height
        return expr

    def _call_or_macro(self, node_id: int, function: str, target: Expr | None, args: tuple[Expr, ...]) -> Expr:
        macro = self.macros.get((function, len(args), target is not None))
        if macro is None:
            return Call(node_id, function, target, args)
        offset = self.offsets[node_id]
        builder = Builder(self._id, self.offsets, offset)
        try:
            return macro(builder, target if target is not None else Unspecified(0), args)
        except MacroError as error:
            return self._report(self.offsets.get(error.node_id, offset), error.text)
