"""The engine on Ray gives what the others give, and says what is missing. Skipped, aloud, where Ray is not installed."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import pipelines.engines.ray as engine
from auditor.base.errors import EngineError, PlanError, ProofRefuted
from auditor.plan.options import AuditOptions
from pipelines.run.audit import run_audit
from pipelines.run.fleet import run_anywhere
from tests.documents import thing_definition
from tests.pipelines.test_engines import dying_setup, make_square
from tests.shared import ROOT

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'ray[data]'")

pytestmark = pytest.mark.nightly  # it takes Ray some ten seconds to start

SQUARES = [number * number for number in range(10)]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    """A Ray of our own; a run inside uses it and leaves it as it is."""
    for module in (__name__, dying_setup.__module__):
        ray.cloudpickle.register_pickle_by_value(sys.modules[module])
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(address="local", num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield
    ray.shutdown()


def give_up(item, error):
    return -1


def failing_setup(error):
    def work(number):
        raise error

    return work


def opening_setup(path):
    return lambda number: Path(path).read_text()


def counting_setup(folder):
    """Leave a mark for each time that a worker is made ready; answer how many work at the same time."""
    (Path(folder) / f"ready-{os.getpid()}-{time.monotonic_ns()}").touch()

    def work(number):
        mine = Path(folder) / f"busy-{number}"
        mine.touch()
        time.sleep(0.05)
        busy = len(list(Path(folder).glob("busy-*")))
        mine.unlink()
        return busy

    return work


def looping_setup(folder):
    def work(number):
        (Path(folder) / str(number)).touch()
        try:
            if number:
                loop()
        finally:
            (Path(folder) / f"{number} ended").touch()
        return number

    def loop():  # a function of its own: CPython 3.13.0 interrupted at `while` skips the `finally` around that
        while True:
            sum(range(1000))

    return work


def endless_setup(folder):
    def work(number):
        (Path(folder) / str(number)).write_text(str(os.getpid()))
        if number:
            time.sleep(600)
        return number

    return work


def test_every_item_is_answered_once(tmp_path):
    assert sorted(engine.run_ray(make_square, range(10), on_lost=give_up, shared=tmp_path)) == SQUARES


def test_no_item_is_no_work(tmp_path):
    assert list(engine.run_ray(make_square, [], on_lost=give_up, shared=tmp_path)) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_jobs_bound_the_tasks_and_a_worker_is_made_ready_once(tmp_path, jobs):
    setup = partial(counting_setup, str(tmp_path))
    busy = list(engine.run_ray(setup, range(8), on_lost=give_up, shared=tmp_path, jobs=jobs))
    assert len(busy) == 8
    assert max(busy) <= jobs
    workers = [path.name.split("-")[1] for path in tmp_path.glob("ready-*")]
    assert len(workers) == len(set(workers))


def test_killed_worker_is_noticed_and_its_item_tried_again(tmp_path):
    setup = partial(dying_setup, str(tmp_path), 1)
    assert sorted(engine.run_ray(setup, range(10), on_lost=give_up, shared=tmp_path)) == SQUARES
    assert len(list(tmp_path.iterdir())) == 1


def test_item_that_kills_twice_is_given_up_and_the_rest_goes_on(tmp_path):
    lost = []

    def on_lost(item, error):
        lost.append((item, error.found))
        return -1

    setup = partial(dying_setup, str(tmp_path), 99)
    assert sorted(engine.run_ray(setup, range(10), on_lost=on_lost, shared=tmp_path)) == sorted({-1, *SQUARES} - {9})
    [(item, found)] = lost
    assert item == 3
    assert found.startswith("its worker ended twice, last with WorkerCrashedError: ")
    assert "\n" not in found
    assert len(list(tmp_path.iterdir())) == 2


def test_exception_in_a_worker_is_raised_with_its_trace(tmp_path):
    with pytest.raises(EngineError, match=r"(?s)failed:.*ValueError: no good"):
        list(engine.run_ray(partial(failing_setup, ValueError("no good")), [0], on_lost=give_up, shared=tmp_path))


def test_what_is_wrong_with_a_dump_is_raised_as_it_is(tmp_path):
    error = PlanError("dump", "is none", "a dump", "give another")
    with pytest.raises(PlanError) as raised:
        list(engine.run_ray(partial(failing_setup, error), [0], on_lost=give_up, shared=tmp_path))
    assert raised.value == error


def test_a_node_that_does_not_see_a_file_is_named_with_it(tmp_path):
    missing = tmp_path / "dump.db"
    with pytest.raises(PlanError, match=f"node .+ does not see {missing}; expected nodes that see the dumps"):
        list(engine.run_ray(partial(opening_setup, str(missing)), [0], on_lost=give_up, shared=tmp_path))


def test_relative_paths_are_those_of_the_driver(tmp_path, monkeypatch):
    (tmp_path / "dump").write_text("here")
    monkeypatch.chdir(tmp_path)
    assert list(engine.run_ray(partial(opening_setup, "dump"), [0], on_lost=give_up, shared=tmp_path)) == ["here"]


def test_a_node_with_another_auditor_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "VERSION", "99.0")
    with pytest.raises(PlanError, match=r"has version .* of the auditor, not 99\.0"):
        list(engine.run_ray(make_square, [0], on_lost=give_up, shared=tmp_path))


def test_leaving_early_ends_the_tasks(tmp_path):
    answers = engine.run_ray(partial(endless_setup, str(tmp_path)), range(4), on_lost=give_up, shared=tmp_path)
    assert next(answers) == 0
    deadline = time.monotonic() + 60
    while not (tmp_path / "1").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    pid = int((tmp_path / "1").read_text())
    answers.close()
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()
    assert ray.is_initialized(), "the connection was there before"


def test_tasks_end_themselves_when_they_are_not_awaited(tmp_path, monkeypatch):
    """Ray is not asked to cancel any: it may then end this process."""
    asked = []
    monkeypatch.setattr(ray, "cancel", lambda *task, **how: asked.append(task))
    folder = tmp_path / "seen"
    folder.mkdir()
    answers = engine.run_ray(partial(looping_setup, str(folder)), range(50), on_lost=give_up, shared=tmp_path)
    assert next(answers) == 0
    deadline = time.monotonic() + 60
    while len(list(folder.glob("*"))) < 4 and time.monotonic() < deadline:  # the first, which ended, and two more
        time.sleep(0.02)
    answers.close()
    seen = {path.name for path in folder.iterdir()}
    assert len(seen) == 6
    assert {f"{name} ended" for name in seen if name.isdecimal()} < seen
    assert asked == []


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1"])
def test_an_address_without_a_listener_is_reported_at_once(tmp_path, monkeypatch, address):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(PlanError, match=f"--ray-address {address}: Ray cannot be reached: .*refused"):
        list(engine.run_ray(make_square, [1], on_lost=give_up, shared=tmp_path, address=address))


# -- audits ------------------------------------------------------------------------------------------------------------


def definition(rule=None):
    spec = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "maximum": 900},
            "hue": {"type": "string"},
            "names": {"type": "array", "items": {"type": "string"}},
        },
        **({"x-kubernetes-validations": [{"rule": rule}]} if rule else {}),
    }
    return thing_definition(spec, selectable=".spec.hue")


def things(count, **more):
    head = {"apiVersion": "x.example.com/v1", "kind": "X"}
    for number in range(count):
        metadata = {"namespace": "d", "name": f"x{number}"}
        spec = {
            "size": number,
            "hue": "red" if number % 3 else "blue",
            **({} if number % 5 else {"lost": True}),
            **more,
        }
        yield json.dumps({**head, "metadata": metadata, "spec": spec}) + "\n"


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ray")
    (folder / "crd.json").write_text(json.dumps(definition()))
    (folder / "dump.ndjson").write_text("".join(things(1000)))
    return folder


def options(dump, report, **more):
    named = {"dumps": (str(dump / "dump.ndjson"),), "crds": (str(dump / "crd.json"),), "fail_on": "never", **more}
    return AuditOptions(report=str(report), shard_bytes=20_000, **named)


def parts(report):
    return {str(path.relative_to(report)): path.read_bytes() for path in report.rglob("*.parquet")}


def reported(manifest):
    unstable = ("started", "seconds", "programs", "fallbacks")
    return {name: value for name, value in manifest.items() if name not in unstable}


def test_a_report_is_byte_for_byte_that_of_the_other_engines(dump, tmp_path):
    reports = {}
    for name in ("inline", "processes", "ray"):
        code, manifest = run_audit(options(dump, tmp_path / name, engine=name, jobs=2))
        reports[name] = code, reported(manifest), parts(tmp_path / name)
    assert sum(path.startswith("objects/") for path in reports["ray"][2]) == 12
    assert reports["ray"] == reports["inline"]
    assert reports["processes"] == reports["inline"]


def deadly_setup(plan, folder):
    """Shard 3 kills its worker, having written its parts."""
    from auditor.shards.shard_audit import ShardAuditor

    work = ShardAuditor(plan, folder)

    def audit(item):
        answer = work(item)
        if item.shard.number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    return audit


def proving_too_much(plan, folder):
    """Make a worker ready whose generated code ignores the bounds of integers."""
    from auditor.fastpath.dicts import emit
    from auditor.fastpath.records import record_types
    from auditor.shards.shard_audit import ShardAuditor

    emit.int_conditions = lambda *_: []
    record_types.int_bounds = lambda _: (None, None, False)
    return ShardAuditor(plan, folder)


@pytest.mark.parametrize("name", ["processes", "ray"])
def test_a_proof_that_the_reference_refutes_ends_the_run(dump, tmp_path, monkeypatch, name):
    monkeypatch.setattr("pipelines.run.audit._ready", proving_too_much)
    report = tmp_path / "r"
    with pytest.raises(ProofRefuted, match="proven valid, but invalid by the reference") as caught:
        run_audit(options(dump, report, engine=name, jobs=2, verify=1.0))
    assert caught.value.where.startswith("xs.x.example.com v1 d/x9")
    assert caught.value.exit_code == 70
    assert not report.exists()


def test_a_shard_at_which_two_workers_ended_is_audited_by_others(dump, tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.run.audit._ready", deadly_setup)
    code, manifest = run_audit(options(dump, tmp_path / "r", engine="processes", jobs=2))
    assert (code, manifest["lost"]) == (0, [])
    assert manifest["counts"]["rows"] == manifest["counts"]["keys"]


def test_every_key_of_a_lost_shard_is_unreadable_with_the_reason(dump, tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.run.audit._ready", deadly_setup)
    code, manifest = run_audit(options(dump, tmp_path / "r", engine="ray", jobs=2))
    assert code == 3
    [line] = manifest["lost"]
    assert line.startswith("shard 3: not audited: worker lost")
    assert "its worker ended twice" in line
    rows = [row for path in sorted((tmp_path / "r" / "objects").glob("*")) for row in pq.read_table(path).to_pylist()]
    assert len(rows) == 1000
    lost = pq.read_table(tmp_path / "r" / "objects" / "part-00003.parquet").to_pylist()
    assert lost
    assert all(row["status"] == "unreadable" and "worker lost" in row["reason"] for row in lost)
    assert manifest["counts"]["statuses"]["unreadable"] == len(lost)
    others = [path for path in (tmp_path / "r").rglob("part-00003.parquet") if path.parent.name != "objects"]
    assert others == [], "nothing of what the dead worker wrote is left"


def test_a_fleet_is_one_dump_a_task(tmp_path):
    (tmp_path / "crd.json").write_text(json.dumps(definition()))
    for name, count in (("north", 50), ("south", 70), ("west", 5)):
        (tmp_path / f"{name}.ndjson").write_text("".join(things(count)))
    (tmp_path / "broken.ndjson").write_bytes(b"\x00\x01\x02\x03" * 64)
    given = {"dumps": (str(tmp_path / "*.ndjson"),), "crds": (str(tmp_path / "crd.json"),), "cluster": "{1}"}
    reports = {}
    for name in ("inline", "ray"):
        code, manifest = run_anywhere(options(tmp_path, tmp_path / "out" / name, engine=name, **given))
        reports[name] = code, reported(manifest), parts(tmp_path / "out" / name)
    assert reports["ray"][0] == 3
    assert [one["name"] for one in reports["ray"][1]["clusters"]] == ["north", "south", "west"]
    assert reports["ray"] == reports["inline"]


def test_a_wrong_option_is_reported_by_a_fleet_as_without_ray(tmp_path):
    (tmp_path / "crd.json").write_text(json.dumps(definition()))
    for name in ("a", "b"):
        (tmp_path / f"{name}.ndjson").write_text("".join(things(3)))
    given = {"dumps": (str(tmp_path / "*.ndjson"),), "crds": (str(tmp_path / "crd.json"),), "at": "v9", "engine": "ray"}
    with pytest.raises(PlanError, match="no definition has the version v9"):
        run_anywhere(options(tmp_path, tmp_path / "r", **given))
    assert not (tmp_path / "r").exists()


def auditor(*words, cwd):
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pipelines", *map(str, words)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd, env=env, start_new_session=True
    )


def test_the_command_line_starts_a_ray_of_its_own_where_there_is_none(dump, tmp_path):
    done = auditor("audit", dump / "dump.ndjson", "--crds", dump / "crd.json", "--report", "r", "--engine", "ray",
                   "--ray-address", "local", "--fail-on", "never", cwd=tmp_path)  # fmt: skip
    said, error = done.communicate(timeout=180)
    assert done.returncode == 0, error
    assert error == ""
    assert "1,000 keys, " in said
    assert json.loads((tmp_path / "r" / "manifest.json").read_text())["counts"]["rows"] == 1000


@pytest.fixture
def slow(tmp_path):
    """Words that audit a dump for some time, into `out/r`."""
    (tmp_path / "crd.json").write_text(
        json.dumps(definition(rule="self.names.all(x, self.names.exists_one(y, x == y))"))
    )
    each = {"names": [f"name-{number}" for number in range(60)], "hue": "red" * 2000}  # some milliseconds each
    (tmp_path / "slow.ndjson").write_text("".join(things(2000, **each)))
    (tmp_path / "out").mkdir()
    dump, crd = tmp_path / "slow.ndjson", tmp_path / "crd.json"
    return ("audit", dump, "--crds", crd, "--report", "out/r", "--engine", "ray", "--ray-address", "local")


def working(process, folder):
    """Wait until a run has written something; return the processes that it started, by name."""
    deadline = time.monotonic() + 120
    while not any((folder / "out").glob(".r.*/report/objects/*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return {Path(f"/proc/{child}/comm").read_text().strip(): int(child) for child in children}


def test_a_ray_of_our_own_listens_on_this_machine_alone(slow, tmp_path):
    process = auditor(*slow, cwd=tmp_path)
    started = working(process, tmp_path)
    sockets = {
        str(link.readlink())
        for pid in (process.pid, *started.values())
        for link in Path(f"/proc/{pid}/fd").iterdir()
        if link.is_symlink()
    }
    places = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:  # it listens
                places.add(words[1].partition(":")[0])
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert places
    assert places <= {"0100007F", "0000000000000000FFFF00000100007F"}, "127.0.0.1, alone or as an IPv6 address"


def test_a_node_that_dies_ends_the_run_with_a_word(slow, tmp_path):
    process = auditor(*slow, cwd=tmp_path)
    os.kill(working(process, tmp_path)["raylet"], signal.SIGKILL)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 70, error
    assert "Ray: the Ray node of this run died; start the run again" in error
    assert list((tmp_path / "out").iterdir()) == []


def test_interrupt_leaves_no_process_and_no_half_report(slow, tmp_path):
    process = auditor(*slow, cwd=tmp_path)
    working(process, tmp_path)
    deadline = time.monotonic() + 120
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert list((tmp_path / "out").iterdir()) == []
    left = []
    while time.monotonic() < deadline:
        left = [path for path in Path("/proc").glob("[0-9]*") if str(tmp_path) in working_directory(path)]
        if not left:
            break
        time.sleep(0.05)
    assert left == []


def working_directory(process):
    try:
        return str((process / "cwd").readlink())
    except OSError:
        return ""
