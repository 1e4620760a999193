"""`pi`: the one that sub-agents use, wherever it is."""

from __future__ import annotations

import click

from pi_subagents.harness.pi.programs import child_environ, find_pi
from pi_subagents.paths import data_dir
from pi_subagents.place import Place


class _Untouched(click.Command):
    """Takes every argument as it is, `--help` and `--` included."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.args = list(args)
        return []


@click.command(cls=_Untouched, options_metavar="[ARGUMENTS OF PI]...", add_help_option=False)
@click.pass_context
def pi(ctx: click.Context) -> None:
    """Start the pi that sub-agents use, with its own Node and your agent directory.

    Type /login there to add a key or a subscription; sub-agents use it too. All arguments are passed on to pi.
    """
    from pi_subagents.processes.foreground import become

    argv, environ = terminal_launch(Place.here())
    become([*argv, *ctx.args], environ)


def terminal_launch(place: Place) -> tuple[tuple[str, ...], dict[str, str]]:
    """How a person starts the pi that sub-agents use: its words and its environment; raises AgentNotFound."""
    data = data_dir(place.environ)
    program = find_pi(place.settings().pi_command, place.environ, data)
    return program.argv, child_environ(place.environ, place.agent_dir, data)
