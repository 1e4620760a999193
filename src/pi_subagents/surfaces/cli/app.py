"""The command and its sub-commands, each loaded only when it is called."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from pi_subagents import __version__
from pi_subagents.surfaces.cli.lazy import REST, LazyGroup
from pi_subagents.surfaces.cli.process import run_to_exit_code

_COMMANDS = {
    "run": ("run", "Run tasks in sub-agents and print their answers."),
    "background": ("background", "Start, watch and stop background agents."),
    "steer": ("steer", "Send a message to a running agent."),
    "watch": ("watch", "Watch every run on this machine, full-screen."),
    "mcp": ("mcp", "Serve the tools to an MCP client."),
    "bridge": ("bridge", "Serve the extension in pi; started by pi."),
    "call": ("call", "Call a tool with JSON arguments, as a model would."),
    "tools": ("call", "Print the tools' names, descriptions and schemas."),
    "sessions": ("sessions", "List, read, resume, stop, export and delete sessions."),
    "agents": ("agents", "List all agents: profiles and presets."),
    "models": ("models", "List the models that agents can use."),
    "trust": ("trust", "Trust a project's settings, profiles and presets."),
    "profile": ("profile", "List, show, create, edit and delete profiles."),
    "preset": ("preset", "List, show and create presets."),
    "init": ("init", "Copy example presets and prompt templates."),
    "demo": ("demo", "Watch three sub-agents work, with no key and no network."),
    "setup": ("setup", "Install pi, set up a model, add the tools to your agents, run a task."),
    "doctor": ("doctor", "Check that this machine is ready for sub-agents."),
    "pi": ("pi", "Start the pi that sub-agents use, for example to log in."),
    "install-pi": ("install_pi", "Install the pi coding agent; setup does this too."),
    "install": ("install", "Add pi-subagents to pi or an MCP client."),
    "uninstall": ("uninstall", "Remove pi-subagents from pi or an MCP client."),
    "completion": ("completion", "Print shell completion for bash, zsh or fish."),
}

_HEADINGS = {
    "Run agents": ("run", "background", "steer"),
    "Inspect runs": ("watch", "sessions"),
    "Configure agents": ("agents", "profile", "preset", "models", "trust"),
    "Set up": ("setup", "demo", "doctor", "init", "install-pi", "install", "uninstall", "pi", "completion"),
    REST: (),
    "For programs": ("mcp", "bridge", "call", "tools"),
}


@click.group(
    cls=LazyGroup,
    package="pi_subagents.surfaces.cli",
    table=_COMMANDS,
    headings=_HEADINGS,
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


def main(arguments: list[str] | None = None) -> Any:
    """Run the command; what people did wrong is one sentence on stderr, never a traceback."""
    if "_PI_SUBAGENTS_COMPLETE" in os.environ:
        from pi_subagents.surfaces.cli.shells import register

        register()
    sys.exit(run_to_exit_code(lambda: app(args=arguments, prog_name="pi-subagents", standalone_mode=False)))
