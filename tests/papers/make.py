"""Make what is generated in the documents anew: transcripts of commands, and the reference pages."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.papers.blocks import PAGES, fill_transcripts
from tests.papers.reference import GENERATED
from tests.papers.sandbox import environment_of, make_sandbox
from tests.shared import ROOT


def main() -> None:
    """Write every generated page, then every transcript."""
    for name, made in GENERATED.items():
        (ROOT / name).write_text(made())
    for page in PAGES:
        text = page.read_text()
        if "```console\n" in text:
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place).resolve()
                make_sandbox(folder)
                page.write_text(fill_transcripts(text, folder, environment_of(folder)))


if __name__ == "__main__":
    main()
