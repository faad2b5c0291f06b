"""How many objects each change of a schema concerns: by their findings, keyword by keyword, not by equal paths."""

import pytest

from tests.upgrade.support import crd, scan, spec, string, thing, version

NUMBER = {"type": "integer"}
LIST = {"type": "array", "items": {"type": "string"}}
MAP = {"type": "object", "additionalProperties": {"type": "string"}}
ITEMS = {"type": "array", "items": spec(k=string(), v=string())}
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": spec(k=string(), v=string()) | {"required": ["k"]}}  # fmt: skip
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
AB = spec(a=string(), b=string())
BRANCHES = [{"required": ["a"]}, {"required": ["b"]}]

CASES = {
    "maximum": (NUMBER, {"maximum": 5}, [9], [1]),
    "minimum": (NUMBER, {"minimum": 5}, [1], [9]),
    "exclusiveMaximum": (NUMBER | {"maximum": 9}, {"exclusiveMaximum": True}, [9], [1]),
    "exclusiveMinimum": (NUMBER | {"minimum": 1}, {"exclusiveMinimum": True}, [1], [9]),
    "multipleOf": (NUMBER, {"multipleOf": 2}, [3], [4]),
    "maxLength": (string(), {"maxLength": 2}, ["long"], ["no"]),
    "minLength": (string(), {"minLength": 3}, ["no"], ["long"]),
    "pattern": (string(), {"pattern": "^a"}, ["b"], ["a"]),
    "format": (string(), {"format": "date"}, ["b"], ["2026-01-01"]),
    "enum": (string(), {"enum": ["a"]}, ["b"], ["a"]),
    "type": (OPEN | {"type": ""}, {"type": "string", "x-kubernetes-preserve-unknown-fields": None}, [3], ["a"]),
    "type of int-or-string": (
        {"type": "boolean"},
        {"type": None, "x-kubernetes-int-or-string": True},
        [True],
        [],
    ),
    "maxItems": (LIST, {"maxItems": 1}, [["a", "b"]], [["a"]]),
    "minItems": (LIST, {"minItems": 2}, [["a"]], [["a", "b"]]),
    "list type": (LIST, {"x-kubernetes-list-type": "set"}, [["a", "a"]], [["a", "b"]]),
    "list type of maps": (ITEMS, KEYED, [[{"k": "a"}, {"k": "a"}]], [[{"k": "a"}]]),
    "maxProperties": (MAP, {"maxProperties": 1}, [{"a": "", "b": ""}], [{"a": ""}]),
    "minProperties": (MAP, {"minProperties": 2}, [{"a": ""}], [{"a": "", "b": ""}]),
    "now required": (AB, {"required": ["a"]}, [{"b": ""}], [{"a": ""}]),
    "oneOf": (AB, {"oneOf": BRANCHES}, [{"a": "", "b": ""}, {}], [{"a": ""}]),
    "anyOf": (AB, {"anyOf": BRANCHES}, [{}], [{"a": ""}]),
    "allOf": (AB, {"allOf": BRANCHES}, [{"a": ""}, {}], [{"a": "", "b": ""}]),
    "not": (AB, {"not": {"required": ["a"]}}, [{"a": ""}], [{"b": ""}]),
    "new rule": (AB, {"x-kubernetes-validations": [{"rule": "has(self.a)"}]}, [{"b": ""}], [{"a": ""}]),
    "now an embedded resource": (
        OPEN,
        {"x-kubernetes-embedded-resource": True},
        [{"x": 1}],
        [{"apiVersion": "v1", "kind": "K"}],
    ),
    "field removed": (AB, {"properties": {"a": string()}}, [{"b": ""}], [{"a": ""}]),
}


def narrowed(place, old, new, folder, objects):
    """Return the section of the definition and the changes of its schema that concern objects, with their numbers."""
    done = scan(
        folder,
        [crd(version(place(old)), stored=["v1"])],
        [crd(version(place(new)))],
        [thing(f"t{number}", value) for number, value in enumerate(objects)],
    )
    [definition] = done.section["definitions"]
    return definition, {change["change"]: change["objects"] for change in definition["schema_changes"]}


@pytest.mark.parametrize("place", ["field", "items", "map"])
@pytest.mark.parametrize("name", CASES)
def test_a_change_counts_the_objects_that_break_it(name, place, tmp_path):
    old, more, bad, good = CASES[name]
    new = {key: value for key, value in {**old, **more}.items() if value is not None}

    def where(schema):
        array = {"type": "array", "items": schema}
        return spec(
            f={"field": schema, "items": array, "map": {"type": "object", "additionalProperties": schema}}[place]
        )

    def filled(value):
        return {"f": {"field": value, "items": [value, value], "map": {"x.y": value, "z": value}}[place]}

    definition, changes = narrowed(where, old, new, tmp_path, map(filled, [*bad, *good]))
    assert changes[name.partition(" of ")[0]] == len(bad)
    counts = definition["categories"]
    kinds = ("tolerated", "blocked", "invalid", "data-loss", "broken-before", "unreadable")
    assert len(bad) == sum(counts.get(kind, 0) for kind in kinds)


