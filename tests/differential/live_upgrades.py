"""Holds every answer "safe" against a real API server: draws pairs of definitions with five objects each, and upgrades.

    python -m tests.differential.live_upgrades KUBECONFIG ETCD_ENDPOINT --pairs 500 --seed 1

Each pair is scanned as what etcd holds and as an export, and the new definition is checked by ``crds check --old``.
Then it is applied, and the same requests are made as before: LIST, GET, PUT, PATCH, server-side apply, DELETE, of the
status, too, at each version. What a write loses counts if it does not lose it under a copy of the old definition.
Exit code 1: an answer "safe" did not hold.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random

from tests.command import auditor
from tests.differential.draw_upgrades import Draw
from tests.upgrade.server.judge import dump_of, lost
from tests.upgrade.server.pairs import Pair
from tests.upgrade.server.real import CRDS, Api, collection, content, document, put, stored, upgrade


class Patient(Api):
    """An Api that asks again while the server prepares the storage of a kind."""

    def request(self, *asked):
        for _ in range(100):
            code, answer = super().request(*asked)
            if code != 429:
                break
            time.sleep(0.1)
        return code, answer


def set_up(api, endpoint, pairs, draw):
    """Create old definitions, drawn until the server takes them, and five objects each; return the pairs that have both."""
    made = []
    for pair in pairs:
        for _ in range(6):
            code, _answer = api.request("POST", CRDS, pair.old_document)
            if code < 300:
                made.append(pair)
                break
            other = draw.pair(pair.name)
            pair.old, pair.new, pair.flipped, pair.ways = other.old, other.new, other.flipped, other.ways
    time.sleep(3)
    return [pair for pair in made if _objects(api, endpoint, pair, draw)]


def _objects(api, endpoint, pair, draw):
    for each in pair.old["versions"]:
        path = collection(pair, pair.old, each["name"])
        for _ in range(100):
            if not each["served"] or api.request("GET", path)[0] == 200:
                break
            time.sleep(0.1)
    for attempt in range(40):
        if len(pair.objects) == 5:
            break
        one = draw.widget(pair.old, f"o{attempt}")
        path = collection(pair, pair.old, one["at"])
        if api.request("POST", path, document(pair, one))[0] >= 300:
            continue
        pair.objects.append(one)
        code, current = api.request("GET", f"{path}/{one['name']}")
        if code == 200 and "status" in one:
            api.request("PUT", f"{path}/{one['name']}/status", {**current, "status": one["status"]})
    if not pair.objects:
        return False
    place = "/default" if pair.old["scope"] == "Namespaced" else ""
    if draw.maybe(0.25):  # what an older definition let in
        one = pair.objects[-1]
        key = f"/registry/{pair.group}/{pair.old['names']['plural']}{place}/{one['name']}"
        value = json.loads(stored(endpoint, pair)[key])
        spec = value.get("spec")
        if isinstance(spec, dict):
            spec[draw.random.choice([*spec, "a"])] = draw.random.choice(["zzzzzz", 7, None, {"q": 1}, ["a", "a"], True])
            put(endpoint, key, json.dumps(value) + "\n")
    if pair.flipped:
        path = f"{CRDS}/{pair.old_document['metadata']['name']}"
        current = api.must("GET", path)
        for each in current["spec"]["versions"]:
            each["storage"] = each["name"] == pair.flipped
        pair.flipped = pair.flipped if api.request("PUT", path, current)[0] < 300 else ""
    return True


def requests(api, pair, body):
    """Return what a server answers: code by request, and what reads show."""
    codes, shown = {}, {}
    for each in pair.old["versions"]:
        at = each["name"]
        path = collection(pair, body, at)
        codes[f"list {at}"] = api.request("GET", path)[0]
        for field in each.get("selectableFields", ()):
            selector = field["jsonPath"].removeprefix(".") + "%3Dred"
            codes[f"selector {at} {field['jsonPath']}"] = api.request("GET", f"{path}?fieldSelector={selector}")[0]
        for one in pair.objects:
            name = f"{path}/{one['name']}"
            code, current = api.request("GET", name)
            codes[f"get {at} {one['name']}"] = code
            if code != 200:
                continue
            shown[f"{at} {one['name']}"] = content(current)
            merge = "application/merge-patch+json"
            label = {"metadata": {"labels": {"drawn": "x"}}}
            own = {"apiVersion": current["apiVersion"], "kind": current["kind"], "metadata": {"name": one["name"]}}
            dry, apply = "dryRun=All", "application/apply-patch+yaml"
            codes |= {
                f"put {at} {one['name']}": api.request("PUT", f"{name}?{dry}", current)[0],
                f"label {at} {one['name']}": api.request("PATCH", f"{name}?{dry}", label, merge)[0],
                f"apply {at} {one['name']}": api.request("PATCH", f"{name}?{dry}&fieldManager=x", own | label, apply)[0],
                f"status get {at} {one['name']}": api.request("GET", f"{name}/status")[0],
                f"status {at} {one['name']}": api.request("PUT", f"{name}/status?{dry}", current)[0],
                f"scale {at} {one['name']}": api.request("GET", f"{name}/scale")[0],
                f"delete {at} {one['name']}": api.request("DELETE", f"{name}?{dry}")[0],
                f"create {at} {one['name']}": api.request("POST", f"{path}?{dry}", {**current, "metadata": {"name": "fresh"}})[0],
            }  # fmt: skip
    return {"codes": codes, "shown": shown}


def rewrite(api, pair, body):
    """Write each object back once at each version in turn; return what each version then shows of it."""
    shown = {}
    for each in pair.old["versions"]:
        for one in pair.objects:
            name = f"{collection(pair, body, each['name'])}/{one['name']}"
            code, current = api.request("GET", name)
            if code == 200 and api.request("PUT", name, current)[0] < 300:
                code, now = api.request("GET", name)
                if code == 200:
                    shown[f"{each['name']} {one['name']}"] = content(now)
    return shown


def harm(pair, before, after, rewritten):
    """Return what an upgrade breaks: requests that passed and do not, and values that are no longer shown."""
    found = [f"{request}: {code} -> {after['codes'].get(request)}" for request, code in before["codes"].items()
             if code < 300 <= after["codes"].get(request, 999)]  # fmt: skip
    for key, value in before["shown"].items():
        for what, shown in (("read", after["shown"]), ("rewritten", rewritten)):
            if path := lost(value, shown.get(key, value)):
                found.append(f"{key} loses {path} ({what})")
    return found


def lost_before(api, endpoint, pair, spec, values):
    """Return what writes of the objects lose under the old definition: by a copy in a group of its own."""
    twin = Pair(f"t{pair.name}", spec, spec, pair.objects)
    api.must("POST", CRDS, {**twin.old_document, "spec": {**spec, "group": twin.group}})
    time.sleep(2)
    for key, text in values.items():
        if key.startswith(f"/registry/{pair.group}/"):
            put(endpoint, key.replace(pair.group, twin.group), text.replace(f"{pair.group}/", f"{twin.group}/"))
    shown = requests(api, twin, spec)["shown"]
    after = rewrite(api, twin, spec)
    api.request("DELETE", f"{CRDS}/{twin.old_document['metadata']['name']}")
    return {f"{key} loses {path} (rewritten)" for key, value in shown.items()
            if (path := lost(value, after.get(key, value)))}  # fmt: skip


def export(api, pair):
    """Return the definition and its objects as `kubectl get -o json` shows them."""
    definition = api.must("GET", f"{CRDS}/{pair.old_document['metadata']['name']}")
    preferred = next((one["name"] for one in pair.old["versions"][::-1] if one["served"]), None)
    answer = api.request("GET", collection(pair, pair.old, preferred))[1] if preferred else {}
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [{**kind, **definition}, *[
        {"apiVersion": f"{pair.group}/{preferred}", "kind": pair.old["names"]["kind"], **one} for one in answer.get("items", [])]]}  # fmt: skip


def command(*words):
    """Return (exit code, what it printed) of a command."""
    ended = auditor(*words)
    return ended.code, ended.stdout + ended.stderr


def answers_of(pair, values, exported, folder):
    """Return (exit code, first line or what was printed) of each command, by its name."""
    folder.mkdir(parents=True)
    (folder / "export.json").write_text(json.dumps(exported))
    (folder / "old.json").write_text(json.dumps(exported["items"][0]))
    (folder / "new.json").write_text(json.dumps(pair.new_document))
    dump = dump_of({"stored": values}, folder / "dump.json")
    out = {}
    for name, path in (("snapshot", dump), ("export", folder / "export.json")):
        words = ["upgrade", path, "--new-crds", folder / "new.json", "--report", folder / name, "--jobs", 1]
        out[name] = command(*words)
    out["check"] = command("crds", "check", folder / "new.json", "--old", folder / "old.json")
    return out


def says_safe(name, code, text):
    if name == "check":
        return code == 0
    return text.startswith("safe") and not text.startswith("safe after")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kubeconfig")
    parser.add_argument("endpoint")
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder for pairs whose answers differ")
    options = parser.parse_args()
    api, draw = Patient(options.kubeconfig), Draw(Random(options.seed))
    counts, wrong, done = Counter(), 0, 0
    folder = options.keep or Path(tempfile.mkdtemp())
    while done < options.pairs:
        names = [f"d{options.seed}x{done + at}" for at in range(min(options.batch, options.pairs - done))]
        done += len(names)
        pairs = set_up(api, options.endpoint, [draw.pair(name) for name in names], draw)
        time.sleep(3)
        before = {}
        for pair in pairs:
            values, exported = stored(options.endpoint, pair), export(api, pair)
            before[pair.name] = requests(api, pair, pair.old)
            pair.spec, pair.values = exported["items"][0]["spec"], values
            pair.said = answers_of(pair, values, exported, folder / pair.name)
        applied = {pair.name: upgrade(api, pair) for pair in pairs}
        time.sleep(4)
        for pair in pairs:
            code, causes = applied[pair.name]
            found = [f"refused: {causes[:1]}"] if code >= 300 else []
            if code < 300:
                body = pair.old | {"names": pair.new["names"]}
                after = requests(api, pair, body)
                found = harm(pair, before[pair.name], after, rewrite(api, pair, body))
                if found and all(text.endswith("(rewritten)") for text in found):
                    found = sorted({*found} - lost_before(api, options.endpoint, pair, pair.spec, pair.values))
            wrong += compared(pair, code, found, counts)
            api.request("DELETE", f"{CRDS}/{pair.old_document['metadata']['name']}")
        print(f"{done} drawn: {dict(sorted(counts.items()))}", flush=True)
    return 1 if wrong else 0


def compared(pair, code, found, counts):
    """Count and print how the answers differ from what happened; return the number of false answers "safe"."""
    wrong = 0
    counts["pairs"] += 1
    counts["objects"] += len(pair.objects)
    for name, (exit_code, text) in pair.said.items():
        first = text.split("\n")[0]
        is_safe = says_safe(name, exit_code, text)
        is_harmed = code >= 300 if name == "check" else bool(found)
        if exit_code not in (0, 1):
            print(f"?? {pair.name} {name} {exit_code}: {text[:300]}")
        result = f"{name} {'safe' if is_safe else 'not safe'}, {'harm' if is_harmed else 'no harm'}"
        counts[result] += 1
        if is_safe and is_harmed:
            wrong += 1
            print(f"FALSE {pair.name} {name} {pair.ways}: {first}\n    {found[:4]}", flush=True)
        elif not is_harmed and not is_safe and name == "snapshot":
            print(f"  over {pair.name} {pair.ways}: {first[:200]}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
