"""What a server's answers before and after an upgrade amount to, and what the scan says of the same upgrade."""

import base64
import json
from pathlib import Path

from auditor.plan.options import AuditOptions
from auditor.shards.upgrade import UpgradeOptions
from pipelines.run.upgrade import run_upgrade

FORESEEN = {
    "rule-immutable": "attention",
    "short-taken": "attention",
    "rule-on-status": "attention",
    "status-narrower": "attention",
}
"""What no request shows that changes nothing: rules on a change, names that stay unaccepted, a status that is invalid."""


def word_of(name, answer):
    """Return (word, why) by the answers of a server."""
    if answer["code"] >= 300:
        return "blocks", f"refused: {answer['causes'][:1]}"
    before, after = answer["before"], answer["after"]
    for at, (code, _) in before["lists"].items():
        now, text = after["lists"][at]
        if code == 200 and now not in (200, 404):
            if "conversion webhook" in text:  # there is none: an upgrade brings its own
                return "safe-after", f"LIST at {at}: {text}"
            return "blocks", f"LIST at {at}: {text}"
    for key, was in before["objects"].items():
        now = after["objects"].get(key, {})
        if was["get"] == now.get("get") == 200:
            if was["put"] < 300 <= now["put"]:
                return "blocks", f"PUT of {key} is refused"
            for shown in ("content", "rewritten"):
                if found := lost(was["content"], now.get(shown, was["content"])):
                    return "blocks", f"{key} loses {found}"
    gone = [at for at, (code, _) in before["lists"].items() if code == 200 != after["lists"][at][0]]
    gone += [
        f"{what} {key}"
        for what in ("status", "scale", "selectors")
        for key, code in before[what].items()
        if code == 200 != after[what].get(key)
    ]
    gone += [
        f"{request} {key}"
        for key, was in before["objects"].items()
        for request in ("create", "apply")
        if was.get(request, 500) < 300 <= after["objects"].get(key, {}).get(request, 0)
    ]
    if gone:
        return "attention", f"no longer: {gone}"
    return FORESEEN.get(name, "safe"), ""


def lost(was, now, path=""):
    """Return the first path that an object had and has no longer, or that has another value."""
    if isinstance(was, dict):
        for key, value in was.items():
            below = f"{path}.{key}"
            if not isinstance(now, dict) or key not in now:
                return below
            if found := lost(value, now[key], below):
                return found
        return ""
    if isinstance(was, list):
        if not isinstance(now, list) or len(now) != len(was):
            return path
        return next((found for at, (one, other) in enumerate(zip(was, now, strict=True)) if (found := lost(one, other, f"{path}[{at}]"))), "")  # fmt: skip
    return "" if was == now else path


def dump_of(answer, path):
    """Write a dump of what etcd held before the upgrade, as `etcdctl get -w json` prints it."""
    kvs = [
        {"key": _encoded(key), "create_revision": at, "mod_revision": at, "version": 1, "value": _encoded(value)}
        for at, (key, value) in enumerate(sorted(answer["stored"].items()), 2)
    ]
    path.write_text(json.dumps({"header": {"revision": len(kvs) + 1}, "kvs": kvs, "count": len(kvs)}))
    return path


def _encoded(text):
    return base64.b64encode(text.encode()).decode()


def scan(pair, answer, folder, *, plan=False, via=()):
    """Return (exit code, section of the manifest) of the scan of an upgrade."""
    dump = dump_of(answer, folder / "dump.json")
    (folder / "new.json").write_text(json.dumps(pair.new_document))
    options = AuditOptions(dumps=(str(dump),), report=str(folder / "report"), fail_on="invalid", jobs=1)
    wanted = UpgradeOptions((str(folder / "new.json"),), plan_file=str(folder / "plan") if plan else "", via=tuple(via))
    code, manifest = run_upgrade(options, wanted)
    return code, manifest


def answers():
    return json.loads((Path(__file__).parent / "answers.json").read_text())["answers"]
