"""What people see when their tasks are done: each output, then a table of how it went."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from pi_subagents.progress import clean
from pi_subagents.results import RunResult


def print_outputs(results: Sequence[RunResult]) -> None:
    """Every task's final text under its name."""
    for result in results:
        click.secho(f"── {clean(result.name)} " + "─" * max(3, 60 - len(result.name)), bold=True)
        if result.output:
            click.echo(clean(result.output, keep_newlines=True).strip())
        elif result.ok:
            click.echo("(no text output from sub-agent)")
        if result.error:
            click.secho(f"✗ {clean(result.error)}", fg="red")
        click.echo()


def print_summary(results: Sequence[RunResult]) -> None:
    """One row per task with time, tools, tokens and cost, and where the records are."""
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("task", overflow="ellipsis", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for name in ("time", "tools", "tokens", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("session", no_wrap=True, min_width=16)
    for result in results:
        table.add_row(*_row(result))
    console = Console()
    console.print(table)
    if folder := _common_folder(results):
        console.print(f"\nRecords: {_short(folder)}", style="dim", highlight=False, soft_wrap=True)


def _row(result: RunResult) -> tuple[str, ...]:
    colour = "green" if result.ok else "red"
    return (
        clean(result.name).replace("[", r"\["),
        f"[{colour}]{'✓' if result.ok else '✗'} {result.status}[/]",
        f"{result.duration_s:.1f}s",
        str(result.tool_count),
        f"{result.usage.total_tokens:,}",
        f"${result.usage.cost:.4f}",
        result.session_id,
    )


def _common_folder(results: Sequence[RunResult]) -> Path | None:
    return results[0].run_dir.parent if results else None


def _short(folder: Path) -> str:
    try:
        return f"{folder.relative_to(Path.cwd())}/"
    except ValueError:
        return f"{folder}/"


def print_json(results: Sequence[RunResult]) -> None:
    """The same for programs."""
    click.echo(msgspec.json.format(msgspec.json.encode([_as_json(result) for result in results]), indent=2))


def _as_json(result: RunResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "status": result.status,
        "reason": result.reason,
        "output": result.output,
        "error": result.error,
        "sessionId": result.session_id,
        "runId": result.run_id,
        "runDir": str(result.run_dir),
        "exitCode": result.exit_code,
        "profile": result.profile,
        "provider": result.provider,
        "model": result.model,
        "usage": result.usage,
        "toolCount": result.tool_count,
        "startedAt": result.started_at,
        "completedAt": result.completed_at,
    }
