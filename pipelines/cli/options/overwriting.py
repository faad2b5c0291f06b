"""Files that options name: none that a command reads is written over, and none is a device or a pipe.

Options that name files to write are held against all others of their command. What they name is replaced, so that a
device among them would be gone.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["IN_PLACES_OF_THEIR_OWN", "WRITING", "guard_inputs", "note_input"]

_NOTED: Final = "auditor.inputs"
_PAGE: Final = ("index.html", "report.css", "report.js")


def _of_format(text: str) -> list[str]:
    """Return the files of `-o FORMAT=FILE` or `-o html=FOLDER/`."""
    target = text.partition("=")[2]
    return [f"{target}{name}" for name in (_PAGE if target.endswith("/") else ("",))] if target else []


def _of_query(text: str) -> list[str]:
    return [text.partition("=")[2]] if text.startswith("parquet=") else []


def _of_plan(text: str) -> list[str]:
    base = text.removesuffix(".json").removesuffix(".sh")
    return [f"{base}.json", f"{base}.sh"]


WRITING: Final[dict[str, Callable[[str], list[str]]]] = {
    "outputs": _of_format,
    "upgrade output": _of_format,
    "validate output": _of_format,
    "query output": _of_query,
    "plan_file": _of_plan,
    "accept file": lambda text: [text],
}
"""Options that name files to write, by name or by command and name, and the files that a value of them names."""

IN_PLACES_OF_THEIR_OWN: Final = frozenset({
    "audit report", "upgrade report", "report_root", "report_name", "save_index", "audit history", "cache",
})  # fmt: skip
"""Options whose folder takes files of its own names alone; a report is refused where a folder holds others."""


def note_input(context: click.Context, path: str) -> None:
    """Note a file that the command reads and no option of it names."""
    context.meta.setdefault(_NOTED, []).append(path)


_READING: Final = frozenset({"PATH", "FILE", "OLD", "REPORT", "DUMP", "DIR"})
"""What options call a value that names a file or folder."""


def guard_inputs(group: click.Group, path: tuple[str, ...] = ()) -> None:
    """Have each command of a group refuse to write over what it reads, or to read a device, before it reads."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            guard_inputs(command, (*path, name))
        else:
            writes = any(_files_of((*path, name), str(one.name)) for one in command.params)
            names = {str(one.name): one.opts[0] for one in command.params if _is_read(one)}
            arguments = [str(one.name) for one in command.params if isinstance(one, click.Argument)]
            if writes or names or arguments:
                command.callback = _guarded(command.callback, (*path, name), names, arguments)


def _is_read(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option) and parameter.metavar in _READING


def _files_of(command: tuple[str, ...], option: str) -> Callable[[str], list[str]] | None:
    return WRITING.get(" ".join((*command, option))) or WRITING.get(option)


def _guarded(callback: Any, command: tuple[str, ...], reading: dict[str, str], arguments: list[str]) -> Any:
    @functools.wraps(callback)
    def run(*args: Any, **values: Any) -> Any:
        for name, flag in reading.items():
            for text in _texts(values.get(name)):
                _check_regular(flag, text)
        for name in arguments:
            for text in _texts(values.get(name)):
                _check_regular(name.upper(), text, is_pipe_read=True)
        _check(command, values)
        return callback(*args, **values)

    return run


def _check_regular(flag: str, path: str, *, is_pipe_read: bool = False) -> None:
    """Refuse a device or a pipe; standard input is `-` where a command reads it.

    Args:
        is_pipe_read: Only refuse devices: arguments may be pipes, such as `<(zcat dump.gz)`.

    Raises:
        PlanError: It is one.
    """
    from auditor.base.given_file import irregular  # noqa: PLC0415 - `auditor --help` stays light

    kind = irregular(path)
    if kind and not (is_pipe_read and kind == "is a pipe"):
        from auditor.base.errors import PlanError  # noqa: PLC0415

        where, what = (path, kind) if is_pipe_read else (flag, f"{path} {kind}")
        raise PlanError(where, what, "a file or folder", "write what it gives to a file first")


