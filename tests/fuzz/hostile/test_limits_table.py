"""SECURITY.md lists every limit that an option sets, and the fixed ones as the code has them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from auditor.base import arrow, given_file, paths
from auditor.plan import limits
from auditor.printing.jsonpath import Visits
from auditor.program import conversion_command as conversion
from auditor.shards import finding_rows as found_rows
from auditor.sources import Limits, helper_command, json_stream
from auditor.sources.archives import members
from auditor.sources.encryption import kms
from auditor.sources.kine import sqlite
from auditor.sources.manifests import manifest_files as manifests
from auditor.sources.stores import patience
from auditor.sources.yaml import compose, convert, events
from auditor.store import manifest as report
from auditor.validation import bounded_texts, node
from auditor.validation.keywords import failure
from auditor.validation.rules.evaluate import SPARE_SECONDS
from pipelines.cli.main import cli
from pipelines.limits import MemoryAmount, Seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = (Path(__file__).parents[3] / "SECURITY.md").read_text("utf-8").partition("## Limits")[2]


def options(command: click.Command) -> Iterator[click.Option]:
    for one in command.commands.values() if isinstance(command, click.Group) else ():
        yield from options(one)
    yield from (one for one in command.params if isinstance(one, click.Option))


def test_each_option_that_limits_a_run_is_in_the_table_with_its_default() -> None:
    rows = {row[1]: row[2] for row in re.finditer(r"^\| `(--[a-z-]+)`[^|]*\| ([^|]+) \|", TEXT, re.MULTILINE)}
    known = {name: one for one in options(cli) for name in one.opts}
    bounding = {name for name, one in known.items() if isinstance(one.type, MemoryAmount | Seconds)} | {"--max-scan"}
    assert bounding == rows.keys()
    for name, default in rows.items():
        if isinstance(known[name].default, str):
            assert known[name].default == default


def size(number: float) -> str:
    """Return bytes as the table writes them."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit:
            assert number % unit == 0
            return f"{number // unit:.0f} {name}"
    return f"{number:,}"


def fixed_limits() -> dict[str, str]:
    """Return the limits of the code as the rows of the table write them."""
    unpacking = Limits()
    assert json_stream.MAX_DEPTH == compose.MAX_DEPTH
    return {
        "characters of a message, a detail or a value in a finding": f"{bounded_texts.LONGEST:,}",
        f"the same, after {size(found_rows._OBJECT_TEXT)} of long texts of one object": f"{bounded_texts.SHORT:,}",
        "findings of one object": f"{failure.MOST_FINDINGS:,}",
        "long messages of one object that share nothing, together": f"{node._MOST_TEXT:,} characters",
        f"paths of all fields of an object of more than {size(paths.FREE_BYTES)}, together": (
            f"{paths.MOST_PATHS:,} characters and {paths.PATHS_A_BYTE} for each byte"
        ),
        "long texts that `validate`, `show` and `crds check` print": (
            f"{size(bounded_texts._RUN_TEXT)}, then {bounded_texts.SHORT} characters each"
        ),
        "nesting of JSON and YAML": f"{compose.MAX_DEPTH:,}",
        "repeated reads of one YAML document, and characters of these": (
            f"{events.MAX_STAND_INS}, {events.MAX_READ_AGAIN:,}"
        ),
        f"aliases of a YAML document with more than {convert.VISITS_FREE:,} nodes": (
            f"{convert.ALIAS_FREE}, then the share that the API server allows"
        ),
        "a definition, in memory": f"{limits.SIZE_IN_MEMORY} times its bytes within `--memory`",
        "a compressed file of manifests, unpacked": size(manifests.MAX_MEMBER),
        "compressions over one another, archives in archives": f"{unpacking.layers}",
        "bytes that come out of a compressed file or an archive": size(unpacking.expanded),
        f"bytes out for one byte in, after {size(unpacking.ratio_from)}": f"{unpacking.ratio:,}",
        "files of an archive or a folder": f"{unpacking.members:,}",
        "a name in an archive": size(members._MAX_NAME),
        "an extended header or long name in a tar archive": size(members._MAX_EXTENDED),
        "records of an extended header": f"{members._MAX_RECORDS:,}",
        "the list of files of a zip archive": size(members._MAX_DIRECTORY),
        "a value in a kine database": size(sqlite._LONGEST_VALUE),
        "processor time of one step in a kine database": (
            f"{sqlite._SECONDS:.0f} s and 1 s for each {size(1 / sqlite._SECONDS_A_BYTE)}"
        ),
        "a report's manifest": size(report._MOST_MANIFEST),
        "a file of settings that an option names (configuration, keys, owners, accepted findings, clusters, gates, "
        "templates)": f"{size(given_file._MOST)}, no device or pipe",
        "the footer of a report's Parquet file": size(arrow._MOST_FOOTER),
        "bytes of a row group of a report, uncompressed": size(arrow._MOST_GROUP_BYTES),
        "time of rules of all slow objects of a shard": (
            f"{limits._SLOW_SECONDS:.0f} s and {limits._SLOW_SECONDS_A_BYTE * (1 << 20):.0f} s for each 1 MiB"
        ),
        "the same, of all objects after these": f"{SPARE_SECONDS:.0f} s",
        "time of slow matches of patterns in a shard": (
            f"{limits._MATCH_SECONDS:.0f} s and {limits._MATCH_SECONDS_A_BYTE * (1 << 20):.0f} s for each 1 MiB"
        ),
        "values that a printer column's path looks at, and those of a table": (
            f"{Visits.EACH:,}, {Visits()._together:,}"
        ),
        "an answer of a KMS helper": f"{kms._TIMEOUT:.0f} s",
        "calls of a helper command (KMS, conversion) by one process": f"{helper_command.CALLS:,}",
        "calls of a helper command without an answer, together": f"{helper_command.FAILING_SECONDS:.0f} s",
        "an answer of a conversion command": f"{conversion._SECONDS:.0f} s, {size(conversion._MOST)}",
        f"an answer of a store, {size(patience.BLOCK)} of a stream": f"{patience.READ_SECONDS:.0f} s",
        "a call of a store, such as a listing": f"{patience.CALL_SECONDS:.0f} s",
        "names of a listing of a store": f"{patience.ENTRIES:,}",
    }


def test_fixed_limits_are_those_of_the_code() -> None:
    table = TEXT.partition("Fixed limits:")[2]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", table, re.MULTILINE)
    assert dict(rows[1:]) == fixed_limits()
    assert len(rows) - 1 == len(fixed_limits())
