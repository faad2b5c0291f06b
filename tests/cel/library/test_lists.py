"""Lists and sets: Kubernetes' and cel-go's functions, their costs. Answers are the server's."""

import math

import pytest

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_values import Duration, Timestamp, UInt
from auditor.cel.library import cel_lists, lists, sets
from auditor.cel.library import functions as every_function
from auditor.cel.library.quantity import parse_quantity
from tests.cel.library.calling import cost as cost_of
from tests.cel.library.calling import outcome

NAN = math.nan
BAD = CelError("no such key: x")
UNEQUAL = (
    "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
    "but got 1 and 0 elements respectively"
)


@pytest.mark.parametrize(
    ("overload_id", "arguments", "answer"),
    [
        ("list_int_is_sorted_bool", ([],), True),
        ("list_int_is_sorted_bool", ([1, 1, 2],), True),
        ("list_int_is_sorted_bool", ([1, 3, 2],), False),
        ("list_double_is_sorted_bool", ([2.0, NAN, 1.0],), True),
        ("list_string_is_sorted_bool", (["a", 1],), True),
        ("list_int_is_sorted_bool", ([1, BAD],), CelError("no such key: x")),
        ("list_int_is_sorted_bool", ([1, []],), CelError("no such overload")),
        ("list_int_sum_int", ([],), 0),
        ("list_int_sum_int", ([1, 2],), 3),
        ("list_int_sum_int", ([2**63 - 1, 1],), CelError("integer overflow")),
        ("list_int_sum_int", ([1, 2.5],), CelError("no such overload")),
        ("list_int_sum_int", ([1, BAD],), CelError("no such key: x")),
        ("list_uint_sum_uint", ([UInt(1), UInt(2)],), UInt(3)),
        ("list_double_sum_double", ([],), 0.0),
        ("list_duration_sum_duration", ([Duration(1), Duration(2)],), Duration(3)),
        ("list_int_min_int", ([3, 1, 2],), 1),
        ("list_int_max_int", ([3, 1, 2],), 3),
        ("list_int_min_int", ([],), CelError("min called on empty list")),
        ("list_int_max_int", ([],), CelError("max called on empty list")),
        ("list_string_max_string", (["a", 1],), "a"),
        ("list_double_max_double", ([1.5, NAN, 1.0],), 1.5),
        ("list_bool_max_bool", ([False, True],), True),
        ("list_bytes_min_bytes", ([b"b", b"a"],), b"a"),
        ("list_timestamp_min_timestamp", ([Timestamp(2), Timestamp(1)],), Timestamp(1)),
        ("list_int_min_int", ([{}, 1],), CelError("no such overload")),
        ("list_a_index_of_int", (["a", "b", "b"], "b"), 1),
        ("list_a_last_index_of_int", (["a", "b", "b"], "b"), 2),
        ("list_a_index_of_int", ([1, 2], 2.0), 1),
        ("list_a_index_of_int", ([[1]], [1]), 0),
        ("list_a_index_of_int", ([None], None), 0),
        ("list_a_index_of_int", ([BAD, 1], 1), 1),
        ("list_a_index_of_int", ([], 1), -1),
        ("list_a_last_index_of_int", ([], 1), -1),
        ("list_includes_dyn_dyn", ([1, 2], 2.0), True),
        ("list_includes_dyn_dyn", ([1, 2], 3), False),
        ("list_includes_dyn_dyn", ("abc", "abc"), True),
        ("list_includes_dyn_dyn", ("abc", "a"), False),
        ("list_includes_dyn_dyn", ({"a": 1}, "a"), False),
        ("list_includes_dyn_dyn", ({"a": 1}, {"a": 1}), True),
        ("list_includes_dyn_dyn", (None, None), True),
    ],
)
def test_lists_of_kubernetes(overload_id, arguments, answer):
    found = outcome(lists.functions(), overload_id, *arguments)
    assert found == answer
    assert type(found) is type(answer)


def test_includes_came_with_version_1():
    assert {each.name for each in lists.functions() if each.since == (1, 37)} == {"includes"}
    assert "includes" not in {each.name for each in every_function((1, 36))}
    assert "includes" in {each.name for each in every_function((1, 37))}


