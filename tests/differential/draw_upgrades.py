"""Draws pairs of definitions, an upgrade each, and objects for the old one: `tests.differential.live_upgrades` carries them out."""

import copy
from random import Random

from tests.upgrade.server.pairs import WEBHOOK, Pair, crd, version

TEXTS = ["", "a", "red", "blue", "a-b", "10.0.0.1", "2026-01-01T00:00:00Z", "1h", "x" * 30, "Ünï", "50%", "true"]
PATTERNS = ["^[a-z]*$", "^.{1,5}$", "^(red|blue|a)$", "-"]
FORMATS = ["date-time", "ipv4", "duration", "uuid", "byte", "k8s-short-name", "email", "no-such-format"]
RULES = {
    "string": ["self == oldSelf", "self.size() < 4", "self != 'red'", "oldSelf.size() <= self.size()", "self.matches('^[a-z]')"],
    "integer": ["self >= oldSelf", "self < 5", "self % 2 == 0", "self == oldSelf || self == 0"],
    "boolean": ["self", "!self || oldSelf"],
    "array": ["self.size() < 2", "self == oldSelf", "self.all(x, x == x)", "self.exists(x, true)"],
    "object": ["self == oldSelf", "has(self.nothing)", "size(self) >= 0", "true"],
}  # fmt: skip


