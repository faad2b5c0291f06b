"""What the project installs: each dependency has an upper bound, and a version with hashes in requirements.lock."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.shared import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
UNLOCKED = {Requirement(text).name for text in EXTRAS["ray"]}
"""Packages of extras that neither the tests nor the image have."""
RUNTIME = [
    one
    for one in map(Requirement, (*PROJECT["dependencies"], *(each for texts in EXTRAS.values() for each in texts)))
    if one.name != PROJECT["name"]  # the extra `all` names the others
]
LOCK = (ROOT / "requirements.lock").read_text()


@pytest.mark.parametrize("requirement", RUNTIME, ids=lambda one: one.name)
def test_a_dependency_has_both_bounds(requirement: Requirement) -> None:
    assert {"<", ">="} <= {one.operator for one in requirement.specifier}


@pytest.mark.parametrize(
    "requirement",
    [one for one in RUNTIME if one.name not in UNLOCKED],
    ids=lambda one: one.name,
)
def test_a_dependency_is_locked_within_its_bounds(requirement: Requirement) -> None:
    locked = dict(re.findall(r"^([\w.-]+)==([\w.]+)", LOCK, re.MULTILINE))
    assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)])


def test_every_locked_package_has_hashes() -> None:
    entries = [entry for entry in re.split(r"\n(?=\S)", LOCK) if entry.strip() and not entry.startswith("#")]
    assert len(entries) > 50
    assert [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry] == []
