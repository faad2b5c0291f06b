"""Recorded cases by the hundred: one test that goes through all of them and names each that fails."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["of_each"]

_SHOWN = 10


def of_each(words: str, cases: Iterable[Any], ids: Callable[[Any], str] | None = None) -> Callable[[Any], Any]:
    """Have a test run once for each case, as `pytest.mark.parametrize` does, but as a single test.

    A case of its own for pytest costs more than most recorded cases take, in each worker.

    Args:
        words: The arguments of the test, parted by commas.
        cases: Their values; `pytest.param` may name a case.
        ids: Returns the name of a case by its first value.
    """
    names = [word.strip() for word in words.split(",")]
    known = [_named(case, len(names), ids) for case in cases]

    def decorate(test: Any) -> Any:
        def through_all(**fixtures: Any) -> None:
            assert known, "no cases"
            failed, skipped = [], []
            for name, values in known:
                try:
                    test(**fixtures, **dict(zip(names, values, strict=True)))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - the others run, too
                    failed.append((name, f"{type(error).__name__}: {error}"))
                except pytest.skip.Exception as error:
                    skipped.append(str(error))
            if failed:
                shown_text = "\n".join(f"{name}: {text}" for name, text in failed[:_SHOWN])
                others = "\n".join(name for name, _ in failed[_SHOWN:])
                pytest.fail(f"{len(failed)} of {len(known)} cases:\n{shown_text}\n{others}", pytrace=False)
            if len(skipped) == len(known):
                pytest.skip(skipped[0])

        through_all.__name__ = test.__name__
        through_all.__qualname__ = test.__qualname__
        through_all.__module__ = test.__module__
        through_all.__doc__ = test.__doc__
        own = inspect.signature(test).parameters.values()
        left = [one.replace(kind=one.KEYWORD_ONLY) for one in own if one.name not in names]
        through_all.__signature__ = inspect.Signature(left)  # type: ignore[attr-defined]
        if hasattr(test, "pytestmark"):
            through_all.pytestmark = test.pytestmark  # type: ignore[attr-defined]
        return through_all

    return decorate


def _named(case: Any, count: int, ids: Callable[[Any], str] | None) -> tuple[str, tuple[Any, ...]]:
    """Return the name of a case and its values."""
    if isinstance(case, type(pytest.param())):
        assert not case.marks, "a case of a table has no marks of its own"
        return str(case.id or case.values[0]), case.values
    values = tuple(case) if count > 1 else (case,)
    return ids(values[0]) if ids is not None else str(values[0]), values
