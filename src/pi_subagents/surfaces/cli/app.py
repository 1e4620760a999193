"""The tree of commands. Each is loaded only when it is called; until then there is a line about it in a table."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from pi_subagents import __version__
from pi_subagents.surfaces.cli.help import HelpContext, write_examples
from pi_subagents.surfaces.cli.output import echo, echo_text, wrapped
from pi_subagents.surfaces.cli.process import run_to_exit_code
from pi_subagents.text.wording import closest

_WHOLE = 1000
"""More characters than a first sentence has: click cuts what is longer than it is told."""


class LazyGroup(click.Group):
    """Knows of each command its module, and what `--help` says of it, by the heading that it stands under.

    A command's function has its name, with `_` for `-`, and `_command` behind it where that would hide a builtin.
    """

    context_class = HelpContext

    def __init__(self, *args: Any, headings: Mapping[str, Mapping[str, tuple[str, str]]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._headings = headings
        self._table = {name: entry for commands in headings.values() for name, entry in commands.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of the headings."""
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in self._table:
            return None
        module = import_module(f"{__package__}.{self._table[cmd_name][0]}")
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(module, f"{name}_command", None) or getattr(module, name)
        command.short_help = self._table[cmd_name][1]
        return _with_examples(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table, heading by heading."""
        width = max(map(len, self._table))
        for heading, commands in self._headings.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:{width}}", about) for name, (_module, about) in commands.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """End with examples."""
        write_examples(ctx, formatter)

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


def _with_examples(command: click.Command) -> click.Command:
    """The command, and the commands below it, with examples at the end of their help."""
    if isinstance(command, LazyGroup):
        return command
    command.context_class = HelpContext
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        inner.short_help = inner.get_short_help_str(_WHOLE)
        _with_examples(inner)
    command.format_epilog = write_examples  # type: ignore[method-assign] # what click.command() makes has no class of ours
    return command


_COMMANDS = {
    "Run agents": {
        "run": ("run", "Run tasks in sub-agents and print their answers."),
        "background": ("app", "Start, watch and stop background agents."),
        "steer": ("sessions", "Send a message to a running agent."),
    },
    "Inspect runs": {
        "watch": ("surfaces", "Watch every run on this machine, full-screen."),
        "sessions": ("app", "List, read, resume, stop, export and delete sessions."),
    },
    "Configure agents": {
        "agents": ("agents", "List all agents: profiles and presets."),
        "profile": ("profile", "List, show, create, edit and delete profiles."),
        "preset": ("agents", "List, show and create presets."),
        "models": ("agents", "List the models that agents can use."),
        "trust": ("trust", "Trust a project's settings, profiles and presets."),
    },
    "Set up": {
        "setup": ("setup", "Install pi, set up a model, add the tools to your agents, run a task."),
        "demo": ("demo", "Watch three sub-agents work, with no key and no network."),
        "doctor": ("doctor", "Check that this machine is ready for sub-agents."),
        "conformance": ("conformance", "Check that an agent program works as a sub-agent."),
        "init": ("init", "Copy example presets, prompt templates and profiles."),
        "install-pi": ("install_pi", "Install the pi coding agent; setup does this too."),
        "install-agent": ("install_agent", "Install another agent, such as Claude Code or Codex."),
        "install": ("install", "Add pi-subagents to pi or an MCP client."),
        "uninstall": ("install", "Remove pi-subagents from pi or an MCP client."),
        "pi": ("surfaces", "Start the pi that sub-agents use, for example to log in."),
        "completion": ("completion", "Print shell completion for bash, zsh or fish."),
    },
    "For programs": {
        "mcp": ("surfaces", "Serve the tools to an MCP client."),
        "bridge": ("surfaces", "Serve the extension in pi; started by pi."),
        "call": ("call", "Call a tool with JSON arguments, as a model would."),
        "tools": ("call", "Print the tools' names, descriptions and schemas."),
    },
}


@click.group(
    cls=LazyGroup,
    headings=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="pi-subagents")
@click.option("-v", "--verbose", count=True, help="Log to stderr; repeat for more detail.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Log to stderr at this level and above. PI_SUBAGENTS_LOG=FILE logs to a file.",
)
def app(verbose: int, log_level: str | None) -> None:
    """Delegate tasks to sub-agents: isolated coding agents that work in parallel."""
    from pi_subagents.surfaces.cli.logs import set_up_logging

    set_up_logging(verbose, log_level)


_SESSIONS = {
    "list": ("sessions", "List sessions, newest last."),
    "show": ("sessions", "Show a session's full transcript, even while it runs."),
    "output": ("sessions", "Print only a session's final text."),
    "resume": ("run", "Continue a session that has ended."),
    "stop": ("sessions", "Stop a running session."),
    "export": ("sessions", "Export a session as Markdown or HTML."),
    "delete": ("deleting", "Delete sessions."),
    "clean": ("deleting", "Delete old sessions."),
    "reindex": ("sessions", "Rebuild the session index from disk."),
}


@click.group(cls=LazyGroup, headings={"Commands": _SESSIONS})
def sessions() -> None:
    """List, read, resume, stop, export and delete sessions.

    SESSION is the id that 'list' shows, or any unique prefix of a session or run id.
    """


_BACKGROUND = {
    "start": ("start", "Start an agent and return immediately."),
    "list": ("background", "List background runs, newest last."),
    "status": ("background", "Show a run's status and result."),
    "wait": ("background", "Wait for runs to end."),
    "logs": ("background", "Print what an agent has done so far."),
    "stop": ("background", "Stop a run."),
    "attach": ("background", "Watch a run live; leaving does not stop it."),
}


@click.group(cls=LazyGroup, headings={"Commands": _BACKGROUND})
@click.pass_context
def background(context: click.Context) -> None:
    """Start, watch and stop background agents.

    RUN is the id that 'list' shows, or any unique prefix of a run or session id. When runs that you started in this
    project have ended, your next command reports them once, on standard error.
    """
    # Whoever starts several and then waits for them must not miss that the first has failed meanwhile.
    if context.invoked_subcommand != "start":
        context.call_on_close(_tell_endings)


def _tell_endings() -> None:
    from pi_subagents.place import Place
    from pi_subagents.surfaces.cli.ends import tell_endings

    tell_endings(Place.here())


def main(arguments: list[str] | None = None) -> Any:
    """Run the command; what people did wrong is one sentence on stderr, never a traceback."""
    if "_PI_SUBAGENTS_COMPLETE" in os.environ:
        from pi_subagents.surfaces.cli.completion import register

        register()
    sys.exit(run_to_exit_code(lambda: _run(arguments)))


def _run(arguments: list[str] | None) -> Any:
    """What click would have ended the process with."""
    try:
        return app(args=arguments, prog_name="pi-subagents", standalone_mode=False)
    except click.ClickException as error:
        _show(error)
        return error.exit_code
    except click.Abort:
        echo("Aborted!", err=True)
        return 1


def _show(error: click.ClickException) -> None:
    """Print it as click does, but with the small letter that our own errors begin with."""
    text = io.StringIO()
    error.show(text)
    message = error.format_message()
    said = text.getvalue().replace(f"Error: {message}", f"error: {message}")
    echo_text(wrapped(said, sys.stderr), err=True, nl=False)
