"""How an option is declared: the words of the command line, the help, and the effect.

All that knows an option comes from its declaration: the command line, the environment variable, the key of the
configuration, what `./auditor.yaml` may set, and the field that a run reads. An option of an audit is declared as a
field of `auditor.plan.options`, those of other commands in `pipelines.cli.options.table`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable


COUNTS: Final = "counts"
"""Effect of an option that changes which objects or findings count: a configuration that was found does not set it."""
SHOWS: Final = "shows"
"""Effect of an option that changes only how something is shown or made: a configuration that was found sets it."""
RUNS: Final = "it runs a command"
READS_KEYS: Final = "it reads keys"
WRITES: Final = "it decides what is written, and where"
TRUSTS_MACHINES: Final = "it decides which machines get the dumps"


@dataclass(frozen=True, slots=True)
class Declared:
    """An option.

    Attributes:
        words: Its flags; then the name of its parameter where it is not that of the long flag, in lower case; then
            what the help calls its value, if it has a name for it.
        help: Text of the help.
        effect: `COUNTS`, `SHOWS`, or the reason why only a configuration given with --config may set it.
        default: Its value where it is not given. False makes it a switch, a tuple lets it be given several times.
        form: What its value is: a tuple of choices, the least of its numbers, or the name of
            a form of `pipelines.cli.options.made`.
        hidden: Whether the help leaves it out.
        required: Whether it must be given.
        eager: Whether it is read before the other options.
        writes: Returns the files that a value of it names, which the command writes; None if it writes none.
        own_place: Whether it names a folder in which the command writes files of names of its own.
    """

    words: str
    help: str
    effect: str
    default: Any = ""
    form: Any = None
    hidden: bool = False
    required: bool = False
    eager: bool = False
    writes: Callable[[str], list[str]] | None = None
    own_place: bool = False

    @property
    def flags(self) -> list[str]:
        """The flags, and a switch that turns it off after a slash."""
        return [word for word in self.words.split() if word.startswith("-")]

    @property
    def name(self) -> str:
        """The name of the parameter."""
        given = [word for word in self.words.split() if word.isidentifier() and word.islower()]
        return given[0] if given else self.flags[-1].partition("/")[0].strip("-").replace("-", "_")

    @property
    def metavar(self) -> str | None:
        """What the help calls a value; None for the name of its type."""
        last = self.words.split()[-1]
        return None if last in (*self.flags, self.name) else last


def option(words: str, text: str, effect: str, default: Any = "", **more: Any) -> Any:
    """Return a field of a dataclass that is an option.

    Args:
        words: See `Declared`.
        text: Text of the help.
        effect: See `Declared`.
        default: The value of the field where the option is not given.
        more: Further attributes of `Declared`; `given` is the default on the command line, if it is another;
            `default_factory` makes the default of the field.
    """
    made = {"default_factory": more.pop("default_factory")} if "default_factory" in more else {"default": default}
    declared = Declared(words, text, effect, more.pop("given", default), **more)
    return field(**made, metadata={"option": declared})
