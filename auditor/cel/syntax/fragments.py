"""Further errors in the parts of a text that is not an expression.

A separate module, which the parser imports only after it has failed.
Source: cel-go parser/parser.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.cel.errors import Issue
from auditor.cel.syntax.ast import Call, Ident, ListLiteral, Literal, MapLiteral, Select, StructLiteral, Unspecified
from auditor.cel.syntax.lexer import Token
from auditor.cel.syntax.parser import LEVELS, MAX_DEPTH, RESERVED, TOO_DEEP, Parser, Stop
from auditor.cel.syntax.recovery import Tree, parse_broken
from auditor.releases import changes

if TYPE_CHECKING:
    from auditor.cel.syntax.ast import Expr

__all__ = ["Fragments"]


class Fragments(Parser):
    """Finds further errors in the parts of a text that is not an expression."""

    def complaints(self) -> list[Issue]:
        """Return all errors."""
        tree, found = parse_broken(self.text, self.tokens, self.skipped)
        self.issues = [
            Issue(-1, 0, complaint) if offset is None else self._issue(offset, complaint) for offset, complaint in found
        ]
        try:
            if tree is not None:
                self._read(tree)
        except Stop:
            self.issues.append(Issue(-1, 0, TOO_DEEP))
        return self.issues

    def _nested(self, tree: Tree) -> Expr:
        """Read an operator and its operands."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Stop
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
        function = next(each[sign.kind] for each in LEVELS if sign.kind in each)
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
        dot, name = _token(tree, "."), _rule(tree, 1) or _token(tree, "IDENTIFIER")
        if dot is None or name is None:
            return Unspecified(self._id(tree.offset))
        field = self._field_name(name, name.offset) if isinstance(name, Tree) else name.text
        if _token(tree, "?") is not None:
            literal = Literal(self._id(name.offset), field)
            return Call(self._id(dot.offset), "_?._", None, (operand, literal))
        return Select(self._id(dot.offset), operand, field or "")

    def _field_name(self, tree: Tree | None, offset: int) -> str | None:
        token = None if tree is None else next(iter(_tokens(tree)), None)
        if token is None:
            self._report(offset, "unsupported ident kind")
            return None
        return self._field(token, offset) or None

    def _read_arguments(self, tree: Tree) -> tuple[Expr, ...]:
        listed = next((each for each in _rules(tree) if each.rule == "exprList"), None)
        return () if listed is None else tuple(self._read(each) for each in _rules(listed))

    def _read_primary(self, tree: Tree) -> Expr:
        alternative = tree.alternative
        if alternative > 1 and not changes.BACKTICKS_ARE_READ.holds:
            alternative += 1  # names and calls are one there
        match alternative:
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
                return MapLiteral(node_id, ()) if alternative == 5 else StructLiteral(node_id, "", ())
            case 3 | 7:
                return self._read(_rule(tree))
        return Unspecified(self._id(-1))

    def _read_name(self, tree: Tree) -> Expr:
        name, paren = _token(tree, "IDENTIFIER"), _token(tree, "(")
        if name is None:
            return Unspecified(self._id(tree.offset))
        if name.text in RESERVED:
            return self._report(tree.offset, f"reserved identifier: {name.text}")
        dotted = ("" if _token(tree, ".") is None else ".") + name.text
        if tree.alternative == 1 and paren is None:
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
            elif not changes.BACKTICKS_ARE_READ.holds:
                if _token(keys[index], "IDENTIFIER") is None:
                    return
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
