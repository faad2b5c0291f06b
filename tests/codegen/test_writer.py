import traceback

import pytest

from auditor.codegen import FunctionWriter, Module, compile_function


def test_block_indents_and_fills_an_empty_body():
    writer = FunctionWriter()
    with writer.block("if a:"):
        pass
    with writer.block("for b in c:"), writer.block("if d:"):
        writer.line("e()")
    assert writer.source == "if a:\n pass\nfor b in c:\n if d:\n  e()\n"
    assert writer.depth == 0


def test_lines_take_the_depth_they_are_added_at():
    other = FunctionWriter()
    with other.block("if b:"):
        other.line("a()")
    writer = FunctionWriter()
    with writer.block("else:"):
        writer.lines(other.written)
    assert writer.source == "else:\n if b:\n  a()\n"


@pytest.mark.parametrize("value", ["a'b\\\n\"", "\ud800", 7, -1, True, None, 1.5, "x\u2028"])
def test_literal_of_a_plain_scalar_evaluates_to_it(value):
    module = Module("t")
    result = eval(module.literal(value), module.namespace)
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize("value", [[1], {"a": 1}, (1,), frozenset({1}), float("inf"), float("nan"), object()])
def test_literal_of_anything_else_is_a_slot_with_the_very_object(value):
    module = Module("t")
    name = module.literal(value)
    assert name.startswith("_k")
    assert module.namespace[name] is value


def test_hostile_text_stays_a_string():
    hostile = '"); __import__("os").abort(); ("'
    module = Module("t")
    name = module.function(lambda n: f"def {n}():\n return {module.literal(hostile)}\n")
    assert module.compile(name)() == hostile


def test_the_same_object_gets_the_same_slot():
    module = Module("t")
    value = ["a"]
    assert module.slot(value) == module.slot(value)
    assert module.slot(["a"]) != module.slot(value)


def test_functions_are_compiled_at_their_first_call():
    module = Module("t")
    inner = module.function(lambda n: f"def {n}(x):\n return x + 1\n")
    outer = module.function(lambda n: f"def {n}(x):\n return {inner}(x) * 2 if x else 0\n")
    call = module.compile(outer)
    assert call(0) == 0
    assert module.compiled == 1
    assert call(3) == 8
    assert module.compiled == 2
    assert call(4) == 10
    assert module.compiled == 2


def test_source_shows_functions_that_were_never_called():
    module = Module("t")
    value = {"b", "a"}
    slot = module.slot(value)

    def write(name):
        deeper = module.function(lambda n: f"def {n}(x):\n return x in {slot}\n")
        return f"def {name}(x):\n return {deeper}(x)\n"

    module.function(write)
    assert "['a', 'b']" in module.source
    assert f"return x in {slot}" in module.source
    assert module.compiled == 0


def test_a_traceback_shows_the_generated_line():
    namespace = {}
    function = compile_function("def broken(x):\n return 1 // x\n", "broken", "case", namespace)
    with pytest.raises(ZeroDivisionError) as caught:
        function(0)
    text = "".join(traceback.format_exception(caught.value))
    assert "return 1 // x" in text
    assert "<auditor case " in text
