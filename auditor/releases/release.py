"""The releases of Kubernetes that are known, and the one that is reproduced at the moment.

A command runs as one release (`running_as`); programs, validators and messages that are made meanwhile are those of
that release. Programs keep the release they were made for.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from auditor.base.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, order=True)
class Release:
    """One minor release.

    Attributes:
        minor: 37 of 1.37.
        version: The version whose behaviour is reproduced.
        is_final: Whether it is more than a pre-release.
        is_reproduced: Whether all recorded answers of its libraries are reproduced. If not, it is refused.
        also: Names of later changes that it has as well: no release, but a way to see what one change does.
    """

    minor: int
    version: str
    is_final: bool = True
    is_reproduced: bool = False
    also: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """As people call it: 1.37."""
        return f"1.{self.minor}"


RELEASES: Final = (
    Release(32, "v1.32.13", is_reproduced=True),
    Release(33, "v1.33.13", is_reproduced=True),
    Release(34, "v1.34.13", is_reproduced=True),
    Release(35, "v1.35.10", is_reproduced=True),
    Release(36, "v1.36.6", is_reproduced=True),
    Release(37, "v1.37.2", is_reproduced=True),
    Release(38, "v1.38.0-alpha.2", is_final=False, is_reproduced=True),
)
"""All releases, oldest first."""

DEFAULT: Final = [release for release in RELEASES if release.is_final and release.is_reproduced][-1]
"""The newest final release that is reproduced."""

_active: ContextVar[Release] = ContextVar("kubernetes_release", default=DEFAULT)


def active() -> Release:
    """Return the release that is reproduced at the moment."""
    return _active.get()


def find_release(text: str, *, reproduced: bool = True) -> Release:
    """Return the release that a text names: ``1.37``, ``v1.37`` or its version, ``v1.37.2``; empty means the default.

    Args:
        text: What the user wrote.
        reproduced: Refuse one that is not reproduced yet.
    Raises:
        PlanError: It names none, or one that is not reproduced yet.
    """
    if not text:
        return DEFAULT
    major, _, rest = text.strip().removeprefix("v").partition(".")
    minor = rest.partition(".")[0]
    release = next((release for release in RELEASES if major == "1" and minor == str(release.minor)), None)
    if release is not None and (release.is_reproduced or not reproduced):
        return release
    known = ", ".join(release.name for release in RELEASES if release.is_reproduced or not reproduced)
    said = "not a release that is known" if release is None else "not reproduced yet"
    raise PlanError("--kubernetes", f"{text!r} is {said}", f"one of {known}", "auditor releases lists them")


@contextmanager
def running_as(release: Release | str) -> Iterator[None]:
    """Reproduce a release until the block ends, in this thread.

    Args:
        release: The release, or a text that names it (`find_release`).
    Raises:
        PlanError: The text names none.
    """
    token = _active.set(find_release(release) if isinstance(release, str) else release)
    try:
        yield
    finally:
        _active.reset(token)


class Affects(StrEnum):
    """What a change is about."""

    OBJECTS = "stored objects"
    DEFINITIONS = "definitions"
    MESSAGES = "messages"


@dataclass(frozen=True, slots=True)
class BehaviourChange:
    """One behaviour that differs between releases.

    Attributes:
        name: Short, unique.
        since: The first minor release that behaves in the new way: 37 of 1.37.
        affects: What it is about.
        what: The new behaviour, in a sentence.
        before: The old one.
        source: Where it can be read: files of the k8s.io modules, pull requests.
    """

    name: str
    since: int
    affects: Affects
    what: str
    before: str
    source: str

    def is_in(self, release: Release) -> bool:
        """Tell whether a release behaves in the new way."""
        return release.minor >= self.since or self.name in release.also

    @property
    def version(self) -> tuple[int, int]:
        """The compatibility version of the rule language in which it came."""
        return (1, self.since)

    @property
    def holds(self) -> bool:
        """Whether the release that is reproduced at the moment behaves in the new way."""
        return self.is_in(active())
