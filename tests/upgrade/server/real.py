"""Carries out upgrades on a real API server, and records what it says before and after.

``python -m tests.upgrade.server.real KUBECONFIG ETCD_ENDPOINT RELEASE`` writes ``answers.json``: for each pair the
stored values, and what the server answered. The server must be empty of the groups of the pairs.
"""

import base64
import json
import re
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.upgrade.server.pairs import PAIRS

ANSWERS = Path(__file__).parent / "answers.json"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Api:
    """A connection to a server, by the kubeconfig that `start` of the real server writes."""

    def __init__(self, kubeconfig):
        text = Path(kubeconfig).read_text()
        self.server = re.search(r"https://[0-9.:]+", text)[0]
        self.context = ssl._create_unverified_context()

    def request(self, method, path, body=None, content="application/json"):
        """Return (code, decoded answer)."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": "Bearer token", "Content-Type": content}
        asked = urllib.request.Request(self.server + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(asked, context=self.context, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            try:
                return error.code, json.loads(text)
            except ValueError:
                return error.code, {"message": text}

    def must(self, *asked):
        code, answer = self.request(*asked)
        assert code < 300, (asked, answer)
        return answer


def collection(pair, body, at):
    plural = body["names"]["plural"]
    place = "/namespaces/default" if body["scope"] == "Namespaced" else ""
    return f"/apis/{pair.group}/{at}{place}/{plural}"


def document(pair, one):
    metadata = {"name": one["name"]}
    if pair.old["scope"] == "Namespaced":
        metadata["namespace"] = "default"
    made = {"apiVersion": f"{pair.group}/{one['at']}", "kind": pair.old["names"]["kind"], "metadata": metadata}
    return made | {key: one[key] for key in ("spec", "status") if key in one}


def etcd(endpoint, request, **fields):
    """Return what etcd answers to a request about keys, by its JSON gateway; `fields` are encoded."""
    body = {key: base64.b64encode(text.encode()).decode() for key, text in fields.items()}
    asked = urllib.request.Request(f"http://{endpoint}/v3/kv/{request}", json.dumps(body).encode())
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return json.load(answer)


def put(endpoint, key, text):
    etcd(endpoint, "put", key=key, value=text)


def set_up(api, endpoint, pairs):
    """Create the old definitions and the objects."""
    for pair in pairs:
        for other in pair.others:
            api.must("POST", CRDS, pair.document(other))
        api.must("POST", CRDS, pair.old_document)
    for pair in pairs:
        for version in pair.old["versions"]:
            if version["served"]:
                wait(api, collection(pair, pair.old, version["name"]))
    for pair in pairs:
        for one in pair.objects:
            made, path = document(pair, one), collection(pair, pair.old, one["at"])
            if "apply" in one:
                named = f"{path}/{one['name']}?fieldManager={one['apply']}"
                api.must("PATCH", named, made, "application/apply-patch+yaml")
            else:
                api.must("POST", path, made)
            if "status" in one:
                current = api.must("GET", f"{path}/{one['name']}")
                api.must("PUT", f"{path}/{one['name']}/status", {**current, "status": one["status"]})
        place = "/default" if pair.old["scope"] == "Namespaced" else ""
        for name, text in pair.raw.items():
            put(endpoint, f"/registry/{pair.group}/{pair.old['names']['plural']}{place}/{name}", text)
        path = f"{CRDS}/{pair.old_document['metadata']['name']}"
        if pair.flipped:
            current = api.must("GET", path)
            for version in current["spec"]["versions"]:
                version["storage"] = version["name"] == pair.flipped
            api.must("PUT", path, current)
        if pair.stored is not None:
            status = {"status": {"storedVersions": pair.stored}}
            api.must("PATCH", f"{path}/status", status, "application/merge-patch+json")


def wait(api, path):
    for _ in range(200):
        code, _ = api.request("GET", path)
        if code == 200:
            return
        time.sleep(0.1)
    raise AssertionError(path)


def stored(endpoint, pair):
    """Return what etcd holds of a pair: text by key."""
    found = {}
    for prefix in (f"/registry/{pair.group}/", "/registry/apiextensions.k8s.io/customresourcedefinitions/"):
        for one in etcd(endpoint, "range", key=prefix, range_end=prefix[:-1] + "0").get("kvs", ()):
            key = base64.b64decode(one["key"]).decode()
            if key.startswith(f"/registry/{pair.group}/") or key.endswith(f".{pair.group}"):
                found[key] = base64.b64decode(one["value"]).decode()
    return found


def content(one):
    """Return what of an object is not kept by the server itself."""
    return {key: one[key] for key in ("spec", "status") if key in one}


def probe(api, pair, body, *, writes=False):
    """Return what the server answers to requests for the objects of a pair; with `writes` each is written back once."""
    out = {"lists": {}, "objects": {}, "status": {}, "scale": {}, "selectors": {}}
    for version in pair.old["versions"]:
        at = version["name"]
        path = collection(pair, body, at)
        code, answer = api.request("GET", path)
        out["lists"][at] = [code, "" if code == 200 else answer.get("message", "")]
        for field in version.get("selectableFields", ()):
            selector = field["jsonPath"].removeprefix(".") + "%3Dred"
            out["selectors"][f"{at} {field['jsonPath']}"] = api.request("GET", f"{path}?fieldSelector={selector}")[0]
        for one in pair.objects:
            code, current = api.request("GET", f"{path}/{one['name']}")
            key = f"{at} {one['name']}"
            reported = out["objects"][key] = {"get": code}
            if code != 200:
                continue
            reported["content"] = content(current)
            reported["put"] = api.request("PUT", f"{path}/{one['name']}?dryRun=All", current)[0]
            fresh = {**current, "metadata": {"name": "fresh", "namespace": "default"}}
            if pair.old["scope"] != "Namespaced":
                del fresh["metadata"]["namespace"]
            reported["create"] = api.request("POST", f"{path}?dryRun=All", fresh)[0]
            apply = {**fresh, "metadata": {**fresh["metadata"], "name": one["name"]}}
            named = f"{path}/{one['name']}?dryRun=All&force=true&fieldManager={one.get('apply', 'probe')}"
            reported["apply"] = api.request("PATCH", named, apply, "application/apply-patch+yaml")[0]
            if writes:
                api.request("PUT", f"{path}/{one['name']}", current)
                reported["rewritten"] = content(api.request("GET", f"{path}/{one['name']}")[1])
            for part in ("status", "scale"):
                out[part][key] = api.request("GET", f"{path}/{one['name']}/{part}")[0]
    return out


def upgrade(api, pair):
    """Apply the new definition; return (code, causes)."""
    new = pair.new_document
    path = f"{CRDS}/{new['metadata']['name']}"
    code, current = api.request("GET", path)
    target = path.replace("/v1/", f"/{pair.api.rpartition('/')[2]}/")
    if code == 200:
        new = {**new, "metadata": {**current["metadata"], **new["metadata"]}}
        code, answer = api.request("PUT", target, new)
    else:
        code, answer = api.request("POST", target.rpartition("/")[0], new)
    causes = (
        answer.get("details", {}).get("causes") if code >= 300 and isinstance(answer.get("details"), dict) else None
    )
    return code, [f"{one['field']}: {one['message']}" for one in causes or ()] or (
        [answer["message"]] if code >= 300 else []
    )


def carry_out(pairs, api, endpoint):
    """Run all upgrades; yield (pair, answer)."""
    set_up(api, endpoint, pairs)
    time.sleep(3)
    before = {pair.name: (stored(endpoint, pair), probe(api, pair, pair.old)) for pair in pairs}
    applied = {pair.name: upgrade(api, pair) for pair in pairs}
    time.sleep(5)
    for pair in pairs:
        code, causes = applied[pair.name]
        values, old = before[pair.name]
        yield (
            pair,
            {
                "stored": values,
                "code": code,
                "causes": causes,
                "before": old,
                "after": probe(api, pair, pair.old, writes=True) if code < 300 else None,
            },
        )


def main():
    kubeconfig, endpoint, release = sys.argv[1:]
    answers = {pair.name: answer for pair, answer in carry_out(PAIRS, Api(kubeconfig), endpoint)}
    lines = [f"{json.dumps(name)}: {json.dumps(answer, sort_keys=True)}" for name, answer in answers.items()]
    ANSWERS.write_text('{"release": ' + json.dumps(release) + ', "answers": {\n' + ",\n".join(lines) + "\n}}\n")
    sys.stdout.write(
        f"{len(answers)} pairs, {sum(one['code'] >= 300 for one in answers.values())} refused, {release}\n"
    )


if __name__ == "__main__":
    main()
