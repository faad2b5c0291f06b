"""Lines never are wider than asked for, whatever the content."""

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.output.views.layout import (
    Line,
    TableColumn,
    clipped,
    command_lines,
    first_lines,
    painted,
    table_lines,
    undivided,
    width_of,
    wrapped,
)

TEXTS = st.text(max_size=60) | st.text("漢字かな", max_size=40) | st.text("abc/", min_size=50, max_size=200)
COLUMNS = (
    TableColumn("CAUSE"),
    TableColumn("MARK", may_go=2),
    TableColumn("KIND", may_shrink=True, may_go=1),
    TableColumn("WHAT", may_shrink=True, cuts_middle=True),
    TableColumn("OBJECTS", is_number=True),
)


@settings(max_examples=300, deadline=None)
@given(
    st.integers(60, 200),
    st.lists(st.tuples(st.just("3fa91c02"), TEXTS, TEXTS, TEXTS, st.integers(0, 10**9) | st.none()), max_size=8),
    st.integers(0, 4),
)
def test_tables_fit(width, rows, indent):
    lines = table_lines(COLUMNS, rows, width, indent=indent)
    assert len(lines) == len(rows) + 1
    for line in lines:
        assert width_of(line.text) <= width
        assert line.text.isprintable() or "\n" not in line.text


@given(TEXTS, st.integers(0, 80))
def test_clipped_texts_fit_and_say_that_they_are_cut(text, width):
    out = clipped(text, width)
    assert width_of(out) <= max(width, 0)
    assert out == text or width == 0 or out.endswith("…")


@given(st.lists(TEXTS, max_size=8), st.integers(8, 120), st.integers(0, 6))
def test_wrapped_lines_fit_and_lose_no_word(words, width, indent):
    text = " ".join(word.replace("\n", "") for word in words)
    lines = wrapped(Line(text), width, indent=indent)
    assert all(width_of(line.text) <= width for line in lines)
    assert "".join("".join(line.text.split()) for line in lines) == "".join(text.split())


@given(st.lists(st.text("ab/-.", min_size=1, max_size=150), min_size=1, max_size=6), st.integers(30, 120))
def test_a_shell_takes_the_lines_of_a_command_as_one(words, width):
    lines = command_lines(Line("  " + " ".join(words)), width)
    assert all(width_of(line.text) <= width for line in lines)
    assert shlex.split("\n".join(line.text for line in lines).replace("\\\n", "")) == words


def test_wide_characters_count_two_columns():
    assert width_of("漢字") == 4
    assert clipped("漢字漢字", 5) == "漢字…"


def test_short_tables_are_not_cut():
    lines = table_lines(COLUMNS, [("3fa91c02", "NEW", "Widget", "spec.size: Required value", 7)], 80)
    assert lines[1].text == "3fa91c02  NEW   Widget  spec.size: Required value        7"


@pytest.mark.parametrize(("color", "text"), [(True, "\x1b[1;31ma\x1b[0m\nb\n"), (False, "a\nb\n")])
def test_colour_is_only_printed_when_asked_for(color, text):
    assert painted([Line("a", "critical"), Line("b")], color=color) == text


@given(st.lists(st.text("ab/-.", min_size=1, max_size=70), min_size=1, max_size=6), st.integers(20, 60))
def test_without_a_width_no_word_is_in_pieces(words, width):
    text = " ".join(words)
    command = command_lines(Line(f"  auditor {text}", "dim"), width)
    assert undivided(command) == [Line(f"  auditor {text}", "dim")]
    lines = wrapped(Line(text), width, cuts_paths=False)
    assert all(width_of(line.text) <= width for line in lines)
    assert [word for line in undivided(lines) for word in line.text.split()] == words
    assert undivided(wrapped(Line(text), width)) == wrapped(Line(text), width)


def test_a_command_that_does_not_fit_as_a_whole_is_left_out():
    lines = [Line("text"), *command_lines(Line("  auditor show " + "x" * 60), 40), Line("end")]
    assert len(lines) == 5
    assert [len(first_lines(lines, most)) for most in range(7)] == [0, 1, 1, 1, 4, 5, 5]
