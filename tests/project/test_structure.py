"""The structure of the code, where the import linter cannot see it: lazy names, sizes, broad handlers."""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

SOURCES = sorted(path for name in ("auditor", "pipelines") for path in (ROOT / name).rglob("*.py"))
MOST_FILES = 20
MOST_LINES = 500
LONG = {
    "auditor/builtin/columns.py",
    "auditor/cel/emit/emitter.py",
    "auditor/cel/run/interpreter.py",
    "auditor/cel/syntax/recovery.py",
    "auditor/printing/jsonpath.py",
}
"""Files over 500 lines. No other may grow as long; the docstring of each says why (`Over 500 lines: ...`)."""
LONG_FUNCTIONS = {
    "auditor/crds/definition.py::definition_type",
    "auditor/report/manifest.py::write_manifest",
    "pipelines/cli/upgrade.py::upgrade",
}
"""Functions of 80 lines and more; the docstring of each says why (`Over 80 lines: ...`)."""
MOST_FUNCTION_LINES = 80
PRIVATE_OF_LIBRARIES = {
    ("multiprocess.forkserver", "_forkserver"),
}
"""Private names of libraries that are imported. Each library has an upper bound in pyproject.toml."""


def texts_of(path: Path) -> list[str]:
    """Return all string constants of a module that are no docstrings."""
    tree = ast.parse(path.read_text())
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
    ]


@pytest.mark.parametrize(
    "path",
    [path for path in SOURCES if path.is_relative_to(ROOT / "auditor")],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_auditor_names_no_module_of_pipelines(path: Path) -> None:
    named = [text for text in texts_of(path) if re.fullmatch(r"pipelines(\.\w+)*", text)]
    assert not named


def test_one_module_opens_the_file_of_definitions() -> None:
    named = [str(path.relative_to(ROOT)) for path in SOURCES if "definitions.ndjson" in texts_of(path)]
    opened = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if re.search(r"\bdefinitions\)?\.(open|read_bytes|read_text)\(", path.read_text())
    ]
    assert (named, opened) == (["auditor/crds/definitions_file.py"], [])


def test_the_check_of_lazy_names_sees_them(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text('"""pipelines"""\nHOME = {"x": "pipelines.run"}\n')
    assert "pipelines.run" in texts_of(module)
    assert "pipelines" not in texts_of(module)


def test_no_folder_holds_too_many_files() -> None:
    counts = Counter(path.parent.relative_to(ROOT) for path in SOURCES)
    assert {str(folder): count for folder, count in counts.items() if count > MOST_FILES} == {}


def test_no_other_file_is_too_long() -> None:
    long = {str(path.relative_to(ROOT)) for path in SOURCES if len(path.read_text().splitlines()) > MOST_LINES}
    assert long == LONG


def test_every_package_says_what_it_is() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if not ast.get_docstring(ast.parse(path.read_text())) and path.name != "__main__.py"
    ]
    assert silent == []


def functions_of(path: Path) -> Iterator[tuple[str, int]]:
    """Yield name and length of each function, without its decorators."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            yield node.name, node.end_lineno - node.lineno + 1


def test_no_other_function_is_too_long() -> None:
    long = {
        f"{path.relative_to(ROOT)}::{name}"
        for path in SOURCES
        for name, lines in functions_of(path)
        if lines >= MOST_FUNCTION_LINES
    }
    assert long == LONG_FUNCTIONS


@pytest.mark.parametrize("name", sorted(LONG | LONG_FUNCTIONS))
def test_a_long_file_or_function_says_why(name: str) -> None:
    path, _, function = name.partition("::")
    tree: ast.AST = ast.parse((ROOT / path).read_text())
    if function:
        tree = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == function)
    assert isinstance(tree, ast.Module | ast.FunctionDef)
    said = re.search(r"Over (500|80) lines: \S[^\n]{20,}", ast.get_docstring(tree) or "")
    assert said is not None
    assert said[1] == ("80" if function else "500")


def private_imports(source: str) -> set[tuple[str, str]]:
    """Return (module, name) of each import of a private name."""
    return {
        (node.module or "", each.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        for each in node.names
        if each.name.startswith("_") and not each.name.startswith("__")
    }


def test_no_private_name_crosses_a_module() -> None:
    found = {str(path.relative_to(ROOT)): private_imports(path.read_text()) for path in SOURCES}
    ours = {path for path, names in found.items() if any(module.startswith("auditor") for module, _ in names)}
    theirs = {name for names in found.values() for name in names if not name[0].startswith(("auditor", "pipelines"))}
    assert ours == set()
    assert theirs == PRIVATE_OF_LIBRARIES


def test_an_import_of_a_private_name_is_found() -> None:
    assert private_imports("from auditor.base import _hidden\nfrom __future__ import annotations\n") == {
        ("auditor.base", "_hidden")
    }


@pytest.mark.parametrize("library", sorted({module.partition(".")[0] for module, _ in PRIVATE_OF_LIBRARIES}))
def test_a_library_with_private_names_in_use_has_an_upper_bound(library: str) -> None:
    assert re.search(rf'"{library}[^"]*<', (ROOT / "pyproject.toml").read_text())


EMITTER = "auditor/fastpath/dicts"
"""The folder whose modules may import each other in a circle: writing the code of an object writes that of its fields."""
CYCLES: dict[frozenset[str], str] = {}
"""Other modules that import each other in a circle, each with the reason."""


def module_of(path: Path, root: Path = ROOT) -> str:
    """Return the name of a module."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str, modules: Collection[str]) -> set[str]:
    """Return which of some modules a source imports: at its top, for types alone, or within a function."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            found |= {
                name if name in modules else node.module for name in (f"{node.module}.{one.name}" for one in node.names)
            }
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return {name for name in found if name in modules}


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


def test_modules_import_each_other_in_one_direction() -> None:
    paths = {module_of(path): path for path in SOURCES}
    graph = {name: imports_of(path.read_text(), paths) - {name} for name, path in paths.items()}
    found = {
        cycle for cycle in cycles_of(graph) if not all(paths[name].is_relative_to(ROOT / EMITTER) for name in cycle)
    }
    assert found == set(CYCLES)


def test_an_import_for_types_or_within_a_function_makes_a_cycle() -> None:
    texts = {
        "a.one": "if TYPE_CHECKING:\n    from a.two import Two\n",
        "a.two": "def f():\n    import a.three\n",
        "a.three": "from a import one, other\n",
        "a.other": "",
        "a.last": "import a.other\n",
        "a": "",
    }
    graph = {name: imports_of(text, texts) - {name} for name, text in texts.items()}
    assert cycles_of(graph) == {frozenset({"a.one", "a.two", "a.three"})}
