"""From text to tree: recursive descent over the grammar of CEL, with macros expanded on the way.

Nodes have the numbers and positions of cel-go: a call is at its opening parenthesis, a selection at its dot, an
operator at its sign. The first syntax error ends the parse, and `recovery.py` finds the server's messages. Errors about
a name, a literal or a macro do not end it.
Source: cel-go parser/parser.go, parser/gen/CEL.g4.
"""

from __future__ import annotations

from auditor.cel.errors import Issue
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
from auditor.cel.syntax.lexer import END, Token, tokenize
from auditor.cel.syntax.literals import parse_double, parse_int, unescape_bytes, unescape_string
from auditor.cel.syntax.macros import ACCUMULATOR, MACROS, ONE_VARIABLE_MACROS, WRITTEN_ACCUMULATOR, Builder, MacroError
from auditor.cel.values import UInt
from auditor.releases import changes

__all__ = ["LEVELS", "MAX_DEPTH", "RESERVED", "TOO_DEEP", "Parser", "Stop"]

MAX_DEPTH = 250

RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
    "namespace", "null", "package", "return", "true", "var", "void", "while",
})  # fmt: skip
_RELATIONS = {
    "<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_", "==": "_==_", "!=": "_!=_", "in": "@in",
}  # fmt: skip
_SUMS = {"+": "_+_", "-": "_-_"}
_PRODUCTS = {"*": "_*_", "/": "_/_", "%": "_%_"}
LEVELS = (_RELATIONS, _SUMS, _PRODUCTS)
TOO_DEEP = "max recursion depth exceeded"


class Stop(Exception):
    """The text is not an expression, or too deep."""


