"""Quantities with suffixes, as for resources: ``500m``, ``1.5Gi``, ``1e3``.

A quantity also has the representation that the server uses, as it affects results: up to 18 digits are stored in 64
bits with a power of ten (`wide` False), all others as a big decimal (`wide` True), which ``isInteger`` never accepts.
So ``1000m`` is not an integer, nor is ``1000000000000000000``, but ``1E`` is.

Source: k8s.io/apiserver pkg/cel/library/quantity.go, pkg/cel/quantity.go; k8s.io/apimachinery pkg/api/resource.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import BOOL, DOUBLE, INT, STRING, Type, object_type
from auditor.cel.emit.functions import same_extent
from auditor.cel.function import PLAIN, Code, Function, Overload
from auditor.cel.library.prices import read_text
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable


QUANTITY = object_type("kubernetes.Quantity")

_INT64_MAX = 2**63 - 1
_INT64_MIN = -(2**63)
_MOST_DIGITS = 18
"""Number of digits that always fits 64 bits."""
_NANO = -9
_LEAST_POWER = -(2**31)
_HUGE_EXPONENT = 4096
"""Larger powers of ten are never multiplied out: no float reaches them, and magnitudes are compared first."""
_MOST_ZEROS = 1_000_000

_WRONG_FORM = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"  # the server's words
)
_WRONG_SUFFIX = "unable to parse quantity's suffix"
_WRONG_NUMBER = "unable to parse numeric part of quantity"

_FORM = re.compile(r"([+-]?)(0*)([0-9]*)(\.[0-9]*)?([eEinumkKMGTP]*[+-]?[0-9]*)")
_DECIMAL = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")


class QuantityError(ValueError):
    """A text that is not a quantity; the message is the server's."""


@dataclass(slots=True, eq=False)
class Quantity:
    """An amount: `digits` times ten to the `exponent`.

    Attributes:
        digits: Signed.
        exponent: Power of ten.
        wide: Whether the server represents it as a big decimal.
        computed: Whether it is a result of ``add`` or ``sub``: the server accepts such a value on the left of ``==``,
            but not on the right.
        base: Base of the suffix it was written with: 10 for ``k``, 2 for ``Ki``, 0 for ``e3``.
        text: As written, if the server treats that as the canonical form.
    """

    cel_type: ClassVar[Type] = QUANTITY
    most_digits: ClassVar[int] = _MOST_DIGITS

    digits: int
    exponent: int
    wide: bool = False
    computed: bool = False
    base: int = 10
    text: str = ""

    @property
    def go_type(self) -> str:
        """The Go type in which the server represents it."""
        return "*cel.Quantity" if self.computed else "cel.Quantity"

    def cel_plain(self) -> CelError:
        """Return the error of servers that read a quantity from an optional as a Go value."""
        return CelError(f"unsupported conversion to ref.Val: (*resource.Quantity){self}")

    def __str__(self) -> str:
        """Return the quantity as servers print it."""
        return self.text or _canonical(self)

    def compare(self, other: Quantity) -> int:
        """Return -1, 0 or 1. Comparing with a wide quantity makes this one wide, as in the server."""
        self.wide = self.wide or other.wide
        return _compare(self, other)

    def cel_equal(self, other: object) -> bool | CelError:
        """Return the result of ``==`` with `other` on the right; an error if that is computed or not a quantity."""
        if not isinstance(other, Quantity) or other.computed:
            return CelError("no such overload")
        return _compare(self, other) == 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and _compare(self, other) == 0

    def __hash__(self) -> int:
        digits, exponent = self.digits, self.exponent
        while digits and digits % 10 == 0:
            digits, exponent = digits // 10, exponent + 1
        return hash((digits, exponent if digits else 0))

    @property
    def sign(self) -> int:
        """-1, 0 or 1."""
        return (self.digits > 0) - (self.digits < 0)

    def as_integer(self) -> int | None:
        """Return the value if the server can represent it as a 64-bit integer, else None."""
        if self.wide or self.exponent < 0:
            return None
        return _scaled(self.digits, self.exponent)

    def as_float(self) -> float:
        """Return the nearest double of the digits times the power of ten as Go rounds it."""
        base = _to_float(self.digits)
        return base * _power_of_ten(self.exponent) if self.exponent else base

    def plus(self, other: Quantity) -> Quantity:
        """Return the sum: in 64 bits if both operands are and the sum fits, else wide."""
        if not self.wide and not other.wide:
            narrow = self._narrow_sum(other)
            if narrow is not None:
                return narrow
        mine, others, low = _aligned(self, other)
        return type(self)(mine + others, low, wide=True, computed=True)

    def _narrow_sum(self, other: Quantity) -> Quantity | None:
        if other.digits == 0:
            return type(self)(self.digits, self.exponent, computed=True)
        if self.digits == 0:
            return type(self)(other.digits, other.exponent, computed=True)
        low = min(self.exponent, other.exponent)
        mine = _scaled(self.digits, self.exponent - low)
        others = _scaled(other.digits, other.exponent - low)
        if mine is None or others is None or not _INT64_MIN <= mine + others <= _INT64_MAX:
            return None
        return type(self)(mine + others, low, computed=True)

    def minus(self, other: Quantity) -> Quantity:
        """Return the difference. In 64 bits the smallest integer is its own negative, as in the server."""
        if not self.wide and not other.wide:
            negative = other.digits if other.digits == _INT64_MIN else -other.digits
            narrow = self._narrow_sum(Quantity(negative, other.exponent))
            if narrow is not None:
                return narrow
        return self._wide_difference(other)

    def _wide_difference(self, other: Quantity) -> Quantity:
        mine = type(self)(self.digits, self.exponent, wide=True)
        return mine.plus(Quantity(-other.digits, other.exponent, wide=True))


