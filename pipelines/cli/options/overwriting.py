"""Files that options name: none that a command reads is written over, and none is a device or a pipe.

Options that name files to write are held against all others of their command. What they name is replaced, so that a
device among them would be gone.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from auditor.plan.declared import Declared


_NOTED: Final = "auditor.inputs"


def note_input(context: click.Context, path: str) -> None:
    """Note a file that the command reads and no option of it names."""
    context.meta.setdefault(_NOTED, []).append(path)


_READING: Final = frozenset({"PATH", "FILE", "OLD", "REPORT", "DUMP", "DIR"})
"""What options call a value that names a file or folder."""


def guard_inputs(group: click.Group) -> None:
    """Have each command of a group refuse to write over what it reads, and to read a device, once it is parsed."""
    for command in group.commands.values():
        if isinstance(command, click.Group):
            guard_inputs(command)
        elif command.params:
            command.parse_args = partial(_parse_args, command.parse_args)  # type: ignore[method-assign]


def _parse_args(parse: Callable[..., list[str]], context: click.Context, words: list[str]) -> list[str]:
    left = parse(context, words)
    if not context.resilient_parsing:
        _check_inputs(context)
    return left


def _check_inputs(context: click.Context) -> None:
    parameters, values = context.command.params, context.params
    for parameter in sorted(parameters, key=lambda each: isinstance(each, click.Argument)):
        is_argument = isinstance(parameter, click.Argument)
        if is_argument or parameter.metavar in _READING:
            shown = str(parameter.name).upper() if is_argument else parameter.opts[0]
            for text in _texts(values.get(str(parameter.name))):
                _check_regular(shown, text, is_pipe_read=is_argument)
    _check(context, {str(each.name): each for each in parameters}, values)


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


def _check(context: click.Context, parameters: dict[str, click.Parameter], values: dict[str, Any]) -> None:
    """Refuse a file to write that is a device or a pipe, or one of the files to read.

    Raises:
        PlanError: It is.
    """
    writing = [
        (parameters[name].opts[0], target)
        for name, value in values.items()
        if (declared := _declared(parameters, name)) is not None and declared.writes is not None
        for text in _texts(value)
        for target in declared.writes(text)
    ]
    if not writing:
        return
    from auditor.base.errors import PlanError  # noqa: PLC0415 - only where files are written
    from auditor.sources.stores.locations import local_path, shown_url  # noqa: PLC0415

    places = [(option, target, local_path(target) or target) for option, target in writing]
    for option, target, place in places:
        if kind := _irregular_target(place):
            raise PlanError(option, f"{target} {kind}", "the path of a file, which is replaced")
    for source, shown in _read(context, parameters, values):
        for option, target, place in places:
            if why := _overlap(place, source):
                conflict = f"{shown_url(target)} is {why.format(shown)} that this command reads"
                raise PlanError(option, conflict, "another file")


def _irregular_target(place: str) -> str:
    """Return why a file to write is no file that may be replaced: a rename would put a file where a device is."""
    from auditor.base.given_file import irregular  # noqa: PLC0415 - `auditor --help` stays light

    # A link of /dev, such as /dev/stdout, may lead to a file, and the link would be replaced.
    return irregular(place) or ("is in /dev" if os.path.realpath(os.path.dirname(place)) == "/dev" else "")  # noqa: PTH120 - of a URL too


def _declared(parameters: dict[str, click.Parameter], name: str) -> Declared | None:
    """Return the declaration of a parameter; None for an argument."""
    return getattr(parameters.get(name), "declared", None)


def _texts(value: Any) -> list[str]:
    return [each for each in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(each, str) and each]


def _read(
    context: click.Context, parameters: dict[str, click.Parameter], values: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield the files, folders and URLs that a command reads, each with its name for a message."""
    from auditor.sources.stores.locations import local_path  # noqa: PLC0415

    for path in context.meta.get(_NOTED, ()):
        yield path, path
    for option, value in values.items():
        declared = _declared(parameters, option)
        if declared is not None and (declared.own_place or declared.writes is not None):
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
        yield from ((dump.path, dump.path) for dump in expand(pattern))


def _of_fleet(path: str) -> Iterator[tuple[str, str]]:
    from pipelines.run.fleet_settings import read_fleet  # noqa: PLC0415

    for _, dump, settings in read_fleet(path):
        own = (dump, settings.encryption_config, *(settings.crds or ()), *(settings.gate_sidecars or ()))
        for each in filter(None, own):
            yield each, each
            yield from _matches(each)


def _dumps_of(report: Path) -> list[str]:
    """Return the dumps of a report that are where it names them."""
    from auditor.store.manifest import MANIFEST, manifest_bytes, parse_manifest  # noqa: PLC0415

    if not os.path.isfile(report / MANIFEST):  # noqa: PTH113 - pathlib's raises for a name that is too long
        return []
    manifest = parse_manifest(manifest_bytes(report)) or {"inputs": ()}
    names = [entry.get("name") for entry in manifest["inputs"] if type(entry) is dict]
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
