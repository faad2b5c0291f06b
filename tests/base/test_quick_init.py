"""A class with a fast `__init__` makes the same objects as without, and stays frozen."""

import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from auditor.base.quick_init import quick_init
from auditor.cel.cel_types import Kind, Type
from auditor.cel.check.checked import Reference
from auditor.schema.structural import StructuralSchema
from auditor.validation.rules.rule_types import DeclaredType


@dataclass(frozen=True, slots=True)
class Plain:
    first: int
    second: str = "b"
    third: list[int] = field(default_factory=list)


@quick_init
@dataclass(frozen=True, slots=True)
class Quick:
    first: int
    second: str = "b"
    third: list[int] = field(default_factory=list)


def values(made):
    return [getattr(made, one.name) for one in fields(made)]


@pytest.mark.parametrize(
    ("given", "named"), [((1,), {}), ((1, "x"), {}), ((1, "x", [2]), {}), ((), {"first": 1, "third": [3]})]
)
def test_the_same_arguments_make_the_same_values(given, named):
    made = Quick(*given, **named)
    assert type(made) is Quick
    assert values(made) == values(Plain(*given, **named))
    assert made == Quick(*given, **named)
    assert hash(Type(Kind.INT, "int")) == hash(Type(Kind.INT, "int"))
    assert repr(made) == repr(Plain(*given, **named)).replace("Plain", "Quick")


def test_each_object_has_a_default_of_its_own():
    assert Quick(1).third is not Quick(1).third


@pytest.mark.parametrize(("given", "named"), [((), {}), ((1, "x", [], 4), {}), ((1,), {"fourth": 2})])
def test_other_arguments_are_refused(given, named):
    with pytest.raises(TypeError, match=r"__init__\(\)"):
        Quick(*given, **named)


def test_it_stays_frozen_and_can_be_replaced_and_pickled():
    made = Quick(1)
    with pytest.raises(FrozenInstanceError):
        made.first = 2
    assert replace(made, first=2).first == 2
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize("kind", [StructuralSchema, DeclaredType, Type, Reference])
def test_classes_that_use_it_have_no_further_slots(kind):
    assert tuple(kind.__slots__) == tuple(one.name for one in fields(kind))
    assert kind.__init__.__qualname__ == f"{kind.__qualname__}.__init__"


@pytest.mark.parametrize("wrong", ["no slots", "above", "post"])
def test_other_classes_are_refused(wrong):
    if wrong == "no slots":
        made = dataclass(frozen=True)(type("One", (), {"__annotations__": {"first": "int"}, "__slots__": ()}))
    elif wrong == "above":
        made = dataclass(frozen=True, slots=True)(type("One", (Plain,), {}))
    else:

        @dataclass(frozen=True, slots=True)
        class One:
            first: int

            def __post_init__(self):
                pass

        made = One
    with pytest.raises(TypeError, match="is not a plain dataclass"):
        quick_init(made)
