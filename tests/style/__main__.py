"""Run every check, and print the places that they name: `python -m tests.style`."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING, Final

from tests.style import clocks, first_checks, handlers, structure, words
from tests.style.files import read_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.style.files import Project

CHECKS: Final[tuple[Callable[[Project], Iterator[str]], ...]] = (
    words.texts_use_plain_words,
    words.names_use_plain_words,
    words.documents_use_plain_words,
    structure.names_of_other_layers_are_not_used,
    structure.sizes_are_small,
    structure.modules_say_what_they_are,
    structure.private_names_are_not_imported,
    structure.modules_import_in_one_direction,
    handlers.handlers_lose_nothing,
    first_checks.second_checks_have_a_first,
    first_checks.tests_read_what_is_recorded,
    clocks.clocks_are_not_compared,
)


def main() -> int:
    """Print each place, or how much was checked; return 1 if there are places."""
    gc.disable()  # all trees are in use until the end
    project = read_project()
    places = [place for check in CHECKS for place in sorted(check(project), key=_order)]
    files = len(project.modules) + len(project.documents)
    marks = sum(1 for module in project.below("tests") for _ in first_checks.second_checks(module))
    for what, count, least in (
        ("modules", len(project.modules), 1000),
        ("documents", len(project.documents), 20),
        ("second checks", marks, 10),
    ):
        if count < least:  # then the checks would find nothing, whatever there is
            places.append(f"tests/style/files.py:1: {count} {what} are read, where {least} are expected at least")
    sys.stdout.write("\n".join(places or [f"{files} files, {len(CHECKS)} checks"]) + "\n")
    return 1 if places else 0


def _order(place: str) -> tuple[str, int]:
    name, line, _ = place.split(":", 2)
    return name, int(line)


if __name__ == "__main__":
    sys.exit(main())
