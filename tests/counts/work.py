"""Counts the work of one object of a kind, one file of a folder, one object of a query; writes the table of counts.

    python -m tests.counts.work                 write counts.json anew
    python -m tests.counts.work --print own     print what is counted of the vectors of the repository, or of `real` kinds

A count is the difference between two runs of the same code in this process, with `FEW` and with `MANY` copies of an
object under names of their own: what a run takes before its first object is in both. Runs before them generate the
code. Python and C calls are those that `sys.setprofile` sees; bytes are those given to decoders of JSON; files are those
that Python opens. Arrays are those that `pyarrow.array` makes of Python values for `MANY` objects together, as they are
made a column and not an object.

Kinds are those of the vectors of the repository, and `REAL` kinds of ../shared, whose objects are drawn from their
schemas (`tests/benchmarks/drawn.py`). Python runs anew with a fixed seed of its hashes: the order of a set decides how
many of its items are asked before one fits.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from unittest import mock

import msgspec
import orjson
import pyarrow as pa

from auditor import CrdCatalog
from auditor.fastpath.records import typed
from auditor.plan.cut import cut_shards
from auditor.plan.options import AuditOptions
from auditor.plan.run_plan import make_plan
from auditor.program.program import AuditProgram
from auditor.server.kind_batches import kind_batches
from auditor.shards.shard_audit import ShardAuditor
from auditor.sources.crd_files import read_crd_documents
from auditor.sources.manifests import object_header
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import open_store
from tests.benchmarks.drawn import drawn_lines
from tests.command import auditor
from tests.counting import events_of
from tests.reference.make import VECTORS
from tests.shared import beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["MANY", "TABLE", "Case", "counted", "counts_of"]

TABLE: Final = Path(__file__).with_name("counts.json")
FEW: Final = 200
MANY: Final = 300
REAL: Final = 30
GRAMS: Final = frozenset({("spec", "grams")})
DUMP_QUERIES: Final = (("--count",), ("-o", "name"), ("-o", "ndjson"), ("-o", "name", "--where", "spec.grams > 5000"))
_DRAWN: Final = 40
"""Objects of a kind that are drawn until one of them is proven."""

_UNSTEADY: Final = frozenset({"Thing.d7.example.com"})
"""Kinds whose counts differ from run to run by up to 6 calls: their rules use the old object, and are interpreted."""


class Case(NamedTuple):
    """Something that is done with any number of objects.

    Attributes:
        name: Its name in the table.
        prepare: Takes a folder and a number of objects, and returns a function that handles these objects. It can be
            called again and then has the same to do.
    """

    name: str
    prepare: Callable[[Path, int], Callable[[], object]]


# -- counting -------------------------------------------------------------------------------------------------------


def counts_of(case: Case, folder: Path) -> dict[str, int]:
    """Return the counts of a case.

    Args:
        case: The case.
        folder: An empty folder.
    """
    runs: dict[int, dict[str, int]] = {}
    for objects in (FEW, MANY):
        with _decoding() as decoded:
            run = case.prepare(folder / str(objects), objects)
            run()
            run()
            before = dict(decoded)
            run()
            counts = {name: decoded[name] - before[name] for name in decoded}
        run = case.prepare(folder / f"{objects} calls", objects)
        run()
        run()
        runs[objects] = counts | _calls(run)
    made = {name: round((runs[MANY][name] - runs[FEW][name]) / (MANY - FEW)) for name in runs[MANY]}
    return {**made, "arrays": runs[MANY]["arrays"]}


def _calls(work: Callable[[], object]) -> dict[str, int]:
    """Return how many functions of Python and of C are called in this thread, and how many files are opened."""
    _OPENED.clear()
    counts = events_of(work)
    return {"python calls": counts["call"], "C calls": counts["c_call"], "files": len(_OPENED)}


_OPENED: Final[list[str]] = []


def _note_opened(event: str, values: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(values[0], str | Path):
        _OPENED.append(str(values[0]))


@contextmanager
def _decoding() -> Iterator[dict[str, int]]:
    """Count bytes that are decoded and arrays that are made."""
    counts = {"bytes decoded": 0, "arrays": 0}
    loads, array, decoder = orjson.loads, pa.array, msgspec.json.Decoder

    def counted_loads(data: Any) -> Any:
        counts["bytes decoded"] += len(data)
        return loads(data)

    def counted_array(*values: Any, **options: Any) -> Any:
        counts["arrays"] += 1
        return array(*values, **options)

    class Counted:
        def __init__(self, *kinds: Any, **options: Any) -> None:
            self.own = decoder(*kinds, **options)

        def decode(self, data: Any) -> Any:
            counts["bytes decoded"] += len(data)
            return self.own.decode(data)

        def decode_lines(self, data: Any) -> Any:
            counts["bytes decoded"] += len(data)
            return self.own.decode_lines(data)

    with ExitStack() as stack:
        stack.enter_context(mock.patch("orjson.loads", counted_loads))
        stack.enter_context(mock.patch.dict(typed.GLOBALS, {"_loads": counted_loads}))
        stack.enter_context(mock.patch("pyarrow.array", counted_array))
        stack.enter_context(mock.patch("msgspec.json.Decoder", Counted))
        stack.enter_context(mock.patch.object(object_header, "_DECODER", Counted(object_header.ObjectHeader)))
        yield counts


# -- cases ----------------------------------------------------------------------------------------------------------


def _own() -> Iterator[Case]:
    """Yield the cases of the vectors of the repository."""
    for suite in ("bakery", "drawn"):
        documents, catalog, objects = _vectors(suite)
        proven: dict[str, dict[str, Any]] = {}
        for obj in objects:
            if _is_proven(catalog, obj):
                proven.setdefault(f"{obj['kind']}.{obj['apiVersion'].partition('/')[0]}", obj)
        for kind, obj in proven.items():
            if kind in _UNSTEADY:
                continue
            group = kind.partition(".")[2]
            yield _audit(kind, [each for each in documents if each["spec"]["group"] == group], obj)
    documents, catalog, objects = _vectors("bakery")
    loaf = next(obj for obj in objects if obj["kind"] == "Loaf" and _is_proven(catalog, obj))
    yield _audit("Loaf, creates only", documents, loaf, skip=("updates",))
    invalid = {**loaf, "spec": {**loaf["spec"], "grams": 50}}
    yield _audit("invalid Loaf", documents, invalid)
    yield _audit("invalid Loaf, creates only", documents, invalid, skip=("updates",))
    managers = [{"manager": "kubectl", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}}]
    managed = {**invalid, "metadata": {**invalid["metadata"], "managedFields": managers}}
    yield _audit("invalid Loaf with a manager, creates only", documents, managed, skip=("updates",))
    yield Case("a manifest, a file each", partial(_manifests, documents, loaf))
    yield Case("an object of a query", partial(_query, documents, loaf))
    for words in DUMP_QUERIES:
        yield Case(f"an object of query DUMP {' '.join(words)}", partial(_dump_query, words, documents, loaf))
    yield Case("an object of tables DUMP", partial(_tables, documents, loaf))
    yield Case("an object, one field", partial(_one_field, documents, loaf))
    yield Case("a manifest, a file each, validated", partial(_validated, documents, loaf))


def _vectors(name: str) -> tuple[list[dict[str, Any]], CrdCatalog, list[dict[str, Any]]]:
    """Return the definitions of a file of vectors, also as a catalog, and the objects in it that are JSON."""
    suite = json.loads((VECTORS / f"{name}.json").read_text())
    objects = []
    for case in suite["cases"]:
        with suppress(orjson.JSONDecodeError):
            obj = orjson.loads(case.get("object", "null"))
            if isinstance(obj, dict) and isinstance(obj.get("metadata"), dict):
                objects.append(obj)
    return suite["definitions"], CrdCatalog.from_documents(suite["definitions"]), objects


def _real() -> Iterator[Case]:
    """Yield kinds of real projects, the first in the order of their names."""
    home = beside("corpus/crds")
    if home is None:
        return
    documents = sorted(read_crd_documents([str(home)]), key=lambda document: document["metadata"]["name"])
    made = 0
    for document in documents:
        catalog, spec = CrdCatalog.from_documents([document]), document["spec"]
        version = next(each["name"] for each in spec["versions"] if each["storage"])
        kind = f"{spec['names']['kind']}.{version}.{spec['group']}"
        lines = drawn_lines([document], kind, _DRAWN, pool=_DRAWN)
        obj = next(filter(lambda obj: _is_proven(catalog, obj), map(json.loads, lines)), None)
        if obj is not None and made < REAL:
            made += 1
            yield _audit(f"real {document['metadata']['name']}", [document], obj)


def _is_proven(catalog: CrdCatalog, obj: dict[str, Any]) -> bool:
    """Return whether generated code proves an object as a record and as a document."""
    group, _, version = str(obj.get("apiVersion")).partition("/")
    name = next(
        (name for name, each in catalog.crds.items() if (each.group, each.kind) == (group, obj.get("kind"))), None
    )
    if name is None or version not in catalog.crds[name].versions or "name" not in obj["metadata"]:
        return False
    program = AuditProgram(catalog.crds[name], catalog.crds[name].versions[version])
    data = json.dumps(obj).encode()
    record = program.typed(after=0)
    return program.judge(data).proven and record is not None and record.prove(data) is not None


def _audit(name: str, documents: list[dict[str, Any]], obj: dict[str, Any], **options: Any) -> Case:
    """Return the audit of objects, from their bytes to rows in part files."""

    def prepare(folder: Path, objects: int) -> Callable[[], object]:
        dump, crds = _written(folder, documents, obj, objects)
        for each in ("parts/objects", "parts/findings"):
            (folder / each).mkdir(parents=True)
        asked = AuditOptions(dumps=(str(dump),), crds=(str(crds),), report=str(folder / "report"), **options)
        plan = make_plan(asked, folder)
        (shard,) = cut_shards(plan)
        work = ShardAuditor(plan, str(folder / "parts"))
        return lambda: work(shard)

    return Case(name, prepare)


def _manifests(documents: list[dict[str, Any]], obj: dict[str, Any], folder: Path, objects: int) -> Callable[[], Any]:
    """Prepare the audit of a folder of manifests, each a file of JSON."""
    manifests, crds = _files(folder, documents, obj, objects)
    return partial(_command, "audit", manifests, "--crds", crds, "--report", folder / "report", "--force",
                   "--jobs", 1, "--fail-on", "never", "-q")  # fmt: skip


def _validated(documents: list[dict[str, Any]], obj: dict[str, Any], folder: Path, objects: int) -> Callable[[], Any]:
    """Prepare `auditor validate` of such a folder."""
    manifests, crds = _files(folder, documents, obj, objects)
    return partial(_command, "validate", "--crds", crds, manifests)


def _files(folder: Path, documents: list[dict[str, Any]], obj: dict[str, Any], objects: int) -> tuple[Path, Path]:
    """Write objects that differ in their names, each to a file, and definitions; return the folder, and that file."""
    dump, crds = _written(folder, documents, obj, objects)
    (folder / "manifests").mkdir()
    for number, line in enumerate(dump.read_bytes().splitlines()):
        (folder / "manifests" / f"{number}.json").write_bytes(line)
    return folder / "manifests", crds


def _query(documents: list[dict[str, Any]], obj: dict[str, Any], folder: Path, objects: int) -> Callable[[], Any]:
    """Prepare a query of all objects of a kind in a report whose dump is unchanged."""
    dump, crds = _written(folder, documents, obj, objects)
    _command("audit", dump, "--crds", crds, "--report", folder / "report", "--jobs", 1, "-q")
    return partial(_command, "query", folder / "report", "loaves", "-A")


def _dump_query(
    words: Sequence[str], documents: list[dict[str, Any]], obj: dict[str, Any], folder: Path, objects: int
) -> Callable[[], Any]:
    """Prepare a query of all objects of a kind in a dump."""
    dump, crds = _written(folder, documents, obj, objects)
    return partial(_command, "query", dump, "loaves", "-A", "--crds", crds, *words)


def _tables(documents: list[dict[str, Any]], obj: dict[str, Any], folder: Path, objects: int) -> Callable[[], Any]:
    """Prepare the typed tables of a dump, each time in a new folder."""
    dump, crds = _written(folder, documents, obj, objects)
    numbers = count()
    return lambda: _command("tables", dump, folder / f"tables-{next(numbers)}", "loaves", "--crds", crds)


def _one_field(documents: list[dict[str, Any]], obj: dict[str, Any], folder: Path, objects: int) -> Callable[[], Any]:
    """Prepare batches of a kind with one field of its objects, as a statement of SQL asks for them."""
    dump, crds = _written(folder, documents, obj, objects)

    def read() -> None:
        with open_store(QueryOptions(str(dump), crds=(str(crds),)), print) as store:
            kind = store.discovery.resolve("loaves")
            rows = sum(batch.num_rows for batch in kind_batches(store, kind, ["spec"], paths=GRAMS)[1])
            assert rows == objects, rows

    return read


def _written(folder: Path, documents: list[dict[str, Any]], obj: dict[str, Any], objects: int) -> tuple[Path, Path]:
    """Write objects that differ in their names, and definitions; return both files."""
    folder.mkdir()
    crds, dump = folder / "crds.json", folder / "dump.ndjson"
    crds.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))
    with dump.open("wb") as stream:
        for number in range(objects):
            metadata = {**obj["metadata"], "name": f"{obj['metadata']['name'][:40]}-{number:04}"}
            stream.write(orjson.dumps({**obj, "metadata": metadata}) + b"\n")
    return dump, crds


def _command(*words: object) -> None:
    """Run a command.

    Raises:
        RuntimeError: It fails.
    """
    ended = auditor(*words)
    if ended.code:
        raise RuntimeError(ended.output)


def counted(group: str) -> dict[str, dict[str, int]]:
    """Return the counts of all cases of a group, counted in a process of its own.

    Args:
        group: ``own`` or ``real``.
    """
    command = [sys.executable, "-m", "tests.counts.work", "--print", group]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, check=True, capture_output=True, cwd=TABLE.parents[2], env=environment)
    table: dict[str, dict[str, int]] = json.loads(done.stdout)
    return table


def main() -> None:
    """Write the table, or print a group of its rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", choices=GROUPS, dest="group")
    group = parser.parse_args().group
    if group is None:
        rows = [f"{json.dumps(name)}: {json.dumps(row)}" for each in GROUPS for name, row in counted(each).items()]
        TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n")
        return
    sys.addaudithook(_note_opened)
    table = {}
    for case in GROUPS[group]():
        with tempfile.TemporaryDirectory() as folder:
            table[case.name] = counts_of(case, Path(folder))
    sys.stdout.write(json.dumps(table))


GROUPS: Final = {"own": _own, "real": _real}

if __name__ == "__main__":
    main()
