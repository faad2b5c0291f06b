"""Semantic versions: ``1.4.2-rc.1+b5``.

Source: k8s.io/apiserver pkg/cel/library/semverlib.go, pkg/cel/semver.go; github.com/blang/semver v4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import BOOL, INT, STRING, Type, object_type
from auditor.cel.emit.functions import same_extent
from auditor.cel.function import Code, Function, Overload
from auditor.cel.library.prices import read_text
from auditor.golang.go_text import quote

if TYPE_CHECKING:
    from collections.abc import Callable


SEMVER = object_type("kubernetes.Semver")

_DIGITS = frozenset("0123456789")
_LETTERS = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")
_UINT64_MAX = 2**64 - 1


class SemverError(ValueError):
    """A text that is not a version; the message is the server's."""


@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    """A version; build metadata does not matter for equality and order.

    Attributes:
        major: 64 bits, unsigned.
        minor: The same.
        patch: The same.
        prerelease: Numbers are int, other parts str.
        build: Its parts.
    """

    cel_type: ClassVar[Type] = SEMVER

    major: int
    minor: int
    patch: int
    prerelease: tuple[int | str, ...] = ()
    build: tuple[str, ...] = ()

    def cel_plain(self) -> CelError:
        """Return the error of servers that read a version from an optional as a Go value."""
        return CelError(f"unsupported conversion to ref.Val: (semver.Version){self}")

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.prerelease:
            text += "-" + ".".join(map(str, self.prerelease))
        return text + "+" + ".".join(self.build) if self.build else text

    @property
    def precedence(self) -> tuple[object, ...]:
        """The sort key of versions: numbers of a prerelease precede texts, any prerelease precedes the release."""
        parts = tuple([(type(part) is str, part) for part in self.prerelease])
        return (self.major, self.minor, self.patch, not self.prerelease, parts)

    def compare(self, other: Semver) -> int:
        """Return -1, 0 or 1."""
        return (self.precedence > other.precedence) - (self.precedence < other.precedence)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.compare(other) == 0

    def __hash__(self) -> int:
        return hash(self.precedence)


def parse_semver(text: str) -> Semver:
    """Return the version in a text, by the strict rules of SemVer 2.

    Raises:
        SemverError: It is not a version.
    """
    if not text:
        raise SemverError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise SemverError("No Major.Minor.Patch elements found")
    major = _number(parts[0], "major")
    minor = _number(parts[1], "minor")
    rest, plus, build = parts[2].partition("+")
    rest, dash, prerelease = rest.partition("-")
    patch = _number(rest, "patch")
    return Semver(
        major,
        minor,
        patch,
        tuple([_prerelease_part(part) for part in prerelease.split(".")]) if dash else (),
        tuple([_build_part(part) for part in build.split(".")]) if plus else (),
    )


def parse_semver_leniently(text: str) -> Semver:
    """Return the version in a text, after removing one ``v`` and leading zeros and adding missing minor and patch.

    Raises:
        SemverError: It is not a version even then.
    """
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise SemverError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse_semver(".".join(parts))


def _without_zeros(part: str) -> str:
    if len(part) <= 1 and part.isascii():
        return part
    part = part.lstrip("0")
    return part if part and part[0] in _DIGITS else "0" + part


def _number(text: str, place: str) -> int:
    if not _DIGITS.issuperset(text):
        raise SemverError(f"Invalid character(s) found in {place} number {quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise SemverError(f"{place.capitalize()} number must not contain leading zeroes {quote(text)}")
    return _unsigned(text)


def _unsigned(text: str) -> int:
    if not text:
        raise SemverError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) > _UINT64_MAX:
        raise SemverError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return int(text)


def _prerelease_part(part: str) -> int | str:
    if not part:
        raise SemverError("Prerelease is empty")
    if _DIGITS.issuperset(part):
        if len(part) > 1 and part[0] == "0":
            raise SemverError(f"Numeric PreRelease version must not contain leading zeroes {quote(part)}")
        return _unsigned(part)
    if not _LETTERS.issuperset(part):
        raise SemverError(f"Invalid character(s) found in prerelease {quote(part)}")
    return part


def _build_part(part: str) -> str:
    if not part:
        raise SemverError("Build meta data is empty")
    if not _LETTERS.issuperset(part):
        raise SemverError(f"Invalid character(s) found in build meta data {quote(part)}")
    return part


def _semver(text: str, normalize: bool = False) -> Semver:
    try:
        return parse_semver_leniently(text) if normalize else parse_semver(text)
    except SemverError as error:
        raise CelError(str(error)) from None


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _semver(text, normalize)
    except CelError:
        return False
    return True


def _signed(number: int) -> int:
    """Return an unsigned 64-bit number as the signed one with the same bits, as the server does."""
    return number - 2**64 if number >= 2**63 else number


def _member(name: str, key: str, more: tuple[Type, ...], result: Type, call: Callable[..., object]) -> Function:
    return Function(name, member=True, overloads=(Overload(key, (SEMVER, *more), result, call),))


def functions() -> tuple[Function, ...]:
    """Return the functions of the library."""
    plain, lenient = (STRING,), (STRING, BOOL)
    make = (
        Overload("string_to_semver", plain, SEMVER, _semver),
        Overload("string_bool_to_semver", lenient, SEMVER, _semver),
    )
    check = (
        Overload("is_semver_string", plain, BOOL, _is_semver),
        Overload("is_semver_string_bool", lenient, BOOL, _is_semver),
    )
    return (
        Function("semver", False, make, costs=read_text(), code=Code(extent=same_extent, is_remembered=True)),
        Function("isSemver", False, check, costs=read_text(), code=Code(is_remembered=True, is_total=True)),
        _member("isGreaterThan", "semver_is_greater_than", (SEMVER,), BOOL, lambda a, b: a.compare(b) > 0),
        _member("isLessThan", "semver_is_less_than", (SEMVER,), BOOL, lambda a, b: a.compare(b) < 0),
        _member("compareTo", "semver_compare_to", (SEMVER,), INT, lambda a, b: a.compare(b)),
        _member("major", "semver_major", (), INT, lambda it: _signed(it.major)),
        _member("minor", "semver_minor", (), INT, lambda it: _signed(it.minor)),
        _member("patch", "semver_patch", (), INT, lambda it: _signed(it.patch)),
    )
