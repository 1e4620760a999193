"""`--help`: commands stand under headings, and every text ends with examples that work."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click

from pi_subagents.surfaces.cli.app import LazyGroup, app
from pi_subagents.surfaces.cli.help import EXAMPLES
from tests.surfaces.cli.machine import Machine

PROGRAM = "pi-subagents"


def contexts(parent: click.Context) -> Iterator[click.Context]:
    """Every command that there is, with the context it is called in."""
    yield parent
    if isinstance(parent.command, click.Group):
        for name in parent.command.list_commands(parent):
            command = parent.command.get_command(parent, name)
            assert command is not None
            yield from contexts(command.context_class(command, parent=parent, info_name=name))


ALL = {context.command_path: context for context in contexts(app.context_class(app, info_name=PROGRAM))}


def test_every_help_ends_with_examples_of_its_own_command() -> None:
    for path, context in ALL.items():
        _, heading, examples = context.command.get_help(context).rpartition("\nExamples:\n")
        assert heading, path
        assert path == PROGRAM or all(f"{line} ".startswith(f"  {path} ") for line in examples.splitlines()), examples


def test_every_example_is_a_command_line_that_is_understood() -> None:
    for example in (line for lines in EXAMPLES.values() for line in lines):
        words = shlex.split(re.split(r" [|<>] ", example)[0])
        context = ALL[PROGRAM]
        while words and f"{context.command_path} {words[0]}" in ALL:
            context = ALL[f"{context.command_path} {words.pop(0)}"]
        if context.info_name != "pi" and context.parent is not None:  # pi takes whatever pi itself takes
            parsed, _left, _order = context.command.make_parser(context).parse_args(words)
            arguments = [parameter for parameter in context.command.params if isinstance(parameter, click.Argument)]
            assert all(parsed.get(argument.name or "") for argument in arguments if argument.required), example


def test_no_line_is_broken_at_a_hyphen() -> None:
    for path, context in ALL.items():
        assert not re.search(r"\w-$", context.get_help(), re.MULTILINE), path
    assert "'pi-subagents trust'" in ALL[f"{PROGRAM} run"].get_help()


def test_what_a_command_does_is_said_in_full_where_it_is_listed() -> None:
    for path, context in ALL.items():
        assert "..." not in context.get_help().partition("\nCommands:\n")[2], path
    listed = " ".join(ALL[f"{PROGRAM} uninstall"].get_help().split())
    assert "mcp Remove the pi-subagents MCP server from a client's configuration. pi Remove" in listed


def test_commands_stand_under_headings_and_those_of_programs_come_last() -> None:
    shown = app.get_help(ALL[PROGRAM])
    headings = re.findall(r"^(\w[\w ]*):$", shown, re.MULTILINE)
    assert headings[:5] == ["Options", "Run agents", "Inspect runs", "Configure agents", "Set up"]
    assert headings[-2:] == ["For programs", "Examples"]
    assert app.list_commands(ALL[PROGRAM])[-3:] == ["bridge", "call", "tools"]


def test_a_command_that_no_heading_names_is_listed_all_the_same() -> None:
    group = LazyGroup(
        table={"new": ("new", "Something new."), "old": ("old", "Something old.")},
        headings={"Known": ("old", "planned"), "Commands": (), "Last": ()},
    )
    context = click.Context(group, info_name="program")
    assert group.list_commands(context) == ["old", "new"]
    assert "Known:\n  old  Something old.\n\nCommands:\n  new  Something new.\n" in group.get_help(context)


def test_what_was_called_wrongly_is_told_as_every_other_error_is(machine: Machine) -> None:
    for arguments, message in (
        (["run"], "give at least one PROMPT, or --tasks FILE"),
        (["rnu"], "No such command 'rnu'. Did you mean 'run'?"),
        (["run", "--jobs", "x", "hi"], "Invalid value for '-j' / '--jobs': 'x' is not a valid integer range."),
    ):
        done = machine.run(*arguments)
        assert done.stderr.startswith("Usage: pi-subagents ")
        assert done.stderr.endswith(f"\n\nerror: {message}\n")
        assert (done.returncode, done.stdout) == (2, "")
