"""The structure of the code, where the import linter cannot see it: lazy names, sizes, private names, cycles."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tests.style.files import Module, Project

__all__ = [
    "modules_import_in_one_direction",
    "modules_say_what_they_are",
    "names_of_other_layers_are_not_used",
    "private_names_are_not_imported",
    "sizes_are_small",
]

MOST_FILES: Final = 20
MOST_LINES: Final = 500
LONG: Final = {
    "auditor/builtin/builtin_columns.py",
    "auditor/cel/emit/emitter.py",
    "auditor/cel/run/interpreter.py",
    "auditor/printing/jsonpath.py",
}
"""Files over 500 lines. No other may grow as long; the docstring of each says why (`Over 500 lines: ...`)."""
LONG_FUNCTIONS: Final = {
    "auditor/crds/definition.py::definition_type",
    "auditor/store/manifest.py::write_manifest",
}
"""Functions of 80 lines and more; the docstring of each says why (`Over 80 lines: ...`)."""
MOST_FUNCTION_LINES: Final = 80
EMITTER: Final = "auditor/fastpath/dicts/"
"""The folder whose modules may import each other in a circle: writing the code of an object writes that of its fields."""
CYCLES: Final[dict[frozenset[str], str]] = {}
"""Other modules that import each other in a circle, each with the reason."""
DEFINITIONS: Final = "auditor/crds/definitions_file.py"
"""The one module that opens the file of definitions."""
OPENING: Final = {"auditor/__init__.py": "pipelines.run.python_api"}
"""The one name of a module of pipelines in auditor: `auditor.open` opens dumps as commands do, when it is asked for."""
_THIS: Final = "tests/style/structure.py"


def names_of_other_layers_are_not_used(project: Project) -> Iterator[str]:
    """auditor names no module of pipelines but one, not even as text; one module opens the file of definitions."""
    for module in project.sources():
        for line, text in module.values:
            is_other = module.name.startswith("auditor/") and OPENING.get(module.name) != text
            if is_other and re.fullmatch(r"pipelines(\.\w+)*", text):
                yield f"{module.name}:{line}: auditor names {text!r}: let pipelines pass what is needed"
            if text == "definitions.ndjson" and module.name != DEFINITIONS:
                yield f"{module.name}:{line}: a name of the file of definitions: ask {DEFINITIONS}"
        for match in re.finditer(r"\bdefinitions\)?\.(open|read_bytes|read_text)\(", module.text):
            line = module.text.count("\n", 0, match.start()) + 1
            yield f"{module.name}:{line}: the file of definitions is opened: ask {DEFINITIONS}"
    reader = project.named(DEFINITIONS)
    if reader is None or "definitions.ndjson" not in [text for _, text in reader.values]:
        yield f"{DEFINITIONS}:1: it does not name the file of definitions: correct {_THIS}"


def sizes_are_small(project: Project) -> Iterator[str]:
    """Folders, files and functions of the product are small, except those listed, whose docstrings say why they are not."""
    sources = project.sources()
    for folder, count in Counter(module.name.rpartition("/")[0] for module in sources).items():
        if count > MOST_FILES:
            yield f"{folder}:1: {count} files: split the folder, {MOST_FILES} at most"
    long: dict[str, tuple[int, str]] = {}
    for module in sources:
        lines = len(module.text.splitlines())
        if lines > MOST_LINES:
            long[module.name] = 1, _reason(module.tree, MOST_LINES)
            if module.name not in LONG:
                yield f"{module.name}:1: {lines} lines: split the file, {MOST_LINES} at most"
        for function in module.functions():
            lines = (function.end_lineno or 0) - function.lineno + 1
            if lines >= MOST_FUNCTION_LINES:
                name = f"{module.name}::{function.name}"
                long[name] = function.lineno, _reason(function, MOST_FUNCTION_LINES)
                if name not in LONG_FUNCTIONS:
                    yield f"{module.name}:{function.lineno}: {function.name} has {lines} lines: split it, fewer than 80"
    for name in sorted(LONG | LONG_FUNCTIONS):
        if name not in long:
            yield f"{_THIS}:1: {name} is no longer long: remove it from the list"
        elif not long[name][1]:
            yield f"{name.partition('::')[0]}:{long[name][0]}: no reason for the length: `Over N lines: ...` in the docstring"


def _reason(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef, limit: int) -> str:
    said = re.search(rf"Over {limit} lines: \S[^\n]{{20,}}", ast.get_docstring(node) or "")
    return said[0] if said else ""


def modules_say_what_they_are(project: Project) -> Iterator[str]:
    """Each module and package of the product has a docstring."""
    for module in project.sources():
        if not ast.get_docstring(module.tree) and not module.name.endswith("__main__.py"):
            yield f"{module.name}:1: no docstring: say what the module is for"


def private_names_are_not_imported(project: Project) -> Iterator[str]:
    """No private name is imported, of a library or of another module."""
    for module in project.sources():
        for node in module.nodes:
            for each in node.names if isinstance(node, ast.ImportFrom) else ():
                if each.name.startswith("_") and not each.name.startswith("__"):
                    yield f"{module.name}:{node.lineno}: {each.name} of {node.module} is private: use a public name"


def modules_import_in_one_direction(project: Project) -> Iterator[str]:
    """No modules import each other in a circle: at their top, for types alone, or within a function."""
    modules = {_dotted(module.name): module for module in project.sources()}
    graph: dict[str, set[str]] = {}
    for name, module in modules.items():
        imports, relative = imports_of(module, modules)
        graph[name] = imports - {name}
        for line in relative:
            yield f"{module.name}:{line}: a relative import: name the module in full"
    cycles = {cycle for cycle in cycles_of(graph) if not all(modules[name].name.startswith(EMITTER) for name in cycle)}
    for cycle in sorted(map(sorted, cycles - CYCLES.keys())):
        yield f"{modules[cycle[0]].name}:1: a circle of imports, {', '.join(cycle)}: move what is shared below them"
    for known in sorted(map(sorted, CYCLES.keys() - cycles)):
        yield f"{_THIS}:1: {', '.join(known)} are no circle: remove it from the list"


def _dotted(name: str) -> str:
    """Return the name by which a module of a path is imported."""
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports_of(module: Module, modules: Collection[str]) -> tuple[set[str], list[int]]:
    """Return which of some modules a module imports, and the lines of relative imports."""
    found: set[str] = set()
    relative = []
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom):
            if node.level or node.module is None:
                relative.append(node.lineno)
                continue
            names = (f"{node.module}.{each.name}" for each in node.names)
            found |= {name if name in modules else node.module for name in names}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return {name for name in found if name in modules}, relative


def cycles_of(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the sets of modules that all import each other, in some steps."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        pending = [start]
        while pending:
            new = graph[pending.pop()] - seen
            seen |= new
            pending += new
        return seen

    below = {name: reached(name) for name in graph}
    return {
        frozenset({*(other for other in below[name] if name in below[other])}) for name in graph if name in below[name]
    }