class ExactQuantity(Quantity):
    """A quantity in servers that compute exactly (`changes.EXACT_QUANTITIES`)."""

    __slots__ = ()
    most_digits: ClassVar[int] = _MOST_DIGITS + 1

    def compare(self, other: Quantity) -> int:
        """Return -1, 0 or 1; neither operand changes."""
        return _compare(self, other)

    def as_float(self) -> float:
        """Return the nearest double, as Go rounds it; zero for any power of ten of zero."""
        return super().as_float() if self.digits else 0.0

    def minus(self, other: Quantity) -> Quantity:
        """Return the difference; for the smallest 64-bit integer it is exact, unless the powers differ too much."""
        if other.digits == _INT64_MIN and not other.wide and not self.wide and _can_align(self, other):
            if self.digits == 0:
                return type(self)(-other.digits, other.exponent, wide=True, computed=True)
            return self._wide_difference(other)
        return super().minus(other)


@dataclass(slots=True, eq=False)
class SharedQuantity(Quantity):
    """A quantity in servers before `changes.QUANTITIES_ARE_COPIED`: sums share the decimal of their receiver.

    Attributes:
        sharers: All quantities with the same big decimal, if there are others.
    """

    sharers: list[SharedQuantity] = field(default_factory=list)

    def plus(self, other: Quantity) -> Quantity:
        """Return the sum; a wide quantity itself changes to the sum."""
        return self._become(Quantity.plus(self, other), self if self.digits else other)

    def minus(self, other: Quantity) -> Quantity:
        """Return the difference; a wide quantity itself changes to the difference."""
        return self._become(Quantity.minus(self, other), self if self.digits else other)

    def _become(self, result: Quantity, written: Quantity) -> Quantity:
        result.base = written.base
        if self.wide and isinstance(result, SharedQuantity):
            result.sharers = self.sharers = self.sharers or [self]
            self.sharers.append(result)
            for sharer in self.sharers:
                sharer.digits, sharer.exponent = result.digits, result.exponent
        return result


def _can_align(left: Quantity, right: Quantity) -> bool:
    powers = left.exponent, right.exponent
    return min(powers) > _LEAST_POWER and max(powers) - min(powers) < -_LEAST_POWER


def quantity_kind() -> type[Quantity]:
    """Return the class of quantities for the reproduced release."""
    if changes.EXACT_QUANTITIES.holds:
        return ExactQuantity
    return Quantity if changes.QUANTITIES_ARE_COPIED.holds else SharedQuantity


