"""A group whose commands are loaded only when they are called: listing them must not import them.

What `--help` shows beyond click's own is here too: commands under headings, and examples at the end of every text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from pi_subagents.surfaces.cli.help_format import HelpContext
from pi_subagents.text.suggestions import closest

REST = "Commands"
_WHOLE = 1000
"""More characters than a first sentence has: click cuts what is longer than it is told."""


class LazyGroup(click.Group):
    """Knows of each command its module in `package`, and what `--help` says of it.

    A command's function has its name, with `_` for `-`, and `_command` behind it where that would hide a builtin.
    `headings` says which commands stand together in `--help`, and in which order. It may name commands that are not in
    the table; those that it does not name stand under `REST`, which it must have.
    """

    context_class = HelpContext

    def __init__(
        self,
        *args: Any,
        package: str,
        table: Mapping[str, tuple[str, str]],
        headings: Mapping[str, Sequence[str]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._package = package
        self._table = table
        self._headings = _place(table, headings or {REST: ()})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the headings."""
        return [name for names in self._headings.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in self._table:
            return None
        module = import_module(f"{self._package}.{self._table[cmd_name][0]}")
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(module, f"{name}_command", None) or getattr(module, name)
        command.short_help = self._table[cmd_name][1]
        return _with_examples(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table, heading by heading."""
        width = max(map(len, self._table))
        for heading, names in self._headings.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:{width}}", self._table[name][1]) for name in names])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """End with examples."""
        _write_examples(ctx, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one was probably meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(f"{error.message} {self._hint(args[0], ctx)}".strip(), ctx) from None

    def _hint(self, name: str, ctx: click.Context) -> str:
        close = closest(name, self._table)
        return f"Did you mean '{close}'?" if close else f"Run '{ctx.command_path} --help' for the list."


def _place(table: Mapping[str, Any], headings: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    named = {name for names in headings.values() for name in names}
    placed = {heading: [name for name in names if name in table] for heading, names in headings.items()}
    placed[REST] += [name for name in table if name not in named]
    return {heading: names for heading, names in placed.items() if names}


def _with_examples(command: click.Command) -> click.Command:
    """The command, and the commands below it, with examples at the end of their help."""
    if isinstance(command, LazyGroup):
        return command
    command.context_class = HelpContext
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        inner.short_help = inner.get_short_help_str(_WHOLE)
        _with_examples(inner)
    command.format_epilog = _write_examples  # type: ignore[method-assign] # what click.command() makes has no class of ours
    return command


def _write_examples(ctx: click.Context, formatter: click.HelpFormatter) -> None:
    from pi_subagents.surfaces.cli.examples import write_examples

    write_examples(ctx, formatter)
