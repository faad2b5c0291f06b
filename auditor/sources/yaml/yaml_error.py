"""The error of this package."""

from __future__ import annotations

from auditor.base.errors import DamagedDump


class YamlError(DamagedDump):
    """YAML that the Kubernetes tooling refuses; `found` is its text.

    Args:
        found: The text of the Go libraries, e.g. ``yaml: line 2: did not find expected key``.
        where: The file; empty inside this package.
    """

    def __init__(self, found: str, where: str = "", expected: str = "", advice: str = "") -> None:
        super().__init__(where, found, expected, advice)

    def __reduce__(self) -> tuple[type[YamlError], tuple[str, str, str, str]]:
        return (type(self), (self.found, self.where, self.expected, self.advice))

    def at(self, where: str) -> YamlError:
        """Return the same error with the file named."""
        return type(self)(self.found, where, self.expected, self.advice)
