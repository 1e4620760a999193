"""docs/reference/cli.md: every command as click knows it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from pi_subagents.harness.programs import PACKAGES, variable_of
from pi_subagents.surfaces.cli.app import app
from pi_subagents.surfaces.cli.help import examples_of
from scripts.reference.markdown import code, join, table

_HEAD = """
# Command line

Results go to standard output, progress and messages to standard error; with `--json` standard output is one JSON
document and nothing else. Colours are left out where the output is no terminal or `NO_COLOR` is set and not empty.
"""

_EXIT_CODES = (
    ("0", "everything asked for was done; for `run`: every task was completed"),
    ("1", "something failed, and a sentence on standard error or in the result says what"),
    ("2", "the command line itself is wrong, or a task names something that is not there; nothing was started"),
    ("3", "`sessions output`: the run is still going on"),
    ("124", "`background wait`: the time is up"),
    ("128 + n", "ended by signal n: 130 after Ctrl+C, 143 after SIGTERM; every agent of `run` was stopped first"),
)

_VARIABLES = (
    ("`PI_SUBAGENTS_PI`", "the command that starts `pi`; a path, or a command line"),
    (", ".join(f"`{variable_of(name)}`" for name in PACKAGES), "the same for other agents"),
    ("`PI_AGENT_DIR`, `PI_CODING_AGENT_DIR`", "the agent directory (default `~/.pi/agent`); the first one wins"),
    ("`PI_SUBAGENTS_DATA_DIR`", "where `install-pi` and `install-agent` put what they install"),
    ("`PI_SUBAGENTS_LOG`", "a file to log to"),
    ("`NO_COLOR`", "set and not empty: no colours anywhere, in windows and tables neither"),
)

_PLACES = """
## Where `pi` is looked for

The first of these that there is:

1. the setting `subagents.piCommand`
2. the variable `PI_SUBAGENTS_PI`
3. `pi` on the PATH
4. what `pi-subagents install-pi` brought

The first two are taken at their word: if what they name does not exist, that is an error and not a reason to go on
looking. `pi-subagents doctor` says which one was found.
"""


def commands_page() -> str:
    """The page."""
    context = click.Context(app, info_name="pi-subagents")
    return join(
        _HEAD,
        _command(app, context),
        *(_command(command, inner) for command, inner in _below(app, context)),
        _PLACES,
        "## Exit codes",
        table(("code", "meaning"), _EXIT_CODES),
        "## Environment variables",
        table(("variable", "meaning"), _VARIABLES),
    )


def _below(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, parent=context, info_name=name)
        yield command, inner
        if isinstance(command, click.Group):
            yield from _below(command, inner)


def _command(command: click.Command, context: click.Context) -> str:
    return join(
        f"## {context.command_path}",
        code(" ".join([context.command_path, *command.collect_usage_pieces(context)]), "text"),
        _prose(command.help or ""),
        _options(command, context),
        code("\n".join(examples_of(context)), "console"),
    )


def _prose(text: str) -> str:
    # A paragraph that begins with \b has lines of its own.
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return join(*(code(part.removeprefix("\b\n"), "text") if part.startswith("\b") else part for part in paragraphs))


def _options(command: click.Command, context: click.Context) -> str:
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    records = [record for option in options if (record := option.get_help_record(context)) is not None]
    return table(("option", "meaning"), [(f"`{option}`", meaning) for option, meaning in records]) if records else ""
