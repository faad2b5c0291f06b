"""The options for the engine of a run, the same for every command that has them."""

from __future__ import annotations

from typing import Any

import click

from auditor.base.machine import processors

__all__ = ["engine_options", "jobs_of"]


def _checked(context: click.Context, _: click.Parameter, address: str) -> str:
    """Refuse an address without Ray, and Ray if it is not installed, before a dump is opened."""
    engine = context.params.get("engine")
    if address and engine != "ray":
        raise click.UsageError("--ray-address needs --engine ray")
    if engine == "ray":
        from pipelines.engines.ray import import_ray  # noqa: PLC0415 - only when asked

        import_ray()
    return address


def engine_options(command: Any) -> Any:
    """Add --jobs, --engine and --ray-address."""
    for option in (
        click.option(
            "--ray-address",
            default="",
            metavar="ADDRESS",
            callback=_checked,
            help="Ray cluster: auto, HOST:6379 or ray://HOST:10001  [default: $RAY_ADDRESS, else one on this machine]",
        ),
        click.option(
            "--engine",
            type=click.Choice(["processes", "inline", "ray"]),
            default="processes",
            show_default=True,
            is_eager=True,
            help="Run in worker processes, in this process, or on a Ray cluster whose nodes see dumps and report.",
        ),
        click.option(
            "--jobs",
            type=click.IntRange(1),
            default=None,
            help="Worker processes  [default: one per processor of the cgroup; with Ray: all CPUs of the cluster]",
        ),
    ):
        command = option(command)
    return command


def jobs_of(engine: str, jobs: int | None) -> int:
    """Return the number of workers, the engine's default if none was given; 0 with Ray means no limit."""
    return jobs or (0 if engine == "ray" else processors())
