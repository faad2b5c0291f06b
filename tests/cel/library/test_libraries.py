"""The table of libraries: what an expression may call at which compatibility version."""

import pytest

from auditor.cel.library import LIBRARIES, functions, type_names


def names(version):
    return {function.name for function in functions(version)}


@pytest.mark.parametrize(
    ("name", "since"),
    [
        ("url", (1, 23)),
        ("find", (1, 23)),
        ("isSorted", (1, 23)),
        ("charAt", (1, 23)),
        ("allowed", (1, 27)),
        ("labelSelector", (1, 31)),
        ("optional.of", (1, 28)),
        ("quantity", (1, 28)),
        ("format", (1, 29)),
        ("strings.quote", (1, 29)),
        ("sets.contains", (1, 29)),
        ("ip", (1, 30)),
        ("cidr", (1, 30)),
        ("format.named", (1, 31)),
        ("format.dns1123Label", (1, 31)),
        ("cel.@mapInsert", (1, 32)),
        ("semver", (1, 33)),
        ("@sortByAssociatedKeys", (1, 34)),
        ("lists.range", (1, 34)),
        ("includes", (1, 37)),
    ],
)
def test_functions_come_with_their_version(name, since):
    before = (since[0], since[1] - 1)
    assert name in names(since)
    assert name in names((1, 37))
    assert since == (1, 23) or name not in names(before)


@pytest.mark.parametrize("version", [(1, minor) for minor in range(23, 38)])
def test_no_overload_is_declared_twice(version):
    ids = [overload.id for function in functions(version) for overload in function.overloads]
    assert len(ids) == len(set(ids))


def test_ids_of_libraries_are_unique():
    keys = [name for name, _, _, _ in LIBRARIES]
    assert len(keys) == len(set(keys))


def test_only_addresses_are_types_by_name():
    assert set(type_names((1, 37))) == {"net.IP", "net.CIDR"}
    assert type_names((1, 29)) == {}


def test_what_the_server_leaves_out_is_not_there():
    assert not {"math.greatest", "base64.encode", "cel.bind", "regex.replace"} & names((1, 37))
    receivers = {overload.args[0].name for f in functions() if f.name == "reverse" for overload in f.overloads}
    assert receivers == {"list"}
