"""Makes Python functions at run time: lines with indentation, constants by slot, sources that a debugger can read.

Input: lines of Python, and values that the lines refer to. Output: functions. Nothing here knows Kubernetes. Two rules
keep generated code harmless for any input: a value enters the source as the `repr` of a plain scalar or as a slot
(`_k7`), never as text; and every source is registered with `linecache`, so that tracebacks, profilers and people can
read it.

A program for a large schema has hundreds of functions, of them an object calls a few, and compiling costs far more than
running. So each function begins as a placeholder that can generate its source; the first call generates and compiles
it, and replaces the placeholder in the globals that all functions of the module share.
"""

from __future__ import annotations

import linecache
import math
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


_numbers = count(1)


class FunctionWriter:
    """Collects the lines of one function; `block` indents by one space a level, as nesting can be deep."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self.depth = 0

    def line(self, text: str) -> None:
        """Add one line at the current depth."""
        self._lines.append(" " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add a line that opens a block; lines added inside are indented, and `pass` is added to an empty block.

        Args:
            head: The line with its colon.
        """
        self.line(head)
        before = len(self._lines)
        self.depth += 1
        try:
            yield
            if len(self._lines) == before:
                self.line("pass")
        finally:
            self.depth -= 1

    def lines(self, texts: Iterable[str]) -> None:
        """Add lines at the current depth, which is added to their own indentation."""
        for text in texts:
            self.line(text)

    @property
    def written(self) -> tuple[str, ...]:
        """The lines so far."""
        return tuple(self._lines)

    @property
    def source(self) -> str:
        """The lines as text."""
        return "\n".join(self._lines) + "\n"

    def __len__(self) -> int:
        """Return the number of lines."""
        return len(self._lines)


class Module:
    """The functions of one program and the globals they share.

    Args:
        title: What the program is for; shown in the file names of tracebacks.
        names: Globals that the lines may refer to by name.
    """

    def __init__(self, title: str, names: dict[str, Any] | None = None) -> None:
        self.title = title
        self.namespace: dict[str, Any] = dict(names or {})
        self._slots: dict[int, tuple[str, Any]] = {}
        self._writers: dict[str, Callable[[str], str]] = {}
        self._sources: dict[str, str] = {}
        self.compiled = 0

    def slot(self, value: object, prefix: str = "k") -> str:
        """Bind a value to a global and return its name; the same object gets the same name.

        Args:
            value: Any object; the module keeps it alive.
            prefix: Beginning of the name, such as one letter for the kind of value.
        """
        known = self._slots.get(id(value))
        if known is not None:
            return known[0]
        name = f"_{prefix}{len(self._slots)}"
        self._slots[id(value)] = (name, value)
        self.namespace[name] = value
        return name

    def literal(self, value: object) -> str:
        """Return an expression for a constant: the `repr` of a plain scalar, a slot for everything else."""
        if value is None or type(value) in (str, int, bool):
            return repr(value)
        if type(value) is float and math.isfinite(value):
            return repr(value)
        return self.slot(value)

    def function(self, write: Callable[[str], str]) -> str:
        """Declare a function and return its name; it is written and compiled at its first call.

        Args:
            write: Takes the name and returns the source, one `def` of that name. Called once.
        """
        name = f"_f{len(self._writers)}"
        self._writers[name] = write
        self.namespace[name] = _StandIn(self, name)
        return name

    def compile(self, name: str) -> Callable[..., Any]:
        """Return a function of the module, after compiling it if needed."""
        present: Callable[..., Any] = self.namespace[name]
        if isinstance(present, _StandIn):
            source = self._source(name)
            self.compiled += 1
            return compile_function(source, name, f"{self.title} {name}", self.namespace)
        return present

    def _source(self, name: str) -> str:
        source = self._sources.get(name)
        if source is None:
            source = self._sources[name] = self._writers[name](name)
        return source

    @property
    def source(self) -> str:
        """The source of every function, after the list of slots with plain data.

        Generates (but does not compile) functions that were never called; they may declare further ones.
        """
        texts = []
        done = 0
        while done < len(self._writers):
            texts.append(self._source(f"_f{done}"))
            done += 1
        slots = [f"# {name} = {_describe(value)}" for name, value in self._slots.values()]
        return "\n\n".join(["\n".join(slots), *texts]) if slots else "\n\n".join(texts)


class _StandIn:
    """The placeholder of a function before its first call."""

    __slots__ = ("_module", "_name")

    def __init__(self, module: Module, name: str) -> None:
        self._module = module
        self._name = name

    def __call__(self, *arguments: Any) -> Any:
        return self._module.compile(self._name)(*arguments)


def _describe(value: object) -> str:
    """Return one line about the value of a slot, for readers of the source."""
    text = ascii(sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value)
    return text if len(text) <= 120 else text[:117] + "..."


def compile_function(source: str, name: str, title: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    """Run the source of one function and return the function.

    Args:
        source: A module with a `def` of `name`.
        name: The function to return.
        title: Description of the source; part of the file name that tracebacks show.
        namespace: Its globals. The function is added to them under its name.

    Returns:
        The function. Its file name is unique, and `linecache` knows its lines as long as the process lives.
    """
    filename = f"<auditor {title} {next(_numbers)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), namespace)  # noqa: S102 - the source holds only names of ours, reprs of scalars and slots
    function: Callable[..., Any] = namespace[name]
    return function
