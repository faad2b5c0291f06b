"""From text to tree: recursive descent over the grammar of CEL, with macros expanded on the way.

Numbers are given to nodes in the order in which cel-go gives them, and a node stands where cel-go says it stands: a
call at its opening parenthesis, a selection at its dot, an operator at its sign. The first syntax error ends the
parse (cel-go would recover and look for more); complaints about a name, a literal or a macro do not.
Source: cel-go parser/parser.go, parser/gen/CEL.g4.
"""

from __future__ import annotations

import sys

from auditor.cel.ast import (
    Call,
    Expr,
    Ident,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    ParsedExpression,
    Select,
    StructField,
    StructLiteral,
    Unspecified,
    line_and_column,
)
from auditor.cel.errors import Issue
from auditor.cel.lexer import END, Token, tokenize
from auditor.cel.literals import parse_double, parse_int, unescape_bytes, unescape_string
from auditor.cel.macros import MACROS, Builder, MacroError
from auditor.cel.values import UInt

__all__ = ["parse"]

MAX_CODE_POINTS = 100_000
MAX_DEPTH = 250
_FRAMES = 20_000  # of Python, enough for MAX_DEPTH of every rule

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
_STARTS = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_PRIMARY_STARTS = (
    "{'[', '{', '(', '.', '-', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_OPERATORS = "'==', '!=', 'in', '<', '<=', '>=', '>', '&&', '||', '[', '.', '-', '?', '+', '*', '/', '%'"


class _Stop(Exception):
    """The parse cannot go on; what was wrong is in the list of issues."""


def parse(text: str) -> tuple[ParsedExpression | None, list[Issue]]:
    """Parse an expression.

    Args:
        text: The source.

    Returns:
        The tree (None where there is none) and what is wrong with the text, empty where nothing is.
    """
    if len(text) > MAX_CODE_POINTS:
        complaint = f"expression code point size exceeds limit: size: {len(text)}, limit {MAX_CODE_POINTS}"
        return None, [Issue(-1, 0, complaint)]
    if sys.getrecursionlimit() < _FRAMES:
        sys.setrecursionlimit(_FRAMES)
    parser = _Parser(text)
    try:
        root = parser.start()
    except _Stop:
        return None, parser.issues
    return ParsedExpression(text, root, parser.offsets), parser.issues


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.offsets: dict[int, int] = {}
        self.next_id = 1
        self.depth = 0
        self.tokens, errors = tokenize(text)
        self.issues = [self._issue(offset, complaint) for offset, complaint in errors]
        self.position = 0

    # Tokens

    def _issue(self, offset: int, complaint: str) -> Issue:
        return Issue(*line_and_column(self.text, offset), complaint)

    def _report(self, offset: int, complaint: str) -> Expr:
        node = Unspecified(self._id(offset))
        self.issues.append(self._issue(offset, complaint))
        return node

    def _syntax_error(self, token: Token, complaint: str) -> _Stop:
        self.issues.append(self._issue(token.offset, f"Syntax error: {complaint}"))
        return _Stop()

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

    def _expect(self, kind: str, others: str = "") -> Token:
        token = self._peek()
        if token.kind == kind:
            return self._next()
        wanted = kind if kind.isupper() or kind == END else f"'{kind}'"
        if others:
            wanted = f"{{{others.replace('@', wanted)}}}"
        if self._peek(1).kind == kind and token.kind != END:
            raise self._syntax_error(token, f"extraneous input '{token.text}' expecting {wanted}")
        raise self._syntax_error(token, f"mismatched input '{token.text}' expecting {wanted}")

    def _id(self, offset: int) -> int:
        number = self.next_id
        self.next_id += 1
        self.offsets[number] = offset
        return number

    # Rules

    def start(self) -> Expr:
        root = self._expr()
        token = self._peek()
        if token.kind != END:
            if self._peek(1).kind == END:
                raise self._syntax_error(token, f"extraneous input '{token.text}' expecting {END}")
            raise self._syntax_error(token, f"mismatched input '{token.text}' expecting {{{END}, {_OPERATORS}}}")
        return root

    def _expr(self) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.issues.append(Issue(-1, 0, f"expression recursion limit exceeded: {MAX_DEPTH}"))
            raise _Stop
        condition = self._logic("||")
        if self._peek().kind == "?":
            node_id = self._id(self._next().offset)
            yes = self._logic("||")
            self._expect(
                ":", "'==', '!=', 'in', '<', '<=', '>=', '>', '&&', '||', '[', '.', '-', '+', @, '*', '/', '%'"
            )
            condition = self._call(node_id, "_?_:_", condition, yes, self._expr())
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
        return Call(ids[middle], function, None, (left, right))

    def _binary(self, level: int) -> Expr:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        operators = _LEVELS[level]
        count = 0
        while self._peek().kind in operators:
            token = self._next()
            count += 1
            if count >= MAX_DEPTH:
                self.issues.append(Issue(-1, 0, "max recursion depth exceeded"))
                raise _Stop
            node_id = self._id(token.offset)
            left = self._call(node_id, operators[token.kind], left, self._binary(level + 1))
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
            return self._member(after_sign=True)
        node_id = self._id(sign.offset)
        return self._call(node_id, "!_" if sign.kind == "!" else "-_", self._member(after_sign=True))

    def _member(self, *, after_sign: bool = False) -> Expr:
        operand = self._primary(after_sign=after_sign)
        count = 0
        while True:
            token = self._peek()
            if token.kind == "[":
                operand = self._index(operand)
            elif token.kind == ".":
                operand = self._selection(operand)
            else:
                return operand
            count += 1
            if count >= MAX_DEPTH:
                self.issues.append(Issue(-1, 0, "max recursion depth exceeded"))
                raise _Stop

    def _index(self, operand: Expr) -> Expr:
        node_id = self._id(self._next().offset)
        function = "_[?_]" if self._accept("?") else "_[_]"
        index = self._expr()
        self._expect(
            "]", "'==', '!=', 'in', '<', '<=', '>=', '>', '&&', '||', '[', @, '.', '-', '?', '+', '*', '/', '%'"
        )
        return self._call(node_id, function, operand, index)

    def _selection(self, operand: Expr) -> Expr:
        dot = self._next()
        optional = self._accept("?") is not None
        name = self._peek()
        if name.kind not in ("IDENTIFIER", "ESC_IDENTIFIER"):
            if not optional and name.kind in ("true", "false", "null"):
                raise self._syntax_error(name, f"mismatched input '{name.text}' expecting IDENTIFIER")
            if optional:
                raise self._syntax_error(
                    name, f"mismatched input '{name.text}' expecting {{IDENTIFIER, ESC_IDENTIFIER}}"
                )
            raise self._syntax_error(name, f"no viable alternative at input '.{name.text if name.kind != END else ''}'")
        self._next()
        field = name.text if name.kind == "IDENTIFIER" else name.text[1:-1]
        if optional:
            literal = Literal(self._id(name.offset), field)
            return Call(self._id(dot.offset), "_?._", None, (operand, literal))
        if name.kind == "IDENTIFIER" and self._peek().kind == "(":
            paren = self._next()
            node_id = self._id(paren.offset)
            return self._call_or_macro(node_id, name.text, operand, self._arguments())
        return Select(self._id(dot.offset), operand, field)

    def _arguments(self) -> tuple[Expr, ...]:
        if self._accept(")"):
            return ()
        args = [self._expr()]
        while self._accept(","):
            args.append(self._expr())
        self._expect(
            ")", "'==', '!=', 'in', '<', '<=', '>=', '>', '&&', '||', '[', '.', ',', @, '-', '?', '+', '*', '/', '%'"
        )
        return tuple(args)

    def _primary(self, *, after_sign: bool) -> Expr:
        token = self._peek()
        match token.kind:
            case "(":
                self._next()
                inner = self._expr()
                self._expect(
                    ")",
                    "'==', '!=', 'in', '<', '<=', '>=', '>', '&&', '||', '[', @, '.', '-', '?', '+', '*', '/', '%'",
                )
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
        expected = _PRIMARY_STARTS if after_sign else _STARTS
        raise self._syntax_error(token, f"mismatched input '{token.text}' expecting {expected}")

    def _number(self) -> Expr:
        start = self._peek()
        sign = "-" if self._accept("-") else ""
        token = self._next()
        kind = token.kind
        if kind not in ("NUM_INT", "NUM_FLOAT", "NUM_UINT") or (sign and kind == "NUM_UINT"):
            raise self._syntax_error(token, f"no viable alternative at input '-{token.text}'")
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
            if name.kind in ("true", "false", "null"):
                raise self._syntax_error(name, f"mismatched input '{name.text}' expecting IDENTIFIER")
            raise self._syntax_error(name, f"no viable alternative at input '.{name.text if name.kind != END else ''}'")
        if self._is_message():
            return self._message(dotted)
        self._next()
        if self._peek().kind != "(":
            if name.text in _RESERVED:
                return self._report(start.offset, f"reserved identifier: {name.text}")
            return Ident(self._id(name.offset), dotted + name.text)
        paren = self._next()
        if name.text in _RESERVED:
            self._arguments()
            return self._report(start.offset, f"reserved identifier: {name.text}")
        node_id = self._id(paren.offset)
        return self._call_or_macro(node_id, dotted + name.text, None, self._arguments())

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
                expected = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"
                raise self._syntax_error(field, f"mismatched input '{field.text}' expecting {expected}")
            self._next()
            field_id = self._id(self._expect(":").offset)
            text = field.text if field.kind == "IDENTIFIER" else field.text[1:-1]
            fields.append(StructField(field_id, text, self._expr(), optional))
            if self._peek().kind != "," or self._peek(1).kind == "}":
                break
            self._next()
        self._close("}")
        return StructLiteral(node_id, name, tuple(fields))

    def _close(self, kind: str) -> None:
        self._accept(",")
        self._expect(
            kind, "'==', '!=', 'in', '<', '<=', '>=', '>', '&&', '||', '[', @, '.', ',', '-', '?', '+', '*', '/', '%'"
        )

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
        return ListLiteral(node_id, tuple(elements), frozenset(optional))

    def _map(self) -> Expr:
        node_id = self._id(self._next().offset)
        entries: list[MapEntry] = []
        while self._peek().kind not in ("}", ","):
            optional = self._accept("?") is not None
            reserved = self._id(-1)  # the colon's number comes first
            key = self._expr()
            colon = self._expect(
                ":", "'==', '!=', 'in', '<', '<=', '>=', '>', '&&', '||', '[', '.', '-', '?', '+', @, '*', '/', '%'"
            )
            self.offsets[reserved] = colon.offset
            entries.append(MapEntry(reserved, key, self._expr(), optional))
            if self._peek().kind != "," or self._peek(1).kind == "}":
                break
            self._next()
        self._close("}")
        return MapLiteral(node_id, tuple(entries))

    # Calls

    def _call(self, node_id: int, function: str, *args: Expr) -> Expr:
        return Call(node_id, function, None, args)

    def _call_or_macro(self, node_id: int, function: str, target: Expr | None, args: tuple[Expr, ...]) -> Expr:
        macro = MACROS.get((function, len(args), target is not None))
        if macro is None:
            return Call(node_id, function, target, args)
        offset = self.offsets[node_id]
        builder = Builder(self._id, self.offsets, offset)
        try:
            return macro(builder, target if target is not None else Unspecified(0), args)
        except MacroError as error:
            return self._report(self.offsets.get(error.node_id, offset), error.text)
