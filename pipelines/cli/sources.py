"""The formats of dumps (`auditor sources`), and the hint about encrypted values after an audit."""

from __future__ import annotations

import textwrap

import click

from auditor.printing.print_rows import FORMS
from pipelines.cli.options.made import options
from pipelines.console import echo_rows


@click.command(short_help="List the supported formats of dumps.")
@options("output", output=("text", "name", *FORMS))
def sources(output: str) -> None:
    """List the formats of dumps, how each is recognised and what it needs.

    The format of a file is detected from its content; `--source NAME` of other commands overrides that.

    \b
    Examples:
      auditor sources
      auditor audit strange.bin --source etcd-snapshot --report out/
    """
    from auditor.sources.dump_formats import FORMATS  # noqa: PLC0415

    if output == "name":
        click.echo("\n".join(FORMATS))
        return
    if output != "text":
        rows = [
            {"name": source.name, "title": source.title, "toldBy": source.told_by, "needs": source.needs or None}
            for source in FORMATS.values()
        ]
        echo_rows(rows, {"name": "name", "title": "title", "detected by": "toldBy", "needs": "needs"}, output)
        return
    for source in FORMATS.values():
        click.echo(source.name)
        for label, words in (("", source.title), ("detected by: ", source.told_by), ("needs:       ", source.needs)):
            if words:
                click.echo(textwrap.fill(words, 110, initial_indent="    " + label, subsequent_indent=" " * 17))
    click.echo("\nEach may be compressed (gzip, zstd, xz, bzip2), also several times.")