@pytest.mark.parametrize(
    ("overload_id", "arguments", "answer"),
    [
        ("list_slice", ([1, 2, 3], 1, 2), [2]),
        ("list_slice", ([1], 1, 1), []),
        ("list_slice", ([1], 0, 9), CelError("cannot slice(0, 9), list is length 1")),
        ("list_slice", ([1], -1, 0), CelError("cannot slice(-1, 0), negative indexes not supported")),
        (
            "list_slice",
            ([1], 1, 0),
            CelError("cannot slice(1, 0), start index must be less than or equal to end index"),
        ),
        ("list_flatten", ([[1, 2], [3]],), [1, 2, 3]),
        ("list_flatten", ([[1, [2]], 3],), [1, [2], 3]),
        ("list_flatten", (5,), CelError("no such overload: int.flatten()")),
        ("list_flatten_int", ([1, [2, [3]]], 2), [1, 2, 3]),
        ("list_flatten_int", ([[1]], 0), [[1]]),
        ("list_flatten_int", ([1], -1), CelError("level must be non-negative")),
        ("list_flatten_int", ("a", 1), CelError("no such overload: string.flatten(int)")),
        ("list_flatten_int", ([1], 1.5), CelError("no such overload: list(dyn).flatten(double)")),
        ("list_int_sort", ([3, 1, 2],), [1, 2, 3]),
        ("list_int_sort", ([],), []),
        ("list_string_sort", (["b", "B", "é"],), ["B", "b", "é"]),
        ("list_int_sort", (list(range(20, 0, -1)),), list(range(1, 21))),
        ("list_int_sort", ([1, "a"],), CelError("list elements must have the same type")),
        ("list_int_sort", ([1, UInt(1)],), CelError("list elements must have the same type")),
        ("list_int_sort", ([1, BAD],), CelError("list elements must have the same type")),
        ("list_int_sort", ([[1]],), CelError("list elements must be comparable")),
        ("list_int_sort", ([BAD],), CelError("list elements must be comparable")),
        ("list_int_sortByAssociatedKeys", (["a", "b", "c"], [2, 1, 2]), ["b", "a", "c"]),
        ("list_int_sortByAssociatedKeys", (["a"], []), CelError(UNEQUAL)),
        ("lists_range", (3,), [0, 1, 2]),
        ("lists_range", (0,), []),
        ("lists_range", (-1,), CelError("lists.range: size must be non-negative, got -1")),
        ("lists_range", (1000001,), CelError("lists.range: size 1000001 exceeds maximum allowed (1000000)")),
        ("list_reverse", ([1, "a"],), ["a", 1]),
        ("list_distinct", ([1, 1.0, "a", UInt(1), "a"],), [1, "a"]),
        ("list_distinct", ([],), []),
        ("list_distinct", ([None, None, BAD, BAD],), [None, BAD, BAD]),
    ],
)
def test_lists_of_cel(overload_id, arguments, answer):
    assert outcome(cel_lists.functions(), overload_id, *arguments) == answer


def test_nan_stays_where_it_was_in_a_short_list():
    found = outcome(cel_lists.functions(), "list_double_sort", [2.0, NAN, 1.0])
    assert [str(number) for number in found] == ["2.0", "nan", "1.0"]


@pytest.mark.parametrize(
    ("name", "left", "right", "answer"),
    [
        ("contains", [1, 2], [2], True),
        ("contains", [1], [2], False),
        ("contains", [1], [1.0, UInt(1)], True),
        ("contains", [], [], True),
        ("equivalent", [1, 1], [1], True),
        ("equivalent", [1, 2], [1], False),
        ("equivalent", [1], [1, 2], False),
        ("intersects", [1, 2], [2, 3], True),
        ("intersects", [], [1], False),
        ("intersects", [1], ["1"], False),
        ("contains", [parse_quantity("1Ki")], [parse_quantity("1024")], True),
    ],
)
def test_lists_as_sets(name, left, right, answer):
    assert outcome(sets.functions(), f"list_sets_{name}_list", left, right) is answer


@pytest.mark.parametrize(
    ("overload_id", "arguments", "result", "cost"),
    [
        ("list_slice", ([1, 2, 3], 0, 2), [1, 2], 13),
        ("list_slice", (BAD, 0, 2), BAD, 12),
        ("lists_range", (5,), [0, 1, 2, 3, 4], 16),
        ("list_reverse", ([1, 2],), [2, 1], 13),
        ("list_flatten", ([[1], [2]],), [1, 2], 13),
        ("list_flatten_int", ([[1], [2]], 3), [1, 2], 17),
        ("list_flatten_int", ([[1], [2]], -3), BAD, 13),
        ("list_distinct", ([],), [], 11),
        ("list_distinct", ([1, 2, 3],), [], 29),
        ("list_distinct", (["a", "b", "c", "d"],), [], 44),
        ("list_bytes_sort", ([b"a", b"b"],), [], 19),
        ("list_int_sortByAssociatedKeys", (["a", "b"], [1, 2]), [], 19),
    ],
)
def test_cost_of_cels_lists_goes_by_size(overload_id, arguments, result, cost):
    assert cost_of(cel_lists.functions(), overload_id, arguments, result) == cost


@pytest.mark.parametrize(
    ("overload_id", "arguments", "complaint"),
    [
        ("list_distinct", (BAD,), "*types.Err is not traits.Lister: missing method Add"),
        ("list_distinct", (5,), "types.Int is not traits.Lister: missing method Contains"),
        ("list_int_sort", (BAD,), "*types.Err is not traits.Lister: missing method Add"),
        ("list_flatten_int", ([], BAD), "ref.Val is *types.Err, not types.Int"),
    ],
)
def test_a_cost_that_is_not_known_breaks_the_evaluation_off(overload_id, arguments, complaint):
    with pytest.raises(CelError) as broken:
        cost_of(cel_lists.functions(), overload_id, arguments, BAD)
    assert broken.value.text == f"internal error: interface conversion: {complaint}"


@pytest.mark.parametrize(("name", "cost"), [("contains", 7), ("intersects", 7), ("equivalent", 13)])
def test_cost_of_sets_is_that_of_comparing_all_with_all(name, cost):
    assert cost_of(sets.functions(), f"list_sets_{name}_list", ([1, 2, 3], [1, 2]), True) == cost
