"""Each check of style finds what it is for, and accepts the plain form of the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.style import clocks, first_checks, handlers, structure, words
from tests.style.__main__ import CHECKS
from tests.style.files import Module, Project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Check = Callable[[Project], Iterator[str]]


def places(check: Check, texts: dict[str, str]) -> list[str]:
    """Return path and line of what a check names in some files, in order."""
    modules = [Module(name, text) for name, text in texts.items() if name.endswith(".py")]
    documents = {name: text for name, text in texts.items() if name.endswith(".md")}
    named = [place.split(": ")[0] for place in check(Project(modules, documents))]
    return sorted(place for place in named if place.rpartition(":")[0] in {*texts, "auditor/many"})


@pytest.mark.parametrize(
    "text",
    [
        '"""Return what the reader is told."""\n',
        "x = 1  # nobody reads it\n",
        'HELP = "Of a damaged database, also take its pages."\n',
        '"""Returns a number. Of several the first."""\n',
        '"""Return a number; None: there is none."""\n',
        'f"{1} objects, of which {2} are valid"\n',
        '"""The field stands in the manifest."""\n',
    ],
)
def test_a_phrase_is_found(text: str) -> None:
    assert set(places(words.texts_use_plain_words, {"tests/a.py": text})) == {"tests/a.py:1"}


def test_plain_words_are_accepted() -> None:
    text = '"""A placeholder stands for a name."""\nx = "# the class of the object"  # the class of the object\n'
    assert places(words.texts_use_plain_words, {"tests/a.py": text}) == []


def test_a_needless_exception_is_found() -> None:
    name, part = next(iter(words.EXCEPTIONS))
    named = [place for place in words.texts_use_plain_words(Project([], {})) if repr(part) in place and name in place]
    assert len(named) == 1
    assert len(list(words.texts_use_plain_words(Project([Module(name, f"x = '{part}'")], {})))) > 1


def test_phrases_in_names_and_documents_are_found() -> None:
    named = {"tests/a.py": "def test_an_error_is_told():\n    pass\n\n\ndef test_an_error_is_reported():\n    pass\n"}
    assert places(words.names_use_plain_words, named) == ["tests/a.py:1"]
    text = {"docs/a.md": "`nobody`\n\n```\nnobody\n```\n\nNobody\n"}
    assert places(words.documents_use_plain_words, text) == ["docs/a.md:7"]


def test_names_of_other_layers_are_found() -> None:
    texts = {
        "auditor/a.py": '"""pipelines"""\nHOME = {"x": "pipelines.run"}\n',
        "pipelines/b.py": 'FILE = "definitions.ndjson"\n(folder / definitions).read_text()\n',
        "pipelines/c.py": 'HOME = "pipelines.run"\n',
    }
    expected = ["auditor/a.py:2", "pipelines/b.py:1", "pipelines/b.py:2"]
    assert places(structure.names_of_other_layers_are_not_used, texts) == expected


def test_sizes_are_found() -> None:
    lines = "    pass\n" * 78
    texts = {
        "auditor/long.py": "x = 1\n" * 501,
        "auditor/function.py": f"@mark\ndef f():\n{lines}    pass\n",
        "auditor/short.py": f"@mark\ndef f():\n{lines}" + "x = 1\n" * 420,
        "auditor/cel/emit/emitter.py": '"""Without a reason."""\n' + "x = 1\n" * 501,
    }
    expected = ["auditor/cel/emit/emitter.py:1", "auditor/function.py:2", "auditor/long.py:1"]
    assert places(structure.sizes_are_small, texts) == expected
    many = {f"auditor/many/m{number}.py": "" for number in range(21)}
    assert places(structure.sizes_are_small, many) == ["auditor/many:1"]


def test_a_module_without_a_docstring_is_found() -> None:
    texts = {"auditor/a.py": "x = 1\n", "auditor/b.py": '"""It says so."""\n'}
    assert places(structure.modules_say_what_they_are, texts) == ["auditor/a.py:1"]


def test_an_import_of_a_private_name_is_found() -> None:
    texts = {"auditor/a.py": "from __future__ import annotations\nfrom auditor.base import _hidden\n"}
    assert places(structure.private_names_are_not_imported, texts) == ["auditor/a.py:2"]


def test_an_import_for_types_or_within_a_function_makes_a_circle() -> None:
    texts = {
        "auditor/one.py": "if TYPE_CHECKING:\n    from auditor.two import Two\n",
        "auditor/two.py": "def f():\n    import auditor.three\n",
        "auditor/three.py": "from auditor import one, other\n",
        "auditor/other.py": "",
        "auditor/last.py": "import auditor.other\nfrom . import other\n",
    }
    assert places(structure.modules_import_in_one_direction, texts) == ["auditor/last.py:2", "auditor/one.py:1"]


@pytest.mark.parametrize(
    ("handler", "is_found"),
    [
        ("except Exception:\n        return None", True),
        ("except:\n        pass", True),
        ("except (OSError, BaseException) as error:\n        h(error)", False),
        ("except Exception:\n        undo()\n        raise", False),
        ("except OSError:\n        pass", False),
    ],
)
def test_a_handler_that_loses_an_exception_is_found(handler: str, is_found: bool) -> None:
    texts = {"auditor/a.py": f"def f():\n    try:\n        g()\n    {handler}\n"}
    assert places(handlers.handlers_lose_nothing, texts) == ["auditor/a.py:4"] * is_found


def test_what_suppresses_any_exception_is_found() -> None:
    texts = {
        "auditor/a.py": "def f():\n    with suppress(OSError):\n        g()\n"
        "    with contextlib.suppress(Exception):\n        g()\n"
    }
    assert places(handlers.handlers_lose_nothing, texts) == ["auditor/a.py:4"]


def test_a_second_check_without_a_first_is_found() -> None:
    texts = {
        "tests/test_a.py": '@second_check("vectors/x", by="tests/test_b.py")\ndef test_one():\n    pass\n',
        "tests/test_b.py": 'pytestmark = second_check("golden/x", by="tests/test_c.py")\n\n\ndef test_two():\n    pass\n',
        "tests/test_c.py": "def test_three():\n    pass\n",
        "tests/test_d.py": '@second_check("elsewhere", by="tests/test_c.py")\ndef test_four():\n    pass\n',
    }
    assert places(first_checks.second_checks_have_a_first, texts) == ["tests/test_a.py:1", "tests/test_d.py:1"]


def test_a_test_of_what_is_not_recorded_is_found() -> None:
    text = 'def test_a():\n    shared("vectors/no-such")\n'
    texts = {
        "tests/test_a.py": text,
        "tests/test_b.py": f"@pytest.mark.slow\n{text}",
        "tests/test_c.py": f'@second_check("vectors/no-such", by="x")\n{text}',
    }
    assert places(first_checks.tests_read_what_is_recorded, texts) == ["tests/test_a.py:2"]


FOLLOWED = {
    "at once": "begun = process_time()\nf()\nassert process_time() - begun < 2",
    "best of some": "took = []\nfor _ in range(3):\n    b = time.perf_counter()\n    took.append(time.perf_counter() - b)\nassert min(took) < 1",
    "processor time of children": "b = getrusage(CHILDREN)\nspent = getrusage(CHILDREN).ru_utime - b.ru_utime\nassert spent <= 3",
    "a function": "def seconds():\n    return timeit.repeat(f)\nassert 8 * seconds() > 3",
    "a stored answer": "ok = monotonic() - begun() < 5\nassert ok",
    "a negation": "b = monotonic()\nf()\nassert not slow(monotonic() - b > 5)",
    "rounded": "b = monotonic()\nf()\nassert int(monotonic() - b) == 0",
    "a range": "b = monotonic()\nf()\nassert int(monotonic() - b) in range(5)",
    "another name": "from time import monotonic as now\nb = now()\nf()\nassert now() - b < 2",
    "the time": "from time import time\nb = time()\nf()\nassert time() - b < 3",
    "a clock by number": "b = time.clock_gettime(1)\nf()\nassert time.clock_gettime(1) - b < 3",
    "times of the system": "b = os.times()[0]\nf()\nassert os.times()[0] - b < 3",
    "the other branch": "b = monotonic()\nf()\nif monotonic() - b < 3:\n    pass\nelse:\n    raise AssertionError",
    "a helper elsewhere": "from tests.helper import least\nassert least(f) < 1",
    "a program": "code = 'print(process_time())'\ndone = run(code)\nassert float(done.stdout) < 1",
    "a failure": "begun = monotonic()\nf()\nif monotonic() - begun > 90:\n    pytest.fail('slow')",
    "a generator": "ends = [time.time() for _ in f()]\nassert all(end < 3 for end in ends)",
    "a short wait": "until = monotonic() + 5\nwhile not f():\n    assert monotonic() < until",
    "a short loop": "until = monotonic() + 5\nwhile not f() and monotonic() < until:\n    pass",
    "a wait without a bound": "begun = monotonic()\nwhile not f() and monotonic() - begun < 90:\n    pass",
}


@pytest.mark.parametrize("lines", FOLLOWED.values(), ids=FOLLOWED)
def test_a_comparison_of_a_clock_is_found(lines: str) -> None:
    body = lines.replace("\n", "\n    ")
    texts = {
        "tests/test_a.py": f"def test_a():\n    {body}\n",
        "tests/helper.py": "from time import process_time\n\n\ndef least(call):\n    assert process_time() < 3\n    return process_time()\n",
        "tests/benchmarks/test_a.py": f"def test_a():\n    {body}\n",
    }
    assert [place.rpartition(":")[0] for place in places(clocks.clocks_are_not_compared, texts)] == ["tests/test_a.py"]


ACCEPTED = {
    "a bounded wait": "until = monotonic() + 60\nwhile not f():\n    assert monotonic() < until",
    "a bounded loop": "end, done = time.monotonic() + WAIT, 0\nwhile not done and time.monotonic() < end:\n    done = f()\nassert done > 0",
    "memory": "cost = getrusage(SELF).ru_maxrss\nassert cost < 1000",
    "another number": "begun = monotonic()\nprint(monotonic() - begun)\nassert f() < 3",
    "how many": "took = [monotonic()]\nassert len(took) < 3",
    "an equal text": "took = monotonic()\nassert f(took) == 'text'",
    "no deadline": "settings(deadline=None)",
}


@pytest.mark.parametrize("lines", ACCEPTED.values(), ids=ACCEPTED)
def test_a_bounded_wait_is_accepted(lines: str) -> None:
    body = lines.replace("\n", "\n    ")
    texts = {"tests/test_a.py": f"WAIT = 120\n\n\ndef test_a():\n    {body}\n"}
    assert places(clocks.clocks_are_not_compared, texts) == []


def test_a_deadline_of_examples_is_found() -> None:
    text = "@settings(max_examples=3, deadline=200)\ndef test_a(x):\n    assert x\n"
    assert places(clocks.clocks_are_not_compared, {"tests/test_a.py": text}) == ["tests/test_a.py:1"]


def test_every_check_is_run() -> None:
    modules = (clocks, first_checks, handlers, structure, words)
    assert {check.__name__ for check in CHECKS} == {name for module in modules for name in module.__all__}