def parse_quantity(text: str, kind: type[Quantity] = Quantity) -> Quantity:
    """Return the quantity in a text.

    Args:
        text: The text.
        kind: The class of quantities of the server.
    Raises:
        QuantityError: It is not a quantity.
    Source: resource.ParseQuantity. Number parts may be missing (``Mi``, ``-`` and ``.`` are zero); exponents are cut to
        32 bits; more than nine decimals are rounded away from zero; binary ones end at 2^63-1.
    """
    match = _FORM.fullmatch(text)
    if match is None or not text:
        raise QuantityError(_WRONG_FORM)
    sign, zeros, whole, fraction, suffix = match.groups()
    binary = _BINARY.get(suffix)
    exponent = 0 if binary is not None else _decimal_exponent(suffix)
    factor = 1 if binary is None else 1 << binary
    base = 2 if binary is not None else 10 if suffix in _DECIMAL else 0
    whole = whole or "0"
    decimals = (fraction or ".")[1:]
    number = _integer(whole + decimals)
    negative = sign == "-"
    most = -_INT64_MIN if negative and binary is None and kind.most_digits > _MOST_DIGITS else _INT64_MAX
    if _fits(len(whole), len(decimals), exponent, binary, kind.most_digits) and number * factor <= most:
        shifted, is_kept = whole + decimals, number % 8 != 0
        if binary is None:
            is_kept = (exponent - len(decimals)) % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
        number *= factor
        return kind(-number if negative else number, exponent - len(decimals), base=base, text=text if is_kept else "")
    if not (zeros or match[3] or decimals):
        raise QuantityError(_WRONG_NUMBER)
    if exponent == _LEAST_POWER and kind is ExactQuantity:
        raise QuantityError(_WRONG_SUFFIX)
    number, exponent = _rounded(number * factor, exponent - len(decimals))
    if binary is not None and exponent == _NANO and number > _INT64_MAX * 10**-_NANO:
        number, exponent = _INT64_MAX, 0
    return kind(-number if negative else number, exponent, wide=True, base=base)


def _decimal_exponent(suffix: str) -> int:
    exponent = _DECIMAL.get(suffix)
    if exponent is not None:
        return exponent
    match = _EXPONENT.fullmatch(suffix)
    if match is None or not _INT64_MIN <= int(match[1]) <= _INT64_MAX:
        raise QuantityError(_WRONG_SUFFIX)
    low = int(match[1]) & 0xFFFFFFFF
    return low - 2**32 if low >= 2**31 else low


def _fits(whole: int, decimals: int, exponent: int, binary: int | None, most: int) -> bool:
    """Whether the server tries 64 bits for a number of digits."""
    if binary is None:
        return whole + decimals <= most and exponent - decimals >= _NANO
    return not decimals and 15 - whole - binary * 3 // 10 - 1 >= 0