def _check(command: tuple[str, ...], values: dict[str, Any]) -> None:
    """Refuse a file to write that is a device or a pipe, or one of the files to read.

    Raises:
        PlanError: It is.
    """
    writing = [
        (option, target)
        for option, value in values.items()
        if (files := _files_of(command, option)) is not None
        for text in _texts(value)
        for target in files(text)
    ]
    if not writing:
        return
    from auditor.base.errors import PlanError  # noqa: PLC0415 - only where files are written
    from auditor.sources.stores.locations import local_path, shown_url  # noqa: PLC0415

    places = [(option, target, local_path(target) or target) for option, target in writing]
    names = {one.name: one.opts[0] for one in click.get_current_context().command.params}
    for option, target, place in places:
        if kind := _irregular_target(place):
            raise PlanError(str(names.get(option, option)), f"{target} {kind}", "the path of a file, which is replaced")
    for source, shown in _read(command, values):
        for option, target, place in places:
            if why := _overlap(place, source):
                found = f"{shown_url(target)} is {why.format(shown)} that this command reads"
                raise PlanError(str(names.get(option, option)), found, "another file")


def _irregular_target(place: str) -> str:
    """Return why a file to write is no file that may be replaced: a rename would put a file where a device is."""
    from auditor.base.given_file import irregular  # noqa: PLC0415 - `auditor --help` stays light

    # A link of /dev, such as /dev/stdout, may lead to a file, and the link would be replaced.
    return irregular(place) or ("is in /dev" if os.path.realpath(os.path.dirname(place)) == "/dev" else "")  # noqa: PTH120 - of a URL too


def _texts(value: Any) -> list[str]:
    return [each for each in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(each, str) and each]


def _read(command: tuple[str, ...], values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the files, folders and URLs that a command reads, each with its name for a message."""
    from auditor.sources.stores.locations import local_path  # noqa: PLC0415

    for path in click.get_current_context().meta.get(_NOTED, ()):
        yield path, path
    for option, value in values.items():
        if {option, " ".join((*command, option))} & IN_PLACES_OF_THEIR_OWN or _files_of(command, option) is not None:
            continue
        for text in _texts(value):
            path = local_path(text) or text
            yield path, text
            yield from _matches(path)
            if option == "fleet":
                yield from _of_fleet(path)
            for each in _dumps_of(Path(path)):
                yield each, f"{each} (the dump of {text})"


def _matches(pattern: str) -> Iterator[tuple[str, str]]:
    from auditor.sources.stores.locations import is_remote  # noqa: PLC0415
    from auditor.sources.stores.patterns import expand, has_wildcards  # noqa: PLC0415

    if has_wildcards(pattern) and not is_remote(pattern):
        yield from ((one.path, one.path) for one in expand(pattern))


def _of_fleet(path: str) -> Iterator[tuple[str, str]]:
    from pipelines.run.fleet_settings import read_fleet  # noqa: PLC0415

    for _, dump, settings in read_fleet(path):
        own = (dump, settings.encryption_config, *(settings.crds or ()), *(settings.gate_sidecars or ()))
        for each in filter(None, own):
            yield each, each
            yield from _matches(each)


def _dumps_of(report: Path) -> list[str]:
    """Return the dumps of a report that are where it names them."""
    from auditor.report.manifest import MANIFEST, manifest_bytes, parse_manifest  # noqa: PLC0415

    if not os.path.isfile(report / MANIFEST):  # noqa: PTH113 - pathlib's raises for a name that is too long
        return []
    manifest = parse_manifest(manifest_bytes(report)) or {"inputs": ()}
    names = [one.get("name") for one in manifest["inputs"] if type(one) is dict]
    places = [place for name in names if type(name) is str for place in (name, str(report.parent / name))]
    return [place for place in places if os.path.exists(place)]  # noqa: PTH110 - likewise


def _overlap(target: str, source: str) -> str:
    """Return what a file to write is of a file or folder to read, in words; empty if it is neither."""
    if target == source:
        return "a file"
    try:
        place = Path(os.path.realpath(target))
        if os.path.samefile(place, source):  # noqa: PTH121 - the second may be a URL
            return "the file {}"
        if Path(source).is_dir() and place.is_file() and place.is_relative_to(os.path.realpath(source)):
            return "a file of {}"
    except (OSError, ValueError):  # one of them is not there, or is no path
        return ""
    return ""