class Draw:
    """Random schemas, values and changes of definitions."""

    def __init__(self, random):
        self.random = random

    def maybe(self, share):
        return self.random.random() < share

    # -- schemas

    def schema(self, depth=0):
        """Return a structural schema."""
        kinds = ["string"] * 4 + ["integer"] * 2 + ["number", "boolean", "int-or-string"]
        if depth < 3:
            kinds += ["array"] * 2 + ["object"] * 2 + ["map", "open", "embedded"]
        kind = self.random.choice(kinds)
        made = getattr(self, "_" + kind.replace("-", "_"))(depth)
        if self.maybe(0.12):
            made["nullable"] = True
        if self.maybe(0.15):
            self.default(made)
        return made

    def _string(self, depth):
        made = {"type": "string"}
        for key, share, values in (("enum", 0.15, None), ("maxLength", 0.1, [1, 5, 40]), ("minLength", 0.05, [0, 1]),
                                   ("pattern", 0.1, PATTERNS), ("format", 0.15, FORMATS)):  # fmt: skip
            if self.maybe(share):
                made[key] = self.random.sample(TEXTS, 6) if values is None else self.random.choice(values)
        return self.ruled(made)

    def _integer(self, depth):
        made = {"type": "integer"}
        for key, share, values in (("minimum", 0.15, [0, 1, -5]), ("maximum", 0.15, [3, 10, 1000]),
                                   ("multipleOf", 0.05, [1, 2]), ("format", 0.2, ["int32", "int64"])):  # fmt: skip
            if self.maybe(share):
                made[key] = self.random.choice(values)
        return self.ruled(made)

    def _number(self, depth):
        return {"type": "number"} | ({"maximum": 10, "exclusiveMaximum": self.maybe(0.5)} if self.maybe(0.2) else {})

    def _boolean(self, depth):
        return self.ruled({"type": "boolean"})

    def _int_or_string(self, depth):
        return {"x-kubernetes-int-or-string": True}

    def _array(self, depth):
        made = {"type": "array", "items": self.schema(depth + 1)}
        sort = self.random.choice(["", "", "", "atomic", "set", "map"])
        if sort == "map":
            item = {
                "type": "object",
                "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
                "required": ["k"],
            }
            made = {"type": "array", "items": item, "x-kubernetes-list-map-keys": ["k"]}
        if sort == "set":
            made["items"] = {"type": self.random.choice(["string", "integer"])}
        if sort:
            made["x-kubernetes-list-type"] = sort
        if self.maybe(0.2):
            made[self.random.choice(["maxItems", "minItems"])] = self.random.choice([1, 2])
        return self.ruled(made)

    def _object(self, depth):
        names = self.random.sample("abcdef", self.random.randint(1, 3))
        made = {"type": "object", "properties": {name: self.schema(depth + 1) for name in names}}
        if self.maybe(0.2):
            made["required"] = [self.random.choice(names)]
        if self.maybe(0.1):
            made["x-kubernetes-preserve-unknown-fields"] = True
        if self.maybe(0.1):
            made["x-kubernetes-map-type"] = self.random.choice(["atomic", "granular"])
        if self.maybe(0.15):
            self.junctor(made)
        return self.ruled(made)

    def _map(self, depth):
        made = {"type": "object", "additionalProperties": self.schema(depth + 1)}
        return made | ({"maxProperties": self.random.choice([1, 2])} if self.maybe(0.2) else {})

    def _open(self, depth):
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}

    def _embedded(self, depth):
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "x-kubernetes-embedded-resource": True}

    def ruled(self, made):
        if self.maybe(0.08):
            self.rule(made)
        return made

    def rule(self, made):
        rules = RULES.get(made.get("type"), ["true"])
        made.setdefault("x-kubernetes-validations", []).append({"rule": self.random.choice(rules)})

    def junctor(self, made):
        names = list(made.get("properties") or {}) or ["a"]
        one = {"required": [self.random.choice(names)]}
        word = self.random.choice(["anyOf", "oneOf", "allOf", "not"])
        made[word] = one if word == "not" else [one, {"required": [self.random.choice([*names, "nothing"])]}]

    def default(self, made):
        if "embedded" not in "".join(made):
            made["default"] = self.value(made)

    # -- values

    def value(self, schema, share=0.75):
        """Return a value that mostly fits a schema."""
        if schema.get("nullable") and self.maybe(0.25):
            return None
        if "enum" in schema and self.maybe(0.9):
            return self.random.choice(schema["enum"])
        if schema.get("x-kubernetes-int-or-string"):
            return self.random.choice([1, "50%", "a"])
        if schema.get("x-kubernetes-embedded-resource"):
            return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"x": 1}}
        match schema.get("type"):
            case "string":
                fitting = {"^.{1,5}$": ["a", "red"], "^(red|blue|a)$": ["red", "blue", "a"], "-": ["a-b"]}
                known = {"date-time": TEXTS[6:7], "ipv4": TEXTS[5:6], "duration": TEXTS[7:8], "byte": ["", "YQ=="]}
                texts = fitting.get(schema.get("pattern")) or known.get(schema.get("format")) or TEXTS
                limit = schema.get("maxLength", 99)
                return self.random.choice([text for text in texts if len(text) <= limit] or ["a"])
            case "integer":
                number = self.random.choice([0, 1, 2, 4, 10, 70000])
                return max(schema.get("minimum", number), min(number, schema.get("maximum", number)))
            case "number":
                return self.random.choice([0.5, 1, 2.0, 9])
            case "boolean":
                return self.maybe(0.5)
            case "array":
                count = self.random.choice([0, 1, 1, 2, 3])
                count = max(schema.get("minItems", 0), min(count, schema.get("maxItems", count)))
                made = [self.value(schema["items"]) for _ in range(count)]
                kind = schema.get("x-kubernetes-list-type")
                if kind == "map":
                    made = [{**one, "k": f"k{place}"} for place, one in enumerate(made) if isinstance(one, dict)]
                return list(dict.fromkeys(made)) if kind == "set" else made
            case _:
                return self._members(schema, share)

    def _members(self, schema, share):
        required = schema.get("required", ())
        made = {name: self.value(child) for name, child in (schema.get("properties") or {}).items()
                if name in required or self.maybe(share)}  # fmt: skip
        if isinstance(schema.get("additionalProperties"), dict):
            made |= {name: self.value(schema["additionalProperties"]) for name in "xyz"[: self.random.randint(0, 2)]}
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            made |= self.random.choice([{}, {"free": 1}, {"free": {"deep": ["a", None]}, "other": "x"}, {"a": "red"}])
        return made

    # -- definitions

    def definition(self):
        """Return the body of an old definition with one to three versions; all but one share a schema mostly."""
        names = self.random.choice(
            [["v1"], ["v1"], ["v1alpha1", "v1"], ["v1alpha1", "v1"], ["v1alpha1", "v1beta1", "v1"]]
        )
        storage = self.random.choice(names)
        base = self.root()
        made = []
        for name in names:
            schema = copy.deepcopy(base)
            if self.maybe(0.25):
                self.change_schema(schema)
            made.append(self.version(name, schema, served=name == storage or self.maybe(0.85), storage=name == storage))
        if not any(one["served"] for one in made):
            made[0]["served"] = True
        body = crd(*made, scope=self.random.choice(["Namespaced", "Namespaced", "Cluster"]))
        if self.maybe(0.1):
            body["names"]["shortNames"] = ["wd"]
        if len(names) == 1 and self.maybe(0.1):
            body["conversion"] = copy.deepcopy(WEBHOOK)
        return body

    def root(self):
        spec = {"type": "object", "properties": {name: self.schema() for name in ("a", "b", "c", "d", "color", "size")}}
        spec["properties"] |= {"color": self._string(0), "size": self._integer(0)}
        if self.maybe(0.2):
            spec["required"] = [self.random.choice(list(spec["properties"]))]
        status = {
            "type": "object",
            "properties": {"phase": self._string(0), "ready": {"type": "boolean"}, "n": self._integer(0)},
        }
        return {"type": "object", "properties": {"spec": spec, "status": status}}

    def version(self, name, root, **more):
        made = version(name, **more)
        made["schema"] = {"openAPIV3Schema": root}
        made["subresources"] = {"status": {}} if self.maybe(0.7) else {}
        if self.maybe(0.15):
            made["subresources"]["scale"] = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.n"}
        if self.maybe(0.2):
            made["selectableFields"] = [{"jsonPath": self.random.choice([".spec.color", ".spec.size"])}]
        if self.maybe(0.2):
            made["additionalPrinterColumns"] = [{"name": "S", "type": "integer", "jsonPath": ".spec.size"}]
        return made

    # -- changes

    def nodes(self, schema, path=()):
        """Yield each schema below a root with the one that has it and its key; metadata have none here."""
        for key, child in list((schema.get("properties") or {}).items()):
            yield schema, key, child
            yield from self.nodes(child)
        for key in ("items", "additionalProperties"):
            if isinstance(schema.get(key), dict):
                yield schema, key, schema[key]
                yield from self.nodes(schema[key])

    def change_schema(self, root):
        """Change a schema in one place."""
        parent, key, node = self.random.choice(list(self.nodes(root)))
        kind = node.get("type", "")
        changes = ["retype", "nullable", "default", "rule", "describe"]
        if key in (parent.get("properties") or {}) and key not in ("spec", "status"):
            changes += ["remove", "remove", "require", "require", "rename"]
        if "properties" in node:
            changes += [
                "add",
                "add-required",
                "add-default",
                "open",
                "junctor",
                "loosen",
                "close",
                "map-type",
                "to-map",
            ]
        changes += {
            "string": ["enum", "enum", "maxLength", "minLength", "pattern", "format", "loosen"],
            "integer": ["minimum", "maximum", "multipleOf", "format", "loosen", "number"],
            "number": ["maximum", "integer", "loosen"],
            "array": ["maxItems", "minItems", "list-type", "keys", "uniqueItems", "loosen"],
            "object": ["open", "close", "maxProperties", "minProperties", "embed", "to-properties"],
        }.get(kind, [])
        self.apply(self.random.choice(changes), parent, key, node)

    def apply(self, change, parent, key, node):
        choose = self.random.choice
        match change:
            case "retype":
                node.clear()
                node.update(self.schema(2))
            case "nullable":
                node["nullable"] = not node.get("nullable", False)
            case "default":
                node.pop("default", None)
                if self.maybe(0.7):
                    self.default(node)
            case "rule":
                self.rule(node)
            case "describe":
                node["description"] = "a field"
            case "remove" | "rename":
                child = parent["properties"].pop(key)
                if change == "rename":
                    parent["properties"][key + "2"] = child
                if key in parent.get("required", ()):
                    parent["required"] = [name for name in parent["required"] if name != key] or ["zz"]
            case "require":
                parent["required"] = sorted({*parent.get("required", ()), key})
            case "add" | "add-required" | "add-default":
                node["properties"]["fresh"] = self.schema(2)
                if change == "add-required":
                    node["required"] = sorted({*node.get("required", ()), "fresh"})
                if change == "add-default":
                    self.default(node["properties"]["fresh"])
            case "open":
                node["x-kubernetes-preserve-unknown-fields"] = True
            case "close":
                node.pop("x-kubernetes-preserve-unknown-fields", None)
                node.pop("x-kubernetes-embedded-resource", None)
            case "embed":
                node["x-kubernetes-embedded-resource"] = True
            case "junctor":
                self.junctor(node)
            case "loosen":
                for word in ("enum", "pattern", "maxLength", "minimum", "maximum", "maxItems", "format", "required",
                             "x-kubernetes-validations", "oneOf", "anyOf", "not"):  # fmt: skip
                    node.pop(word, None)
            case "map-type":
                node["x-kubernetes-map-type"] = choose(["atomic", "granular"])
            case "to-map":
                node["additionalProperties"] = self.schema(2)
                node.pop("properties")
            case "to-properties":
                node.pop("additionalProperties", None)
                node.setdefault("properties", {"x": {"type": "string"}})
            case "enum":
                node["enum"] = (
                    [*(node.get("enum") or []), choose(TEXTS)] if self.maybe(0.3) else self.random.sample(TEXTS, 8)
                )
            case "pattern":
                node["pattern"] = choose(PATTERNS)
            case "format":
                node["format"] = choose(FORMATS if node["type"] == "string" else ["int32", "int64"])
            case "number" | "integer":
                node["type"] = change
            case "list-type":
                node["x-kubernetes-list-type"] = choose(["atomic", "set", "map"])
                node.pop("x-kubernetes-list-map-keys", None)
                if node["x-kubernetes-list-type"] == "map":
                    node["x-kubernetes-list-map-keys"] = [choose(["k", "a"])]
            case "keys":
                if "x-kubernetes-list-map-keys" in node:
                    node["x-kubernetes-list-map-keys"] = choose([["v"], ["k", "v"]])
                    node["items"]["required"] = ["k", "v"]
            case "uniqueItems":
                node["uniqueItems"] = True
            case word:
                node[word] = choose([0, 1, 2, 5, 20])

    def change(self, body):
        """Change a definition in one place."""
        versions = body["versions"]
        one = self.random.choice(versions)
        ways = ["schema"] * 10 + ["everywhere"] * 6 + ["serve", "add", "remove", "move"] * 2 + ["conversion", "names", "categories",
                "status", "scale", "selectable", "columns", "scope", "deprecate", "preserve", "hide-schema"]  # fmt: skip
        way = self.random.choice(ways)
        root = one["schema"]["openAPIV3Schema"]
        match way:
            case "schema":
                self.change_schema(root)
            case "everywhere":
                seed = self.random.random()
                for each in versions:
                    Draw(Random(seed)).change_schema(each["schema"]["openAPIV3Schema"])
            case "serve":
                one["served"] = not one["served"]
            case "add":
                fresh = copy.deepcopy(one) | {"name": "v2", "storage": False, "served": self.maybe(0.8)}
                if not any(each["name"] == "v2" for each in versions):
                    if self.maybe(0.5):
                        self.change_schema(fresh["schema"]["openAPIV3Schema"])
                    versions.append(fresh)
                    if self.maybe(0.4):
                        self._store(versions, fresh)
            case "remove":
                if len(versions) > 1:
                    versions.remove(one)
                    if not any(each["storage"] for each in versions):
                        self._store(versions, versions[-1])
            case "move":
                self._store(versions, one)
            case "conversion":
                body["conversion"] = copy.deepcopy(self.random.choice([WEBHOOK, {"strategy": "None"}]))
            case "names":
                key, value = self.random.choice([("kind", "Gadget"), ("listKind", "Widgets"), ("singular", "wdgt"),
                                                 ("shortNames", ["wx"]), ("plural", "gadgets")])  # fmt: skip
                body["names"][key] = value
            case "categories":
                body["names"]["categories"] = ["all"]
            case "status":
                one["subresources"] = {
                    key: one["subresources"][key] for key in one["subresources"] if key != "status"
                } or ({} if "status" in one["subresources"] else {"status": {}})
            case "scale":
                if not one["subresources"].pop("scale", None):
                    one["subresources"]["scale"] = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.n"}
            case "selectable":
                one["selectableFields"] = self.random.choice(
                    [[], [{"jsonPath": ".spec.color"}], [{"jsonPath": ".spec.zz"}]]
                )
            case "columns":
                one["additionalPrinterColumns"] = [{"name": "C", "type": self.random.choice(["string", "integer", "date", "x"]),
                                                    "jsonPath": ".spec.color"}]  # fmt: skip
            case "scope":
                if self.maybe(0.3):
                    body["scope"] = "Cluster" if body["scope"] == "Namespaced" else "Namespaced"
            case "deprecate":
                one |= {"deprecated": True, "deprecationWarning": "use another"}
            case "preserve":
                root["x-kubernetes-preserve-unknown-fields"] = True
            case "hide-schema":
                root["properties"].pop("status", None)
        return way

    def _store(self, versions, chosen):
        for each in versions:
            each["storage"] = each is chosen

    def pair(self, name):
        old = self.definition()
        new = copy.deepcopy(old)
        ways = [self.change(new) for _ in range(self.random.choice([1, 1, 1, 2, 3]))]
        made = Pair(name, old, new, [])
        made.ways = ways
        others = [one["name"] for one in old["versions"] if not one["storage"]]
        if others and self.maybe(0.3):
            made.flipped = self.random.choice(others)
        return made

    def widget(self, body, name):
        served = [one for one in body["versions"] if one["served"]]
        one = self.random.choice(served)
        properties = one["schema"]["openAPIV3Schema"]["properties"]
        made = {"at": one["name"], "name": name, "spec": self.value(properties["spec"])}
        if "status" in properties and self.maybe(0.6):
            made["status"] = self.value(properties["status"])
        return made
