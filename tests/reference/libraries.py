"""The libraries of each release of Kubernetes that the program is built against, and how its answers are kept.

Those of the release that go.mod names are in the files of vectors themselves; of every other release only the
differences to them are kept, in ``answers/``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["LIBRARIES", "Library", "applied", "difference", "library"]


@dataclass(frozen=True)
class Library:
    """The modules of one release.

    Attributes:
        version: The version of the k8s.io modules.
        toolchain: The release of Go, where it must be newer than that of go.mod.
        replaced: Modules at another version than the libraries ask for: the module proxy does not serve that one.
    """

    version: str
    toolchain: str = ""
    replaced: dict[str, str] = field(default_factory=dict)


LIBRARIES: Final = {
    "1.32": Library("v0.32.13"),
    "1.33": Library("v0.33.13"),
    "1.34": Library("v0.34.13"),
    "1.35": Library("v0.35.10"),
    "1.36": Library("v0.36.6"),
    "1.37": Library("v0.37.2"),
    "1.38": Library("v0.38.0-alpha.2", "go1.27.4", {"k8s.io/kube-openapi": "v0.0.0-20261014044854-ca3452a79603"}),
}


def library(asked: str) -> tuple[str, Library]:
    """Return the name of a release and its libraries.

    Args:
        asked: ``1.34``, ``v0.34.x`` (the version that the table names) or any version, like ``v0.34.2``.
    """
    parts = asked.removeprefix("v").split(".")
    name = f"1.{parts[1]}"
    known = LIBRARIES.get(name, Library(""))
    exact = asked if asked.startswith("v0.") and not asked.endswith(".x") else known.version
    if not exact:
        raise SystemExit(f"no libraries of {asked!r} are known; known are {', '.join(LIBRARIES)}")
    return name, Library(exact, known.toolchain, known.replaced)


def difference(was: Any, now: Any) -> Any:
    """Return the changes from one answer to another (`applied`), or None if they are equal.

    A map: ``~`` has the keys that differ, ``-`` those that are gone. A list of findings: ``-`` the numbers of those
    that are gone, ``+`` the new ones. Anything else: ``=`` the value.
    """
    if was == now and type(was) is type(now):
        return None
    if isinstance(was, dict) and isinstance(now, dict):
        below = {key: {"=": now[key]} if key not in was else difference(was[key], now[key]) for key in now}
        changed = {key: one for key, one in below.items() if one is not None}
        gone = [key for key in was if key not in now]
        return {**({"~": changed} if changed else {}), **({"-": gone} if gone else {})}
    if _are_findings(was) and _are_findings(now):
        gone_ = [number for number, one in enumerate(was) if one not in now]
        new = [one for one in now if one not in was]
        made = {"-": gone_, "+": new}
        if applied(was, made) == now:
            return made
    return {"=": now}


def applied(was: Any, change: Any) -> Any:
    """Return the answer of another release."""
    if change is None:
        return was
    if "=" in change:
        return change["="]
    if isinstance(was, list):
        kept = [one for number, one in enumerate(was) if number not in set(change["-"])]
        return sorted([*kept, *change["+"]], key=_order)
    below = {key: one for key, one in was.items() if key not in change.get("-", ())}
    return {**below, **{key: applied(was.get(key), one) for key, one in change.get("~", {}).items()}}


def _are_findings(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict) and {"field", "type", "message"} <= set(one) for one in value
    )


def _order(found: dict[str, Any]) -> tuple[str, str, str]:
    return found["field"], found["type"], found["message"]
