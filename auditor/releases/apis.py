"""When versions of built-in kinds were deprecated and removed, and which release still decodes what is stored at them.

A server stops serving a version long before it stops decoding it: objects stored at a version that is no longer served
are read as before until its scheme forgets it. apis.json is made of what the libraries themselves say
(tests/reference/lifecycle).

Source: k8s.io/api zz_generated.prerelease-lifecycle.go; kubernetes pkg/apis/*/install/install.go; apiserver
pkg/server/deleted_kinds.go.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

import orjson


class Api(NamedTuple):
    """A kind at a version that is deprecated or removed, now or in a release to come.

    Attributes:
        group: Its group; empty: core.
        version: Its version.
        kind: Its kind.
        introduced: Minor release that it came with.
        deprecated: The first that warns of it.
        removed: The first that does not serve it; 0: the libraries do not say.
        replacement: ``group/version`` to use instead; empty means the libraries name none.
        decoded: The last release known to decode objects stored at it; 0: none from 1.32 on.
    """

    group: str
    version: str
    kind: str
    introduced: int
    deprecated: int
    removed: int
    replacement: str
    decoded: int

    @property
    def api_version(self) -> str:
        """``group/version``, as objects have it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def is_gone(self, minor: int) -> bool:
        """Tell whether a release no longer serves it: what it does not decode it does not serve either."""
        return 0 < self.removed <= minor or not self.is_decoded(minor)

    def is_decoded(self, minor: int) -> bool:
        """Tell whether a release decodes objects stored at it; a newer one than any known as the newest known."""
        return min(minor, newest_known()) <= self.decoded


@functools.cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = orjson.loads((Path(__file__).parent / "apis.json").read_bytes())
    return content


def newest_known() -> int:
    """Return the newest minor release whose decoded versions are known."""
    return int(_content()["known"])


def served_since() -> dict[str, int]:
    """Return stable ``group/version`` that not every known release serves, with the first that does."""
    since: dict[str, int] = _content()["since"]
    return since


@functools.cache
def apis() -> tuple[Api, ...]:
    """Return all of them, by group, version and kind."""
    known = []
    for label, (introduced, deprecated, removed, replacement, decoded) in _content()["apis"].items():
        group, version, kind = label.split("/")
        instead = replacement.rpartition("/")[0].removeprefix("/")
        known.append(Api(group, version, kind, introduced, deprecated, removed, instead, decoded))
    return tuple(known)


@functools.cache
def _by_label() -> dict[tuple[str, str], Api]:
    return {(api.api_version, api.kind): api for api in apis()}


def find_api(api_version: str, kind: str) -> Api | None:
    """Return what is known of a kind at a version, or None if it is neither deprecated nor removed."""
    return _by_label().get((api_version, kind))
