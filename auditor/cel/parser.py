"""From text to tree: recursive descent over the grammar of CEL, with macros expanded on the way.

Numbers are given to nodes in the order in which cel-go gives them, and a node stands where cel-go says it stands: a
call at its opening parenthesis, a selection at its dot, an operator at its sign. The first syntax error ends the
parse, and `recovery.py` is asked what the server would say. Complaints about a name, a literal or a macro do not end
it.
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
from auditor.cel.recovery import Tree, parse_broken
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
_MOST_COMPLAINTS = 100
_TOO_DEEP = "max recursion depth exceeded"


class _Stop(Exception):
    """The text is no expression, or one that is too deep."""


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
        if parser.heights.get(root.id, 0) > MAX_DEPTH or len(parser.skipped) > _MOST_COMPLAINTS:
            if not parser.issues:
                return None, [Issue(-1, 0, _TOO_DEEP)]
            raise _Stop  # noqa: TRY301 - what was found may not be all, or too much
    except _Stop:
        return None, _Fragments(text).complaints()
    return ParsedExpression(text, root, parser.offsets), parser.issues


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
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
            raise _Stop
        return self._next()

    def _id(self, offset: int) -> int:
        number = self.next_id
        self.next_id += 1
        self.offsets[number] = offset
        return number

    # Rules

    def start(self) -> Expr:
        root = self._expr()
        self._expect(END)
        return root

    def _expr(self) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _Stop
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
            raise _Stop
        self._next()
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
        raise _Stop

    def _number(self) -> Expr:
        start = self._peek()
        sign = "-" if self._accept("-") else ""
        token = self._next()
        kind = token.kind
        if kind not in ("NUM_INT", "NUM_FLOAT", "NUM_UINT") or (sign and kind == "NUM_UINT"):
            raise _Stop
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
            raise _Stop
        if self._is_message():
            return self._message(dotted)
        self._next()
        if self._peek().kind != "(":
            if name.text in _RESERVED:
                return self._report(start.offset, f"reserved identifier: {name.text}")
            return Ident(self._id(name.offset), dotted + name.text)
        paren = self._next()
        if name.text in _RESERVED:
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
                raise _Stop
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
            reserved = self._id(-1)  # the colon's number comes first
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
        """Note how many operators are nested in an expression made of others, which has `more` itself; return it."""
        height = more + max([self.heights.get(part.id, 0) for part in parts], default=0)
        if height:
            self.heights[expr.id] = height
        return expr

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


class _Fragments(_Parser):
    """What can be said of the parts of a text that is no expression, beyond what keeps it from being one."""

    def complaints(self) -> list[Issue]:
        """Return all that is wrong."""
        tree, found = parse_broken(self.text, self.tokens, self.skipped)
        self.issues = [
            Issue(-1, 0, complaint) if offset is None else self._issue(offset, complaint) for offset, complaint in found
        ]
        try:
            if tree is not None:
                self._read(tree)
        except _Stop:
            self.issues.append(Issue(-1, 0, _TOO_DEEP))
        return self.issues

    def _nested(self, tree: Tree) -> Expr:
        """Read an operator and what it is applied to."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _Stop
        read = {"expr": self._read_conditional, "member": self._read_member}.get(tree.rule, self._read_binary)
        found = read(tree)
        self.depth -= 1
        return found

    def _read(self, tree: Tree | None) -> Expr:
        if tree is None:
            return Unspecified(self._id(-1))
        match tree.rule:
            case "conditionalOr" | "conditionalAnd":
                return self._read_logic(tree)
            case "unary":
                return self._read_unary(tree)
            case "primary":
                return self._read_primary(tree)
            case "literal":
                return self._read_literal(tree)
        is_operator = tree.alternative or (tree.rule == "expr" and _token(tree, "?") is not None)
        return self._nested(tree) if is_operator else self._read(_rule(tree))

    def _read_conditional(self, tree: Tree) -> Expr:
        condition = self._read(_rule(tree))
        node_id = self._id(_tokens(tree)[0].offset)
        return self._call(node_id, "_?_:_", condition, self._read(_rule(tree, 1)), self._read(_rule(tree, 2)))

    def _read_logic(self, tree: Tree) -> Expr:
        sign = "||" if tree.rule == "conditionalOr" else "&&"
        terms, ids = [self._read(_rule(tree))], []
        for token, part in zip(_tokens(tree), _rules(tree)[1:], strict=False):
            terms.append(self._read(part))
            ids.append(self._id(token.offset))
        return self._balanced(f"_{sign}_", terms, ids, 0, len(ids) - 1) if ids else terms[0]

    def _read_binary(self, tree: Tree) -> Expr:
        sign = next(iter(_tokens(tree)), None)
        if sign is None:
            return self._read(None)
        left = self._read(_rule(tree))
        node_id = self._id(sign.offset)
        function = next(each[sign.kind] for each in _LEVELS if sign.kind in each)
        return self._call(node_id, function, left, self._read(_rule(tree, 1)))

    def _read_unary(self, tree: Tree) -> Expr:
        if not tree.alternative:
            return Literal(self._id(tree.offset), "<<error>>")
        signs = _tokens(tree)
        if len(signs) % 2 == 0:
            return self._read(_rule(tree))
        node_id = self._id(signs[0].offset)
        return self._call(node_id, "!_" if tree.alternative == 2 else "-_", self._read(_rule(tree)))

    def _read_member(self, tree: Tree) -> Expr:
        operand = self._read(_rule(tree))
        match tree.alternative:
            case 1:
                return self._read_select(tree, operand)
            case 2:
                name, paren = _token(tree, "IDENTIFIER"), _token(tree, "(")
                if name is None:
                    return Unspecified(self._id(tree.offset))
                node_id = self._id(-1 if paren is None else paren.offset)
                return self._call_or_macro(node_id, name.text, operand, self._read_arguments(tree))
            case 3:
                bracket = _token(tree, "[")
                if bracket is None:
                    return Unspecified(self._id(tree.offset))
                node_id = self._id(bracket.offset)
                function = "_[_]" if _token(tree, "?") is None else "_[?_]"
                return self._call(node_id, function, operand, self._read(_rule(tree, 1)))
        return operand

    def _read_select(self, tree: Tree, operand: Expr) -> Expr:
        dot, name = _token(tree, "."), _rule(tree, 1)
        if dot is None or name is None:
            return Unspecified(self._id(tree.offset))
        field = self._field_name(name, name.offset)
        if _token(tree, "?") is not None:
            literal = Literal(self._id(name.offset), field)
            return Call(self._id(dot.offset), "_?._", None, (operand, literal))
        return Select(self._id(dot.offset), operand, field or "")

    def _field_name(self, tree: Tree | None, offset: int) -> str | None:
        token = None if tree is None else next(iter(_tokens(tree)), None)
        if token is None:
            self._report(offset, "unsupported ident kind")
            return None
        return token.text if token.kind == "IDENTIFIER" else token.text[1:-1]

    def _read_arguments(self, tree: Tree) -> tuple[Expr, ...]:
        listed = next((each for each in _rules(tree) if each.rule == "exprList"), None)
        return () if listed is None else tuple(self._read(each) for each in _rules(listed))

    def _read_primary(self, tree: Tree) -> Expr:
        match tree.alternative:
            case 1 | 2:
                return self._read_name(tree)
            case 4:
                node_id = self._id(tree.offset)
                listed = _rule(tree)
                items = [] if listed is None else [self._read(_rule(each)) for each in _rules(listed)]
                return ListLiteral(node_id, tuple(items))
            case 5 | 6:
                brace = _token(tree, "{")
                node_id = self._id(-1 if brace is None else brace.offset)
                listed = _rule(tree)
                if listed is not None:
                    self._read_entries(listed)
                return MapLiteral(node_id, ()) if tree.alternative == 5 else StructLiteral(node_id, "", ())
            case 3 | 7:
                return self._read(_rule(tree))
        return Unspecified(self._id(-1))

    def _read_name(self, tree: Tree) -> Expr:
        name, paren = _token(tree, "IDENTIFIER"), _token(tree, "(")
        if name is None:
            return Unspecified(self._id(tree.offset))
        if name.text in _RESERVED:
            return self._report(tree.offset, f"reserved identifier: {name.text}")
        dotted = ("" if _token(tree, ".") is None else ".") + name.text
        if tree.alternative == 1:
            return Ident(self._id(name.offset), dotted)
        node_id = self._id(-1 if paren is None else paren.offset)
        return self._call_or_macro(node_id, dotted, None, self._read_arguments(tree))

    def _read_entries(self, tree: Tree) -> None:
        keys = [each for each in _rules(tree) if each.rule != "expr"]
        values = [each for each in _rules(tree) if each.rule == "expr"]
        colons = [each for each in _tokens(tree) if each.kind == ":"]
        is_map = tree.rule == "mapInitializerList"
        for index in range(len(colons if is_map else keys)):
            if index >= min(len(keys), len(colons), len(values)):
                return
            if is_map:
                self._read(_rule(keys[index]))
            elif self._field_name(_rule(keys[index]), tree.offset) is None:
                continue
            self._read(values[index])

    def _read_literal(self, tree: Tree) -> Expr:
        if not tree.alternative:
            return Unspecified(self._id(-1))
        self.position = self.tokens.index(_tokens(tree)[0])
        return self._primary()


def _rules(tree: Tree) -> list[Tree]:
    return [part for part in tree.parts if isinstance(part, Tree)]


def _rule(tree: Tree, index: int = 0) -> Tree | None:
    found = _rules(tree)
    return found[index] if index < len(found) else None


def _tokens(tree: Tree) -> list[Token]:
    return [part for part in tree.parts if isinstance(part, Token)]


def _token(tree: Tree, kind: str) -> Token | None:
    return next((token for token in _tokens(tree) if token.kind == kind), None)
