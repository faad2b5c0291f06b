"""Code that an earlier run compiled does the same, and its tracebacks show the same lines."""

import traceback

import pytest

from auditor.base.disk_cache import active_cache, using_cache
from auditor.codegen import Module, compile_function, keep_code, kept_code

SOURCE = "def f(x):\n inner = [1 // y for y in x]\n return inner\n"


@pytest.fixture
def cache(tmp_path):
    with using_cache(str(tmp_path / "cache")):
        another_process()
        yield active_cache()
        another_process()


def another_process():
    for known in (kept_code._books, kept_code._needed, kept_code._changed):
        known.clear()


def compiles(monkeypatch):
    """Return the sources that are compiled from now on."""
    seen = []

    def noted(source, *rest):
        seen.append(source)
        return compile(source, *rest)

    monkeypatch.setattr(kept_code, "compile", noted, raising=False)
    return seen


def test_code_is_compiled_once_for_all_runs(cache, monkeypatch):
    seen = compiles(monkeypatch)
    for _ in range(2):
        function = compile_function(SOURCE, "f", "Thing.v1.example.com _f0", {})
        assert function([1, 2]) == [1, 0]
        keep_code()
        another_process()
    assert seen == [SOURCE]
    compile_function(SOURCE + "\n", "f", "Thing.v1.example.com _f0", {})  # another source
    compile_function(SOURCE, "f", "Thing.v2.example.com _f0", {})  # another program
    assert len(seen) == 3


def test_a_traceback_shows_the_line_of_kept_code(cache):
    texts = []
    for _ in range(2):
        function = compile_function(SOURCE, "f", "Thing.v1.example.com _f0", {})
        with pytest.raises(ZeroDivisionError) as raised:
            function([0])
        texts.append("".join(traceback.format_exception(raised.value)))
        assert function.__code__.co_filename in texts[-1]
        keep_code()
        another_process()
    assert all("inner = [1 // y for y in x]" in text for text in texts)
    assert texts[0] != texts[1]  # each has a file of its own


def test_processes_add_to_what_others_have_written(cache, monkeypatch):
    compile_function(SOURCE, "f", "Thing.v1.example.com _f0", {})
    books = {name: dict(book) for name, book in kept_code._books.items()}
    keep_code()
    another_process()
    kept_code._books["Thing.v1.example.com"] = {}  # which began at the same time
    compile_function(SOURCE + "\n", "f", "Thing.v1.example.com _f0", {})
    keep_code()
    another_process()
    seen = compiles(monkeypatch)
    for source in (SOURCE, SOURCE + "\n"):
        compile_function(source, "f", "Thing.v1.example.com _f0", {})
    assert seen == []
    assert len(kept_code._books["Thing.v1.example.com"]) == len(books["Thing.v1.example.com"]) + 1


def test_what_no_run_needs_any_more_goes_when_there_is_much(cache, monkeypatch):
    monkeypatch.setattr(kept_code, "_MOST", 2000)
    for number in range(20):
        compile_function(f"{SOURCE}# {number}\nx{number} = {number}\n", "f", "Thing.v1.example.com _f0", {})
        keep_code()
        another_process()
    assert sum(map(len, kept_code._read("Thing.v1.example.com").values())) < 4000


def test_a_damaged_file_is_compiled_anew(cache, monkeypatch):
    compile_function(SOURCE, "f", "Thing.v1.example.com _f0", {})
    keep_code()
    another_process()
    [file] = cache.folder.iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    seen = compiles(monkeypatch)
    assert compile_function(SOURCE, "f", "Thing.v1.example.com _f0", {})([1]) == [1]
    assert seen == [SOURCE]


def test_without_a_cache_nothing_is_written(tmp_path):
    module = Module("Thing.v1.example.com")
    name = module.function(lambda name: f"def {name}(x):\n return x\n")
    assert module.compile(name)(3) == 3
    keep_code()
    assert not kept_code._books
    assert list(tmp_path.iterdir()) == []