def test_a_change_that_no_object_breaks_counts_none_beside_one_at_the_same_field(tmp_path):
    new = string(pattern="^a", maxLength=5, enum=["a", "ab", "long"], format="uuid", minLength=1)
    _, changes = narrowed(lambda schema: spec(f=schema), string(), new, tmp_path, [{"f": "ab"}, {"f": "long"}, {}])
    assert changes == {"pattern": 1, "maxLength": 0, "enum": 0, "format": 2, "minLength": 0}


def test_what_was_broken_before_is_not_counted_again(tmp_path):
    old, new = NUMBER | {"maximum": 3}, NUMBER | {"maximum": 2, "multipleOf": 2}
    _, changes = narrowed(lambda schema: spec(f=schema), old, new, tmp_path, [{"f": 5}, {"f": 3}, {"f": 2}])
    assert changes == {"maximum": 1, "multipleOf": 2}


def test_a_second_composite_keyword_counts_where_another_is_broken_already(tmp_path):
    def both(schema):
        return spec(f=AB | {"oneOf": BRANCHES}, g=schema)

    objects = [{"f": {}, "g": {}}, {"f": {}, "g": {"a": ""}}]
    definition, changes = narrowed(both, AB, AB | {"anyOf": BRANCHES}, tmp_path, objects)
    assert changes == {"anyOf": 1}
    assert definition["categories"]["tolerated"] == 1


@pytest.mark.parametrize(
    ("schema", "value", "category"), [(LIST, [None], "tolerated"), (MAP, {"a": None}, "data-loss")], ids=["list", "map"]
)
def test_null_is_broken_in_a_list_and_lost_in_a_map(schema, value, category, tmp_path):
    """A read drops null members of maps, so that the next write loses them, and keeps null items of lists."""
    below = "items" if schema is LIST else "additionalProperties"
    old = schema | {below: string(nullable=True)}
    definition, changes = narrowed(lambda schema: spec(f=schema), old, schema, tmp_path, [{"f": value}, {}])
    assert changes == {"null no longer allowed": 1}
    assert definition["categories"] == {category: 1, "unchanged": 1}


@pytest.mark.parametrize(
    "new", [OPEN | {"properties": {"a": NUMBER}}, {"type": "object", "additionalProperties": NUMBER}]
)
def test_what_was_kept_unknown_and_has_a_schema_now_is_narrower(new, tmp_path):
    objects = [{"f": {"a": "x"}}, {"f": {"a": 1}}, {}]
    _, changes = narrowed(lambda schema: spec(f=schema), OPEN, new, tmp_path, objects)
    assert changes["type"] == 1


def test_metadata_that_are_validated_now_are_narrower(tmp_path):
    metadata = {"type": "object", "properties": {"name": string(maxLength=2)}}
    old, new = version(spec()), version(spec())
    new["schema"]["openAPIV3Schema"]["properties"]["metadata"] = metadata
    done = scan(tmp_path, [crd(old, stored=["v1"])], [crd(new)], [thing("a", {}), thing("long", {})])
    [definition] = done.section["definitions"]
    changes = {(each["field"], each["change"]): each["objects"] for each in definition["schema_changes"]}
    assert changes == {("metadata.name", "maxLength"): 1}


def test_the_whole_object_is_a_place(tmp_path):
    def rooted(rules):
        return spec(a=string()) | {"x-kubernetes-validations": rules}

    rule = {"rule": "!has(self.a) || self.a == 'x'"}
    _, changes = narrowed(rooted, [], [rule], tmp_path, [{"a": "y"}, {"a": "x"}, {}])
    assert changes == {"new rule": 1}


STATUS = {"subresources": {"status": {}}}


@pytest.mark.parametrize(
    ("versions", "objects", "fails"),
    [
        ([("v1", STATUS)], [{}], " of the status"),
        ([("v1", {})], [{}], " or a re-creation"),
        ([("v1", STATUS), ("v2", {})], [{}], " or a re-creation"),
        ([("v1", STATUS)], [{}, {"a": "long"}], " or a re-creation of 1 of them"),
        ([("v1", STATUS)], [{"a": "long"}], " or a re-creation"),
    ],
)
def test_a_create_drops_an_invalid_status_where_that_is_a_subresource(tmp_path, versions, objects, fails):
    """Source: measured on v1.37.2: such a create is 201, the status that is then sent to /status 422."""

    def definition(**more):
        rules = {"x-kubernetes-validations": [{"rule": "has(self.metadata)"}]}  # not checked where a value is invalid
        made = [
            version(spec(a=string(**more)), name, storage=name == "v1", status=spec(**{"a.b": string(**more)}), **subs)
            for name, subs in versions
        ]
        for each in made:
            each["schema"]["openAPIV3Schema"] |= rules
        return crd(*made, stored=["v1"])

    stored = [thing(f"t{number}", each, status={"a.b": "long"}) for number, each in enumerate(objects)]
    done = scan(tmp_path, [definition()], [definition(maxLength=2)], stored)
    assert f"do not change, but a restore{fails} fails" in done.definition["sentence"]