def _rounded(digits: int, exponent: int) -> tuple[int, int]:
    """Round a number that is not negative up to nine decimals."""
    if digits == 0 or exponent > _HUGE_EXPONENT:
        return digits, exponent
    if exponent >= _NANO:
        return digits * 10 ** (exponent - _NANO), _NANO
    cut = _NANO - exponent
    if cut > _length(digits):
        return 1, _NANO
    return -(-digits // 10**cut), _NANO


def _scaled(digits: int, power: int) -> int | None:
    """Return digits * 10**power if that fits 64 bits."""
    if digits == 0:
        return 0
    if power == 0:
        return digits
    if power > _MOST_DIGITS or digits == _INT64_MIN:
        return None
    value = digits * 10**power
    return value if _INT64_MIN <= value <= _INT64_MAX else None


def _compare(left: Quantity, right: Quantity) -> int:
    if left.sign != right.sign or left.sign == 0:
        return (left.sign > right.sign) - (left.sign < right.sign)
    if left.exponent == right.exponent:
        mine, others = left.digits, right.digits
    else:
        magnitudes = [_length(abs(quantity.digits)) + quantity.exponent for quantity in (left, right)]
        if magnitudes[0] != magnitudes[1]:
            return left.sign if magnitudes[0] > magnitudes[1] else -left.sign
        mine, others, _ = _aligned(left, right)
    return (mine > others) - (mine < others)


def _aligned(left: Quantity, right: Quantity) -> tuple[int, int, int]:
    """Return the digits of both at the lower exponent of the two, and that exponent."""
    low = min(left.exponent, right.exponent)
    if max(left.exponent, right.exponent) - low > _MOST_ZEROS:
        raise CelError("quantities differ too much in size")  # a server would run out of memory
    return left.digits * 10 ** (left.exponent - low), right.digits * 10 ** (right.exponent - low), low


def _integer(text: str) -> int:
    """Return int(text) without Python's limit of 4300 digits."""
    return int(text) if len(text) < 4300 else int(Decimal(text))


def _canonical(amount: Quantity) -> str:
    """Return a quantity as servers print it: with the largest suffix of its base that needs no fraction.

    Source: resource.Quantity.CanonicalizeBytes.
    """
    digits, exponent = amount.digits, amount.exponent
    if not digits:
        return "0"
    while digits % 10 == 0:
        digits, exponent = digits // 10, exponent + 1
    whole, power = digits * 10**exponent if amount.base == 2 and 0 <= exponent < _MOST_ZEROS else 0, 0
    if abs(whole) >= 1024:
        while whole % 1024 == 0 and power < 60:
            whole, power = whole // 1024, power + 10
        return f"{whole}{next((suffix for suffix, bits in _BINARY.items() if bits == power), '')}"
    digits *= 10 ** (exponent % 3)
    exponent -= exponent % 3
    if amount.base:
        return f"{digits}{next((suffix for suffix, power in _DECIMAL.items() if power == exponent), '')}"
    return f"{digits}e{exponent}" if exponent else str(digits)


def _length(number: int) -> int:
    """Return the number of decimal digits of a positive number, without printing a long one."""
    if number < 10**_MOST_DIGITS:
        return len(str(number))
    count = int((number.bit_length() - 1) * 0.30102999566)  # slightly too low at most
    while number >= 10**count:
        count += 1
    return count


def _to_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _power_of_ten(exponent: int) -> float:
    """Return math.Pow10: the product (or quotient) of two rounded powers, so not always the nearest double."""
    if exponent > 308:
        return float("inf")
    if exponent < -323:
        return 0.0
    big, small = divmod(abs(exponent), 32)
    if exponent >= 0:
        return float(f"1e{32 * big}") * float(f"1e{small}")
    return float(f"1e-{32 * big}") / float(f"1e{small}")


def _made(text: str, kind: type[Quantity]) -> Quantity:
    try:
        return parse_quantity(text, kind)
    except QuantityError as error:
        raise CelError(str(error)) from None


def _is_quantity(text: str, kind: type[Quantity]) -> bool:
    try:
        parse_quantity(text, kind)
    except QuantityError:
        return False
    return True


def _as_integer(quantity: Quantity) -> int:
    value = quantity.as_integer()
    if value is None:
        raise CelError("cannot convert value to integer")
    return value


def _member(
    name: str, *overloads: tuple[str, tuple[Type, ...], Type, Callable[..., object]], code: Code = PLAIN
) -> Function:
    made = tuple([Overload(key, (QUANTITY, *more), result, call) for key, more, result, call in overloads])
    return Function(name, member=True, overloads=made, code=code)


def functions() -> tuple[Function, ...]:
    """Return the functions of the library."""
    other = (QUANTITY,)
    kind = quantity_kind()
    parse = Overload("string_to_quantity", (STRING,), QUANTITY, partial(_made, kind=kind))
    check = Overload("is_quantity_string", (STRING,), BOOL, partial(_is_quantity, kind=kind))
    sign = Overload("quantity_sign", other, INT, lambda it: it.sign)
    shows, makes = Code(shows_width=True), Code(extent=same_extent, shows_width=True)
    remembered = Code(extent=same_extent, is_remembered=True, makes_width=True)
    return (
        Function("quantity", False, (parse,), costs=read_text(), code=remembered),
        Function("isQuantity", False, (check,), costs=read_text(), code=Code(is_remembered=True, is_total=True)),
        Function("sign", member=False, overloads=(sign,)),
        _member("isGreaterThan", ("quantity_is_greater_than", other, BOOL, lambda a, b: a.compare(b) > 0)),
        _member("isLessThan", ("quantity_is_less_than", other, BOOL, lambda a, b: a.compare(b) < 0)),
        _member("compareTo", ("quantity_compare_to", other, INT, lambda a, b: a.compare(b))),
        _member("asApproximateFloat", ("quantity_get_float", (), DOUBLE, lambda it: it.as_float())),
        _member("asInteger", ("quantity_get_int", (), INT, _as_integer), code=shows),
        _member("isInteger", ("quantity_is_integer", (), BOOL, lambda it: it.as_integer() is not None), code=shows),
        _member(
            "add",
            ("quantity_add", other, QUANTITY, lambda a, b: a.plus(b)),
            ("quantity_add_int", (INT,), QUANTITY, lambda a, b: a.plus(kind(b, 0))),
            code=makes,
        ),
        _member(
            "sub",
            ("quantity_sub", other, QUANTITY, lambda a, b: a.minus(b)),
            ("quantity_sub_int", (INT,), QUANTITY, lambda a, b: a.minus(kind(b, 0))),
            code=makes,
        ),
    )
