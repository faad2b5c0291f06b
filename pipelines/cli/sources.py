"""The formats of dumps (`auditor sources`), and the hint about encrypted values after an audit."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from auditor.base.visible import visible

__all__ = ["encryption_hint", "sources"]


@click.command(short_help="List the supported formats of dumps.")
@click.option("-o", "--output", type=click.Choice(["text", "name", "json"]), default="text", show_default=True)
def sources(output: str) -> None:
    """List the formats of dumps, how each is recognised and what it needs.

    The format of a file is detected from its content; `--source NAME` of other commands overrides that.

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
        for label, words in (("", one.title), ("detected by: ", one.told_by), ("needs:       ", one.needs)):
            if words:
                click.echo(textwrap.fill(words, 110, initial_indent="    " + label, subsequent_indent=" " * 17))
    click.echo("\nEach may be compressed (gzip, zstd, xz, bzip2), also several times.")


def encryption_hint(manifest: dict[str, Any]) -> str:
    """Return the encrypted values that none of the given keys decrypts; empty if there are none."""
    closed = [count for count in manifest["encryption"] if not count["opened"] and not count.get("sealed")]
    if not closed:
        return ""
    lines = ["Encrypted values that the given keys do not decrypt"]
    for count in closed:
        key_id = f", key id {count['key_id']}" if count["key_id"] else ""
        lines.append(visible(f"  {count['values']} encrypted by {count['provider']} {count['name']}{key_id}".rstrip()))
    return "\n".join(lines)