class Parser:
    """A recursive descent over the tokens of one text; `auditor.cel.syntax.recovery` finds the server's errors."""

    def __init__(self, text: str, *, pairs: bool = True) -> None:
        self.text = text
        self.macros = MACROS if pairs else ONE_VARIABLE_MACROS
        self.offsets: dict[int, int] = {}
        self.next_id = 1
        self.depth = 0
        self.heights: dict[int, int] = {}
        self.tokens, self.skipped = tokenize(text)
        self.issues = [self._issue(start, f"Syntax error: {complaint}") for start, _, complaint in self.skipped]
        self.position = 0

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

    def _expect(self, kind: str) -> Token:
        if self._peek().kind != kind:
            raise Stop
        return self._next()

    def _id(self, offset: int) -> int:
        number = self.next_id
        self.next_id += 1
        self.offsets[number] = offset
        return number

    # Rules

    def start(self) -> Expr:
        """Return the tree of the whole text."""
        root = self._expr()
        self._expect(END)
        return root

    def _expr(self) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Stop
        condition = self._logic("||")
        if self._peek().kind == "?":
            node_id = self._id(self._next().offset)
            yes = self._logic("||")
            self._expect(":")
            condition = self._operator(node_id, "_?_:_", condition, yes, self._expr())
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
        if level == len(LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        operators = LEVELS[level]
        while self._peek().kind in operators:
            token = self._next()
            node_id = self._id(token.offset)
            left = self._operator(node_id, operators[token.kind], left, self._binary(level + 1))
        return left

    def _unary(self) -> Expr:
        sign = self._peek()
        if sign.kind not in ("!", "-"):
            return self._member()
        if sign.kind == "-" and self._peek(1).kind in ("NUM_INT", "NUM_FLOAT"):
            return self._member()
        count = 0
        while self._accept(sign.kind):
            count += 1
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
        function = "_[?_]" if self._accept("?") else "_[_]"
        index = self._expr()
        self._expect("]")
        return self._operator(node_id, function, operand, index)

    def _selection(self, operand: Expr) -> Expr:
        dot = self._next()
        optional = self._accept("?") is not None
        name = self._peek()
        if name.kind not in ("IDENTIFIER", "ESC_IDENTIFIER"):
            raise Stop
        self._next()
        if name.kind == "ESC_IDENTIFIER" and not changes.QUOTED_FIELDS.holds:
            return self._report(name.offset, "unsupported syntax: '`'")
        field = name.text if name.kind == "IDENTIFIER" else name.text[1:-1]
        if optional:
            literal = Literal(self._id(name.offset), field)
            return self._over(Call(self._id(dot.offset), "_?._", None, (operand, literal)), operand, more=1)
        if name.kind == "IDENTIFIER" and self._peek().kind == "(":
            paren = self._next()
            node_id = self._id(paren.offset)
            args = self._arguments()
            return self._over(self._call_or_macro(node_id, name.text, operand, args), operand, *args, more=1)
        return self._over(Select(self._id(dot.offset), operand, field), operand, more=1)

    def _arguments(self) -> tuple[Expr, ...]:
        if self._accept(")"):
            return ()
        args = [self._expr()]
        while self._accept(","):
            args.append(self._expr())
        self._expect(")")
        return tuple(args)

    def _primary(self) -> Expr:
        token = self._peek()
        match token.kind:
            case "(":
                self._next()
                inner = self._expr()
                self._expect(")")
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
        raise Stop

    def _number(self) -> Expr:
        start = self._peek()
        sign = "-" if self._accept("-") else ""
        token = self._next()
        kind = token.kind
        if kind not in ("NUM_INT", "NUM_FLOAT", "NUM_UINT") or (sign and kind == "NUM_UINT"):
            raise Stop
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
            raise Stop
        if self._is_message():
            return self._message(dotted)
        self._next()
        if self._peek().kind != "(":
            if name.text in RESERVED:
                return self._report(start.offset, f"reserved identifier: {name.text}")
            if name.text == WRITTEN_ACCUMULATOR and not changes.NO_RESULT_VARIABLE.holds:
                return Ident(self._id(name.offset), dotted + ACCUMULATOR)
            return Ident(self._id(name.offset), dotted + name.text)
        paren = self._next()
        if name.text in RESERVED:
            known = len(self.issues)
            self._arguments()
            del self.issues[known:]
            return self._report(start.offset, f"reserved identifier: {name.text}")
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
        fields: list[StructField] = []
        while self._peek().kind not in ("}", ","):
            optional = self._accept("?") is not None
            field = self._peek()
            if field.kind not in ("IDENTIFIER", "ESC_IDENTIFIER"):
                raise Stop
            self._next()
            field_id = self._id(self._expect(":").offset)
            text = field.text if field.kind == "IDENTIFIER" else field.text[1:-1]
            fields.append(StructField(field_id, text, self._expr(), optional))
            if self._peek().kind != "," or self._peek(1).kind == "}":
                break
            self._next()
        self._close("}")
        return self._over(StructLiteral(node_id, name, tuple(fields)), *(field.value for field in fields))

    def _close(self, kind: str) -> None:
        self._accept(",")
        self._expect(kind)

    def _list(self) -> Expr:
        node_id = self._id(self._next().offset)
        elements: list[Expr] = []
        optional: set[int] = set()
        while self._peek().kind not in ("]", ","):
            if self._accept("?"):
                optional.add(len(elements))
            elements.append(self._expr())
            if self._peek().kind != "," or self._peek(1).kind == "]":
                break
            self._next()
        self._close("]")
        return self._over(ListLiteral(node_id, tuple(elements), frozenset(optional)), *elements)

    def _map(self) -> Expr:
        node_id = self._id(self._next().offset)
        entries: list[MapEntry] = []
        while self._peek().kind not in ("}", ","):
            optional = self._accept("?") is not None
            reserved = self._id(-1)  # the number of the colon comes first
            key = self._expr()
            colon = self._expect(":")
            self.offsets[reserved] = colon.offset
            entries.append(MapEntry(reserved, key, self._expr(), optional))
            if self._peek().kind != "," or self._peek(1).kind == "}":
                break
            self._next()
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
