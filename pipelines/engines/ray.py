"""Ray core: one task for each item, on an existing cluster, or on a new local Ray.

Only plain tasks are used: no actors, no placement groups. A task opens files and folders by the same paths as this
process, so all nodes need a shared file system. A node without these paths, or with another version of the auditor, is
distinguished from failing work. A task whose worker or node died is started again once, then it goes to `on_lost`;
Ray's own retries are off, so that both engines with several processes behave alike.

A run that ends early creates a file, for which its tasks check. Ray's own `cancel` is the last resort: if a task
answers at the moment of its cancellation, Ray ends this process (ray-project/ray, 54798; seen with 2.60).
"""

from __future__ import annotations

import _thread
import contextlib
import os
import platform
import socket
import tempfile
import threading
import traceback
import uuid
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from auditor.base.errors import AuditorError, EngineError, PlanError, WorkerLost
from auditor.base.release import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


Item = TypeVar("Item")
Result = TypeVar("Result")

_IN_FLIGHT: Final = 1000
"""Largest number of tasks submitted to Ray if no number of jobs is given; autoscalers use it."""

_GRACE_SECONDS: Final = 10.0
_HEED_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 0.2
_PULSE_SECONDS: Final = 1.0
_SILENT: Final = 3
"""Checks in a row that find no listener where a process of Ray was; Ray itself ends this process some 10 s later."""
_HERE: Final = "127.0.0.1"

_ready: dict[Path, Callable[[Any], Any]] = {}
"""In a Ray worker: the result of `setup` for the run of a `stop`. A worker serves one run, that of its driver."""


def import_ray() -> Any:
    """Return the module.

    Raises:
        PlanError: Ray is not installed; the error names the extra.
    """
    try:
        import ray  # noqa: PLC0415 - only when asked
    except ImportError as error:
        raise PlanError(
            "--engine ray",
            "Ray is not installed here",
            advice="run pip install '.[ray]' in a clone of the project, or leave the option out",
        ) from error
    return ray


@contextmanager
def ray_session(address: str = "") -> Iterator[None]:
    """Connect to Ray for the block; an existing connection is used, and remains.

    Args:
        address: As `ray.init` takes it (``auto``, ``HOST:6379``, ``ray://HOST:10001``); empty means that of
            RAY_ADDRESS, else a cluster of this machine, else a Ray of our own that ends with the block.
    Raises:
        PlanError: Ray is not installed, or does not answer.
    """
    ray = import_ray()
    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a local Ray sends no usage reports
    with tempfile.TemporaryDirectory(prefix="auditor-ray-") as empty:
        try:
            _knock(address)
            with contextlib.chdir(empty):  # Ray's workers search modules in the current directory first
                _init(ray, address)
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            where = f"--ray-address {address}" if address else "--engine ray"
            raise PlanError(where, f"Ray cannot be reached: {_first_line(error)}") from error
        try:
            yield
        finally:
            ray.shutdown()


