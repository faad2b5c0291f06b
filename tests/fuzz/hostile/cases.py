"""What the fuzzer draws: inputs, surroundings, and the commands over them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.fuzz.hostile.documents import definition, definitions, etcd_snapshot, etcdctl_dump, objects, stored
from tests.fuzz.hostile.texts import drawn_text

if TYPE_CHECKING:
    import random

__all__ = ["FAMILIES", "SOUND", "Case", "make_sound_report"]

SOUND = "HOSTILE_CASE_SOUND"
"""Names the folder of a report to be damaged, in the environment."""

ROOT = Path(__file__).resolve().parent.parent.parent.parent
Runner = Callable[[tuple[str, ...]], tuple[int, bytes, bytes]]


@dataclass
class Case:
    """Commands to run in the folder of the case.

    Attributes:
        commands: Arguments of each.
        writes: Folders below which they may write.
        codes: Exit codes that are right.
        may_refuse: An audit may end with 2: what it was given is no dump, or no report.
        changes_inputs: The case itself writes to its folder while commands run.
        run: What runs a command; None: in this process.
    """

    commands: list[tuple[str, ...]]
    writes: tuple[str, ...] = ("out", "out2")
    codes: tuple[int, ...] = (0, 1, 2, 3)
    may_refuse: bool = False
    changes_inputs: bool = False
    run: Runner | None = None


def _value(draw: random.Random, depth: int = 0) -> Any:
    """Return any JSON value."""
    chance = draw.randrange(8 if depth < 3 else 6)
    if chance == 6:
        return [_value(draw, depth + 1) for _ in range(draw.randrange(4))]
    if chance == 7:
        return {_text(draw): _value(draw, depth + 1) for _ in range(draw.randrange(4))}
    numbers = (0, -1, 5, 2**31, 2**63, -(2**63) - 1, 1e308, 0.5, 10**30)
    return (None, True, draw.choice(numbers), _text(draw), _text(draw), "")[chance]


def _text(draw: random.Random) -> str:
    """Return a text that JSON and UTF-8 can hold."""
    return drawn_text(draw).encode("utf-8", "replace").decode()


_RULES = (
    "self.a == ''",
    "self.size() > 0",
    "has(self.a)",
    "self.all(k, k != '')",
    "oldSelf == self",
    "self.a.matches('(')",
    "1",
)


def _schema(draw: random.Random, depth: int = 0) -> dict[str, Any]:
    kind = draw.choice(("object", "object", "string", "integer", "array", "boolean", "number", _text(draw)))
    made: dict[str, Any] = {"type": kind}
    if kind == "object" and depth < 3:
        made["properties"] = {_text(draw): _schema(draw, depth + 1) for _ in range(draw.randrange(4))}
        if draw.random() < 0.3:
            made["required"] = [_text(draw)]
        if draw.random() < 0.2:
            made["additionalProperties"] = _schema(draw, depth + 1)
    if kind == "array":
        made["items"] = _schema(draw, depth + 1) if depth < 3 else {"type": "string"}
        if draw.random() < 0.3:
            made["x-kubernetes-list-type"] = draw.choice(("set", "map", "atomic", _text(draw)))
            made["x-kubernetes-list-map-keys"] = [_text(draw)]
    extras: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("default", lambda: _value(draw)), ("enum", lambda: [_value(draw), _value(draw)]), ("pattern", lambda: _text(draw)),
        ("format", lambda: draw.choice(("date", "date-time", "int32", "byte", "duration", _text(draw)))),
        ("maxLength", lambda: draw.choice((0, 1, -1, 10**9))), ("maximum", lambda: draw.choice((0, 5.5, 1e300))),
        ("description", lambda: _text(draw)), ("nullable", lambda: draw.choice((True, False))),
        ("uniqueItems", lambda: True), ("x-kubernetes-preserve-unknown-fields", lambda: True),
        ("x-kubernetes-int-or-string", lambda: True), ("x-kubernetes-embedded-resource", lambda: True),
        ("x-kubernetes-validations", lambda: [{"rule": draw.choice((*_RULES, _text(draw))), "message": _text(draw)}]),
        ("multipleOf", lambda: draw.choice((0, 1, 0.1, -3))), (_text(draw), lambda: _value(draw)), ("not", lambda: {"type": "string"}),
    )  # fmt: skip
    for name, value in draw.sample(extras, draw.choice((0, 0, 1, 1, 2, 4))):
        made[name] = value()
    return made


def _definition(draw: random.Random) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": _schema(draw), "status": _schema(draw, 2)}}
    more: dict[str, Any] = {}
    if draw.random() < 0.4:
        more["additionalPrinterColumns"] = [
            {"name": _text(draw), "type": draw.choice(("string", "date", "integer", _text(draw))), "jsonPath": f".spec{_text(draw)}"}
        ]  # fmt: skip
    if draw.random() < 0.4:
        more["selectableFields"] = [{"jsonPath": draw.choice((".spec.a", f".spec.{_text(draw)}", _text(draw)))}]
    if draw.random() < 0.2:
        more["subresources"] = {
            "status": {},
            "scale": {"specReplicasPath": _text(draw), "statusReplicasPath": ".status.r"},
        }
    names = {
        name: _text(draw)
        for name in ("plural", "kind", "group", "version")
        if draw.random() < 0.3
    }  # fmt: skip
    made = definition(schema, **names, **more)
    for _ in range(draw.choice((0, 0, 0, 1, 2))):
        _replace_one(draw, made)
    return made


def _replace_one(draw: random.Random, document: Any) -> None:
    """Put any value in the place of one somewhere in a document."""
    place = document
    while True:
        keys = list(place) if type(place) is dict else list(range(len(place)))
        if not keys:
            return
        key = draw.choice(keys)
        if type(place[key]) not in (dict, list) or draw.random() < 0.25:
            place[key] = _value(draw)
            return
        place = place[key]


def _object_of(draw: random.Random, made: Any) -> dict[str, Any]:
    try:
        spec = made["spec"]
        api = f"{spec['group']}/{spec['versions'][0]['name']}"
        kind = spec["names"]["kind"]
    except (KeyError, IndexError, TypeError):
        api, kind = "ex.com/v1", "W"
    name = draw.choice(("a", "b", _text(draw)))
    metadata: Any = {"name": name, "namespace": draw.choice(("d", "d", _text(draw))), "uid": "u"}
    if draw.random() < 0.3:
        metadata[
            draw.choice(("labels", "annotations", "finalizers", "ownerReferences", "managedFields", _text(draw)))
        ] = _value(draw)
    one = {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": _value(draw), _text(draw): _value(draw)}
    for _ in range(draw.choice((0, 0, 1))):
        _replace_one(draw, one)
    return one


def _lines(path: Path, documents: list[Any]) -> str:
    path.write_text("".join(json.dumps(one) + "\n" for one in documents), encoding="utf-8")
    return path.name


_FORMATS = (
    "wide",
    "name",
    "json",
    "yaml",
    "csv",
    "ndjson",
    "jsonpath={.items[*].metadata.name}",
    "custom-columns=A:.metadata.name",
)


def _commands(draw: random.Random, dump: str, kinds: list[str], key: str) -> list[tuple[str, ...]]:
    """Return an audit and one or two commands over its dump or its report."""
    kind = draw.choice(kinds)
    target = draw.choice((dump, "out"))
    others = (
        ("query", target, kind, "-o", draw.choice(_FORMATS)),
        ("query", target, kind),
        ("query", target, "ws", "--show-labels", "--show-kind", "-A"),
        ("show", target, key),
        ("explain", target, kind, "--values"),
        ("kinds", target),
        ("crds", "export", dump, "--openapi"),
        ("crds", "check", dump, "--costs"),
        ("gates", "list", dump),
        ("validate", dump),
        ("upgrade", dump, "--new-crds", dump, "--report", "out2", "--jobs", "1"),
        ("audit", dump, "--report", "out2", "--diff", "out", "--jobs", "1", "--force"),
        ("findings", "out", "--against", "out"),
    )
    audit = ("audit", dump, "--report", "out", "--jobs", "1", *draw.choice(((), (), ("--at", "served"), ("--redact",))))
    return [audit, *draw.sample(others, draw.choice((0, 1, 1, 2)))]


def _argument(text: str) -> str:
    """Return a text that an argument of a command can be."""
    return text.replace("\0", "").lstrip("-") or "ws"


def drawn_definitions(draw: random.Random, folder: Path) -> Case:
    """Draw definitions and their objects, as an export or as what etcd holds."""
    made = [_definition(draw) for _ in range(draw.choice((1, 1, 2)))]
    items = [_object_of(draw, draw.choice(made)) for _ in range(draw.randrange(1, 4))]
    names = []
    for one in made:
        try:
            names += [_argument(str(one["spec"]["names"]["plural"])), _argument(str(one["spec"]["names"]["kind"]))]
        except (KeyError, TypeError):
            continue
    name = str((items[0].get("metadata") or {}).get("name") if type(items[0].get("metadata")) is dict else "a")
    if draw.random() < 0.6:
        dump = _lines(folder / "dump.ndjson", [*made, *items])
        return Case(_commands(draw, dump, names or ["ws"], _argument(f"d/{name}")))
    prefix = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
    values = {f"{prefix}{at}.{_text(draw)}".encode(): json.dumps(one).encode() for at, one in enumerate(made)}
    for one in items:
        key = f"/registry/{draw.choice(('ex.com/ws/d', _text(draw)))}/{_text(draw)}".encode()
        values[key] = json.dumps(one).encode()
    return _of_keys(draw, folder, values, names or ["ws"])


def drawn_keys(draw: random.Random, folder: Path) -> Case:
    """Draw keys and values of etcd."""
    values = stored(_text(draw)[:300]) if draw.random() < 0.3 else {}
    for one in definitions("a")[:1]:
        values[b"/registry/apiextensions.k8s.io/customresourcedefinitions/ws.ex.com"] = json.dumps(one).encode()
    for _ in range(draw.randrange(1, 6)):
        parts = [
            draw.choice(("registry", "ex.com", "ws", "pods", "secrets", "d", _text(draw)))
            for _ in range(draw.randrange(1, 6))
        ]
        value = draw.choice((json.dumps(_value(draw)).encode(), _text(draw).encode(), b"k8s\0" + _text(draw).encode(), b"k8s:enc:aescbc:v1:k:" + _text(draw).encode()))  # fmt: skip
        values[draw.choice((b"/", b"")) + "/".join(parts).encode()] = value
    values.pop(b"", None)
    return _of_keys(draw, folder, values, ["ws", "pods"])


def _of_keys(draw: random.Random, folder: Path, values: dict[bytes, bytes], kinds: list[str]) -> Case:
    key = _argument(draw.choice(sorted(values)).decode(errors="replace"))
    if draw.random() < 0.5:
        dump = etcdctl_dump(folder / "dump.json", values).name
        return Case(_commands(draw, dump, kinds, key))
    dump = etcd_snapshot(folder / "dump.db", values).name
    case = Case(_commands(draw, dump, kinds, key))
    if draw.random() < 0.2:
        case.commands.append(("history", dump, draw.choice(kinds)))
    return case


def make_sound_report(folder: Path) -> None:
    """Write a report, and beside it its dump, from which those that are damaged are copied."""
    from tests.fuzz.hostile.run import run_command

    spec = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 2}}}
    made = definition({"type": "object", "properties": {"spec": spec}}, selectableFields=[{"jsonPath": ".spec.a"}])
    items = [
        {
            "apiVersion": "ex.com/v1",
            "kind": "W",
            "metadata": {"name": f"o{at}", "namespace": "d", "uid": "u"},
            "spec": {"a": "x" * at},
        }
        for at in range(5)
    ]
    dump = folder / "dump.ndjson"
    _lines(dump, [made, *items])
    asked = ("audit", str(dump), "--report", str(folder / "report"), "--jobs", "1", "--fail-on", "never")
    code, _, err = run_command(asked)
    if code:
        raise RuntimeError(err.decode())


def _json_of(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError:  # it was damaged already
        return {}


def drawn_report(draw: random.Random, folder: Path) -> Case:
    """Damage an earlier report, and use it."""
    sound = Path(os.environ[SOUND])
    shutil.copytree(sound / "report", folder / "old")
    shutil.copy(sound / "dump.ndjson", folder / "dump.ndjson")
    files = sorted(path for path in (folder / "old").rglob("*") if path.is_file())
    for _ in range(draw.choice((1, 1, 2, 3))):
        path = draw.choice([*files, *[one for one in files if one.name == "manifest.json"] * 3])
        if not path.exists():
            continue
        chance = draw.random()
        if path.suffix == ".json" and chance < 0.8:
            document = _json_of(path)
            _replace_one(draw, document)
            path.write_text(json.dumps(document))
        elif chance < 0.2:
            path.unlink()
        elif chance < 0.3:
            path.write_bytes(b"")
        elif chance < 0.4:
            other = draw.choice(files)
            path.write_bytes(other.read_bytes() if other.exists() else b"x")
        else:
            data = bytearray(path.read_bytes())
            for _ in range(draw.choice((1, 1, 4, 30))):
                if data:
                    data[draw.randrange(len(data))] = draw.randrange(256)
            path.write_bytes(data[: len(data) if draw.random() < 0.7 else draw.randrange(len(data) + 1)])
    choices: list[tuple[str, ...]] = [
        ("query", "old", "ws"), ("query", "old", "ws", "--field-selector", "spec.a=x"), ("query", "old", "ws", "-o", "json"),
        ("show", "old", "d/o1"), ("explain", "old", "ws", "--values"), ("diff", "old", "old"), ("findings", "old", "--against", "old"),
        ("audit", "dump.ndjson", "--report", "out", "--diff", "old", "--jobs", "1"),
        ("audit", "dump.ndjson", "--report", "out2", "--diff", "old", "--only-new", "--jobs", "1"),
        ("audit", "old", "--report", "out2", "--jobs", "1", "--force"),
    ]  # fmt: skip
    commands = draw.sample(choices, 2)
    writes = [one for one in commands if one[0] == "audit"]
    if len(writes) == 2 and writes[0][writes[0].index("--report") + 1] == writes[1][writes[1].index("--report") + 1]:
        commands = commands[:1]
    return Case(commands, may_refuse=True)


def drawn_configuration(draw: random.Random, folder: Path) -> Case:
    """Draw an auditor.yaml that no option names, and an odd environment of files."""
    dump = _lines(folder / "dump.ndjson", [*definitions("a")[:1], *objects("a")[:2]])
    options = (
        "jobs",
        "report",
        "force",
        "kms-decryptor",
        "crds",
        "fail-on",
        "at",
        "namespace",
        "cluster-name",
        "include",
        _text(draw),
    )
    content = {
        draw.choice(("audit", "query", "crds", _text(draw))): draw.choice(
            ({draw.choice(options): _value(draw) for _ in range(2)}, _value(draw))
        )
    }
    (folder / "auditor.yaml").write_text(
        draw.choice((json.dumps(content), _text(draw), f"audit:\n  {_text(draw)}: {_text(draw)}"))
    )
    for _ in range(draw.randrange(3)):
        name = _text(draw).replace("/", "_").replace("\0", "")[:60] or "x"
        if name not in (".", "..", "dump.ndjson", "auditor.yaml") and not (folder / name).exists():
            draw.choice(
                (
                    lambda path: path.write_text(_text(draw)),
                    lambda path: path.symlink_to("/nowhere"),
                    os.mkfifo,
                    Path.mkdir,
                )
            )(folder / name)
    target = draw.choice((dump, "."))
    commands = [("audit", target, "--report", "out", "--jobs", "1"), ("query", dump, "ws"), ("crds", "check", dump)]
    return Case(draw.sample(commands, draw.choice((1, 2))), may_refuse=True)


_PLANTED = "import os\nopen(os.environ['HOSTILE_CASE_MARK'], 'w').write(__name__)\n"


def drawn_surroundings(draw: random.Random, folder: Path) -> Case:
    """Run in a process of its own: planted modules, a dump that changes, little memory, a fork server that is killed."""
    items = [{**objects("a")[0], "metadata": {"name": f"o{at}", "namespace": "d", "uid": "u"}} for at in range(400)]
    values = {f"/registry/ex.com/ws/d/{at}".encode(): json.dumps(one).encode() for at, one in enumerate(items)}
    values[b"/registry/apiextensions.k8s.io/customresourcedefinitions/ws.ex.com"] = json.dumps(
        definitions("a")[0]
    ).encode()
    dump = etcd_snapshot(folder / "dump.db", values)
    what = draw.choice(("planted", "changes", "memory", "killed"))
    mark = folder.parent / "temporary" / "planted"
    if what == "planted":
        for name in (
            *draw.sample(sorted(sys.stdlib_module_names), 30),
            "multiprocess",
            "pyarrow",
            "click",
            "orjson",
            "numpy",
        ):
            (folder / f"{name}.py").write_text(_PLANTED)
    jobs = draw.choice(("1", "2"))
    delay, cut = draw.random() * 1.5, draw.random()

    def run(arguments: tuple[str, ...]) -> tuple[int, bytes, bytes]:
        environment = {**os.environ, "HOSTILE_CASE_MARK": str(mark)}
        environment.pop("PYTHONPATH", None)
        limit = f"ulimit -v {draw.randrange(300_000, 1_500_000)}; " if what == "memory" else ""
        start = f"import sys; sys.path.append({str(ROOT)!r}); from pipelines.cli.main import main; main()"
        auditor = f"{shlex.quote(sys.executable)} -P -c {shlex.quote(start)}"
        script = f"{limit}exec {auditor} " + " ".join(map(shlex.quote, arguments))
        process = subprocess.Popen(["bash", "-c", script], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        disturb = {"changes": (_change, (dump, cut)), "killed": (_kill_children, (process.pid,))}.get(what)
        later = threading.Timer(delay, *disturb) if disturb else None
        if later is not None:
            later.start()
        out, err = process.communicate(timeout=200)
        if later is not None:  # what comes too late would disturb, and write into, the next case
            later.cancel()
            later.join()
        if process.returncode == 70 and what in ("memory", "killed") and b"Traceback" not in err and err.strip():
            return 3, out, err
        return process.returncode, out, err

    case = Case([("audit", dump.name, "--report", "out", "--jobs", jobs)], run=run, changes_inputs=what == "changes")
    case.may_refuse = what in ("memory", "changes")
    if what == "memory":
        case.codes = (*case.codes, 4)  # the environment: there is no memory
    return case


def _change(path: Path, cut: float) -> None:
    with path.open("r+b") as stream:
        size = path.stat().st_size
        if cut < 0.5:
            stream.truncate(int(size * cut))
        else:
            stream.seek(int(size * cut) // 2)
            stream.write(b"\xff" * 100)


def _kill_children(parent: int) -> None:
    until = time.monotonic() + 3
    while time.monotonic() < until:
        try:
            children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        except OSError:
            return
        for child in children:
            try:
                os.kill(int(child), 9)
            except ProcessLookupError:
                continue
        if children:
            return
        time.sleep(0.02)


FAMILIES: dict[str, tuple[float, Callable[[random.Random, Path], Case]]] = {
    "definitions": (60, drawn_definitions),
    "keys": (18, drawn_keys),
    "reports": (15, drawn_report),
    "configurations": (6.7, drawn_configuration),
    "surroundings": (0.3, drawn_surroundings),
}
"""Name to how often it is drawn, and what draws it."""
