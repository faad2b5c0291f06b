"""What the command line says about dumps themselves: the formats that are read, hints after an audit."""

from __future__ import annotations

import textwrap
from typing import Any

import click

__all__ = ["encryption_hint", "sources"]


@click.command(short_help="List the formats of dumps that are read.")
@click.option("-o", "--output", type=click.Choice(["text", "name", "json"]), default="text", show_default=True)
def sources(output: str) -> None:
    """List the formats of dumps, how each is recognised and what it needs.

    What a file is, is told from its content; `--source NAME` of other commands overrides that.

    \b
    Examples:
      auditor sources
      auditor audit strange.bin --source etcd-snapshot --report out/
    """
    from auditor.sources.formats import FORMATS  # noqa: PLC0415

    if output == "name":
        click.echo("\n".join(FORMATS))
        return
    if output == "json":
        import json  # noqa: PLC0415

        rows = [
            {"name": one.name, "title": one.title, "toldBy": one.told_by, "needs": one.needs or None}
            for one in FORMATS.values()
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    for one in FORMATS.values():
        click.echo(one.name)
        for label, words in (("", one.title), ("told by: ", one.told_by), ("needs:   ", one.needs)):
            if words:
                click.echo(textwrap.fill(words, 110, initial_indent="    " + label, subsequent_indent="             "))
    click.echo("\nEach may be compressed (gzip, zstd, xz, bzip2), several times over.")


def encryption_hint(manifest: dict[str, Any], *, configured: bool) -> str:
    """Say which keys encrypted values need that could not be opened; empty: all of them could, or there are none."""
    closed = [count for count in manifest["encryption"] if not count["opened"]]
    if not closed:
        return ""
    lines = ["Encrypted values that were not opened"]
    for count in closed:
        key_id = f", key id {count['key_id']}" if count["key_id"] else ""
        lines.append(f"  {count['values']} sealed by {count['provider']} {count['name']}{key_id}".rstrip())
    if not configured:
        lines.append("  nothing is wrong with them; give --encryption-config, and --kms-decryptor for kms")
    return "\n".join(lines)