def _init(ray: Any, address: str) -> None:
    """Connect to a cluster; without an address to one that is known here, else to a new Ray of this machine."""
    if address != "local":
        try:
            ray.init(address=address or "auto", logging_level="ERROR", log_to_driver=False)
        except ConnectionError:
            if address or os.environ.get("RAY_ADDRESS", "local") != "local":
                raise
        else:
            return
    constants = ray._private.ray_constants  # noqa: SLF001 - else it listens to other machines, and runs what they send
    before, constants.ENABLE_RAY_CLUSTER = constants.ENABLE_RAY_CLUSTER, False
    try:
        ray.init(address="local", include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    finally:
        constants.ENABLE_RAY_CLUSTER = before
    if (place := ray.util.get_node_ip_address()) != _HERE:
        ray.shutdown()
        raise RuntimeError(f"this version of Ray would listen on {place}, not on {_HERE} alone")


class _Pulse:
    """Tells whether the processes of Ray that this one depends on live: when they die, Ray ends it without a word."""

    def __init__(self, ray: Any) -> None:
        """Note where they listen; a process that cannot be reached from here from the start is not watched."""
        context = ray.get_runtime_context()
        host, _, port = str(context.gcs_address).rpartition(":")
        places = {"the head of the Ray cluster": (host.strip("[]"), int(port))}
        for node in ray.nodes():
            if node["NodeID"] == context.get_node_id():
                places["the Ray node of this run"] = (node["NodeManagerAddress"], node["NodeManagerPort"])
        self._places = {name: place for name, place in places.items() if _listens(*place)}
        self._silent = dict.fromkeys(self._places, 0)

    def check(self) -> None:
        """Raise an EngineError if one of them has not listened for some checks."""
        for name, place in self._places.items():
            self._silent[name] = 0 if _listens(*place) else self._silent[name] + 1
            if self._silent[name] >= _SILENT:
                raise EngineError("Ray", f"{name} died", advice="start the run again; see the logs of Ray")


def _listens(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=_GRACE_SECONDS):
            return True
    except OSError:
        return False


def _knock(address: str) -> None:
    """Raise an OSError if no server listens; Ray itself would try for minutes, then end the process."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_GRACE_SECONDS):
            pass


def _answer(stop: Path, folder: str, version: str, boxed: list[Any], item: Any) -> tuple[Any, Exception | None]:
    """Run one item in a worker; return (answer, None), or (None, exception for the driver).

    `setup` runs with the first item of a run. If the run ends early, the answer is (None, None), which is not read.

    Args:
        stop: File that exists when the run must end early; each run has its own.
        folder: The working directory of the driver, for relative paths.
        version: The version of the driver's auditor.
        boxed: The reference to `setup`, in a list, so that Ray fetches it only when it is needed.
        item: The item.
    """
    if version != VERSION:
        return None, _unfit(f"has version {VERSION} of the auditor, not {version}")
    if stop.exists():
        return None, None
    try:
        with _heeding(stop):
            return _worked(stop, folder, boxed, item)
    except KeyboardInterrupt:
        if not stop.exists():
            raise
        return None, None


@contextmanager
def _heeding(stop: Path) -> Iterator[None]:
    """Interrupt the block, as Ctrl-C would, when a file exists."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_LOOK_SECONDS):
            if stop.exists():
                _thread.interrupt_main()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _worked(stop: Path, folder: str, boxed: list[Any], item: Any) -> tuple[Any, Exception | None]:
    try:
        work = _ready.get(stop)
        if work is None:
            with contextlib.suppress(OSError):  # no path is relative then, or the error below names the missing one
                os.chdir(folder)
            work = import_ray().get(boxed[0])()
            _ready.clear()
            _ready[stop] = work
        return work(item), None
    except AuditorError as error:
        return None, error
    except FileNotFoundError as error:
        return None, _unfit(f"does not see {error.filename or error}")
    except Exception:  # noqa: BLE001 - the driver raises it again, with this trace
        return None, EngineError("worker", f"failed:\n{traceback.format_exc()}")


def _unfit(found: str) -> PlanError:
    return PlanError(
        "--engine ray",
        f"node {platform.node()} {found}",
        "nodes that see the dumps and the folder of the report under the same path, and have the same auditor",
    )


def run_ray(
    setup: Callable[[], Callable[[Item], Result]],
    items: Iterable[Item],
    *,
    on_lost: Callable[[Item, WorkerLost], Result],
    shared: Path,
    address: str = "",
    jobs: int = 0,
) -> Iterator[Result]:
    """Yield the result of each item as it arrives.

    Args:
        setup: Picklable; runs once in each worker and returns the function to run on items.
        items: Picklable.
        on_lost: Returns the result of an item whose worker or node died twice; called in this process.
        shared: A folder of this run on a file system of all nodes; a file may remain in it.
        address: As in `ray_session`.
        jobs: Largest number of tasks at a time; 0 for as many as the cluster can run.
    Raises:
        PlanError: Ray does not answer, or a node lacks a path or has another version.
        EngineError: The node of this process, or the head of the cluster, died. Or a worker raised an exception; its
            trace is in the text. An AuditorError is raised unchanged.
    """
    ray = import_ray()
    with ray_session(address):
        dead = (
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.NodeDiedError,
            ray.exceptions.OutOfMemoryError,
            ray.exceptions.LocalRayletDiedError,
            ray.exceptions.ObjectLostError,
        )
        task = ray.remote(num_cpus=1, max_retries=0)(_answer)
        stop = shared.absolute() / f"stop-{uuid.uuid4().hex}"
        words = (stop, str(Path.cwd()), VERSION, [ray.put(setup)])
        source = iter(items)
        pulse = _Pulse(ray)
        flying: dict[Any, tuple[Item, bool]] = {}

        def start(item: Item, *, is_second: bool = False) -> None:
            flying[task.remote(*words, item)] = (item, is_second)

        try:
            for item in islice(source, jobs or _IN_FLIGHT):
                start(item)
            while flying:
                while not (ended := ray.wait(list(flying), num_returns=1, timeout=_PULSE_SECONDS)[0]):
                    pulse.check()
                [done] = ended
                item, is_second = flying.pop(done)
                try:
                    answer, wrong = ray.get(done)
                except dead as error:
                    if not is_second:
                        start(item, is_second=True)
                        continue
                    reason = f"its worker ended twice, last with {type(error).__name__}: {_first_line(error)}"
                    answer, wrong = on_lost(item, WorkerLost(str(item), reason)), None
                except ray.exceptions.RayError as error:
                    advice = "the auditor must be installed on every node, for the same Python and Ray"
                    raise EngineError("Ray", str(error).strip(), advice=advice) from error
                if wrong is not None:
                    raise wrong
                yield answer
                for item in islice(source, 1):
                    start(item)
        finally:
            _forget(ray, list(flying), stop)


def _forget(ray: Any, tasks: list[Any], stop: Path) -> None:
    """End the running tasks, and wait until they no longer write.

    The file makes tasks end; those that do not end, and those that no node can run, are cancelled.
    """
    if not tasks:
        return
    with contextlib.suppress(Exception):  # Ray itself, or the folder, may be gone
        stop.touch()
        ended = tasks
        while tasks and ended:
            ended, tasks = ray.wait(tasks, num_returns=1, timeout=_HEED_SECONDS)
        for task in tasks:
            ray.cancel(task, force=True)
        if tasks:
            ray.wait(tasks, num_returns=len(tasks), timeout=_GRACE_SECONDS)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
