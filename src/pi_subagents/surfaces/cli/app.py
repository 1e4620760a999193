"""The command and its sub-commands, each loaded only when it is called."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from pi_subagents import __version__
from pi_subagents.errors import PiSubagentsError

# Where each command lives and what `--help` says of it: listing commands must not import them.
_COMMANDS = {
    "run": ("run", "Run tasks in sub-agents and show what comes of them."),
    "call": ("call", "Call a tool with the JSON that a model would send."),
    "tools": ("call", "Print the tools' names, descriptions and schemas."),
    "profile": ("profile", "List and show profiles."),
    "demo": ("demo", "Watch three sub-agents work, with no key and no network."),
    "doctor": ("doctor", "Check what sub-agents need on this machine."),
    "install-pi": ("install_pi", "Bring the pi coding agent to this machine."),
    "completion": ("completion", "Print shell completion for bash, zsh or fish."),
}


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"pi_subagents.surfaces.cli.{_COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_"))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_module, help_text) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(f"{error.message} {_hint(args[0])}".strip(), ctx) from None


def _hint(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, _COMMANDS, n=1)
    return f"Did you mean '{close[0]}'?" if close else "Run 'pi-subagents --help' for the list."


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pi-subagents")
@click.option("-v", "--verbose", count=True, help="Log to stderr; twice for every detail.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Log to stderr from this level on. PI_SUBAGENTS_LOG=FILE logs to a file.",
)
def app(verbose: int, log_level: str | None) -> None:
    """Hand tasks to sub-agents: isolated coding agents that work side by side."""
    from pi_subagents.surfaces.cli.logs import set_up_logging

    set_up_logging(verbose, log_level)


def main(arguments: list[str] | None = None) -> Any:
    """Run the command; what people did wrong is one sentence on stderr, never a traceback."""
    try:
        app(args=arguments, prog_name="pi-subagents", standalone_mode=True)
    except PiSubagentsError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`); there is nobody left to tell.
        sys.stderr.close()
        sys.exit(1)
