"""The option that lets charts be rendered."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["render_option"]


def render_option(command: Any) -> Any:
    """Add --render to a command."""
    text = "Render charts among the definitions: runs `helm template --include-crds`."
    return click.option("--render", is_flag=True, help=text)(command)
