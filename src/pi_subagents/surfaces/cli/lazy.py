"""A group whose commands are loaded only when they are called: listing them must not import them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """Knows of each command its module in `package`, and what `--help` says of it.

    A command's function has its name, with `_` for `-`, and `_command` behind it where that would hide a builtin.
    """

    def __init__(self, *args: Any, package: str, table: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._package = package
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the table."""
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in self._table:
            return None
        module = import_module(f"{self._package}.{self._table[cmd_name][0]}")
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(module, f"{name}_command", None) or getattr(module, name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_module, help_text) in self._table.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one was probably meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(f"{error.message} {self._hint(args[0], ctx)}".strip(), ctx) from None

    def _hint(self, name: str, ctx: click.Context) -> str:
        from difflib import get_close_matches

        close = get_close_matches(name, self._table, n=1)
        return f"Did you mean '{close[0]}'?" if close else f"Run '{ctx.command_path} --help' for the list."
