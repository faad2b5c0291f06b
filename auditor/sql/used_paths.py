"""Which fields of structs a statement names, by its syntax tree: what it does not name need not be read.

DuckDB asks a table for whole columns. A field of a struct is used only where the syntax tree has a reference that goes
through the column: ``spec.dnsNames``, ``c.spec.dnsNames``. Which of its names is a table, a column or a field is not
decided: each of its ends may be the path of a field. A statement that uses columns without naming them (``*``, a table
as a value, NATURAL JOIN, DESCRIBE), or whose tree has a part that is not known here, uses all fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.columns.kind_columns import REST

if TYPE_CHECKING:
    from auditor.columns.column_types import Paths


_TABLES: Final = frozenset({"BASE_TABLE", "JOIN", "SUBQUERY", "EMPTY", "TABLE_FUNCTION"})
_JOINS: Final = frozenset({"REGULAR", "CROSS", "POSITIONAL"})
_FUNCTIONS: Final = frozenset({"unnest", "generate_series", "range"})
"""Functions of tables that run no statement and read no table by its name."""
_NAMELESS: Final = frozenset({"STAR", "POSITIONAL_REFERENCE"})
"""Classes of expressions that use columns without naming them."""


def used_paths(database: Any, statement: str) -> Paths | None:
    """Return the paths, in lower case, of the fields that a statement names, from a column or a table on.

    Args:
        database: A connection to DuckDB.
        statement: One statement.

    Returns:
        The paths; None if it may use fields that it does not name.
    """
    [[text]] = database.execute("SELECT json_serialize_sql(?::VARCHAR)", [statement]).fetchall()
    tables: set[str] = set()
    chains: set[tuple[str, ...]] = set()
    todo: list[Any] = [orjson.loads(text)]
    if todo[0]["error"]:
        return None
    while todo:
        node = todo.pop()
        if type(node) is list:
            todo += node
        elif type(node) is dict:
            if node.get("class") in _NAMELESS or not _is_known_table(node):
                return None
            names = node.get("column_names")
            if names:
                chains.add(tuple(name.lower() for name in names))
            chains |= {(name.lower(),) for name in node.get("using_columns") or ()}
            if _is_table(node):
                tables |= {node[key].lower() for key in ("table_name", "alias") if node.get(key)}
            todo += node.values()
    if any(chain[-1] in tables or chain[-1] == REST for chain in chains):
        return None
    return frozenset(chain[start:] for chain in chains for start in range(len(chain)))


def _is_table(node: dict[str, Any]) -> bool:
    """Return whether a node is a table of FROM."""
    return "sample" in node and "query_location" in node


def _is_known_table(node: dict[str, Any]) -> bool:
    """Return whether a node is no table, or one whose columns are used by their names alone."""
    if not _is_table(node):
        return True
    kind = node["type"]
    if kind == "JOIN":
        return node.get("ref_type") in _JOINS
    if kind == "TABLE_FUNCTION":
        return node["function"].get("function_name") in _FUNCTIONS
    return kind in _TABLES and not node.get("column_name_alias")
