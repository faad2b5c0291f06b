"""The fingerprint of a report: every option that verdicts depend on counts, also one that is added later."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import pytest

from auditor.plan.options import AuditOptions, RunOptions, Scope, VerdictOptions
from auditor.plan.state import fingerprint

if TYPE_CHECKING:
    from pathlib import Path

OTHERS: dict[str, Any] = {
    "at": "served",
    "at_of_exports": "storage",
    "etcd_prefix": "/other",
    "skip": ("rules",),
    "ratcheting": False,
    "field_gates": "A=true",
    "gate_sidecars": ("a.yaml",),
    "encryption_config": "keys.yaml",
    "redact": True,
    "convert_with": "cat",
    "old": ("old.db",),
    "apply": "replace",
    "scope": Scope(namespace="a"),
    "kubernetes": "1.38",
}
RECORDED = "e6e05867611a8c919343c7ae87b5e659"
"""The fingerprint of the default options, in reports of the first release."""


def test_there_is_another_value_for_each_option() -> None:
    assert OTHERS.keys() == {one.name for one in fields(VerdictOptions)}


@pytest.mark.parametrize("name", OTHERS)
def test_each_option_counts(name: str) -> None:
    assert fingerprint(replace(VerdictOptions(), **{name: OTHERS[name]})) != fingerprint(VerdictOptions())


def test_an_option_that_is_added_counts() -> None:
    @dataclass(frozen=True)
    class More(VerdictOptions):
        strict: bool = False

    assert fingerprint(More(strict=True)) != fingerprint(More())
    assert fingerprint(More()) == fingerprint(VerdictOptions()), "earlier reports are reused while it is not given"


def test_reports_of_the_first_release_can_be_reused() -> None:
    assert fingerprint(VerdictOptions()) == RECORDED


def test_options_of_the_run_do_not_count() -> None:
    run = {one.name for one in fields(RunOptions)}
    assert not run & OTHERS.keys()
    assert {one.name for one in fields(AuditOptions)} == run | OTHERS.keys()
    one = AuditOptions(dumps=("a",), at="served")
    assert fingerprint(one.verdict) == fingerprint(replace(one, jobs=7, report="x", dumps=("b",)).verdict)


def test_files_count_by_what_they_hold(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("keys")
    other.write_text("keys")
    made = [VerdictOptions(encryption_config=str(path)) for path in (one, other)]
    assert fingerprint(made[0]) == fingerprint(made[1])
    before = fingerprint(made[1])
    other.write_text("other keys")
    assert fingerprint(made[1]) != before


def test_the_order_of_names_does_not_count() -> None:
    one = VerdictOptions(skip=("rules", "builtin"), scope=Scope(include=("A.b", "c")))
    other = VerdictOptions(skip=("builtin", "rules"), scope=Scope(include=("C", "a.B")))
    assert fingerprint(one) == fingerprint(other)
