"""`--help`, and what shells complete."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from pi_subagents.surfaces.cli import options
from pi_subagents.surfaces.cli.app import app
from pi_subagents.surfaces.cli.completion import completer
from pi_subagents.surfaces.cli.help import EXAMPLES
from tests.kit.waiting import PATIENCE_S
from tests.surfaces.cli.machine import PACKAGE_HOME, Machine

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


def test_commands_for_sessions_and_background_runs_are_listed_and_name_their_exit_codes() -> None:
    for group in ("sessions", "background"):
        listed = ALL[f"{PROGRAM} {group}"].get_help()
        inside = {path.rpartition(" ")[2]: one for path, one in ALL.items() if path.startswith(f"{PROGRAM} {group} ")}
        assert len(inside) >= 7
        for name, context in inside.items():
            assert f"\n  {name} " in listed
            assert "exit code 0" in " ".join(context.get_help().split()).lower(), name


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


_BASH = """source {script}
complete_line() {{ COMPREPLY=(); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pi_subagents_completion pi-subagents; }}
complete_line {line}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
_FISH = "source {script}; complete -C '{line}'"
# zsh completes only while somebody edits a line, so its function gets the words, and a builtin that shows what it adds.
_ZSH = """compdef() {{ : }}
source {script}
_describe() {{ print -l ${{completions_with_descriptions%%:*}} }}
compadd() {{ print -l $completions }}
words=({line}); CURRENT=$#words
_pi_subagents_completion
"""
# How each shell shows what it would ask about our command.
_IS_KNOWN = {
    "bash": "complete -p pi-subagents",
    "zsh": "print $_comps[pi-subagents]",
    "fish": "complete -C 'pi-subagents backg' >/dev/null; complete --command pi-subagents",
}


@pytest.fixture
def stocked(machine: Machine) -> Machine:
    """Two profiles and two presets; one name is both."""
    for path, name in (("agent-profiles", "reader"), ("agent-profiles", "reviewer"), ("subagents", "researcher")):
        text = f"---\nname: {name}\ndescription: \"Reads, {{and}}: 're' $HOME\"\nmodel: m\n---\n"
        machine.write(machine.project / ".pi" / path / f"{name}.md", text)
    machine.write(machine.project / ".pi" / "subagents" / "reader.md", "---\nname: reader\ndescription: Reads.\n---\n")
    machine.add_program("pi-subagents", f'#!/bin/sh\nexec {sys.executable} -m pi_subagents "$@"\n')
    return machine


def complete(machine: Machine, shell: str, line: str) -> list[str]:
    """What a shell offers for the last word of a line."""
    return [offered.partition("\t")[0] for offered in menu(machine, shell, line)]


def menu(machine: Machine, shell: str, line: str) -> list[str]:
    """The same with what is shown beside it, in a shell that says so."""
    script = machine.write(machine.root / "script", machine.run("completion", shell).stdout)
    typed = line if line[-1] != " " or shell == "fish" else f'{line}""'
    text = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}[shell].format(script=shlex.quote(str(script)), line=typed)
    found = shutil.which(shell)
    assert found
    done = start(machine, found, "-c", text)
    assert done.stderr == ""
    return done.stdout.splitlines()


def start(machine: Machine, *words: str) -> subprocess.CompletedProcess[str]:
    """A shell as a user of the machine starts it."""
    return subprocess.run(
        words,
        cwd=machine.project,
        env={
            "PATH": f"{machine.bin}:/usr/bin:/bin",
            "HOME": str(machine.home),
            "PYTHONPATH": str(PACKAGE_HOME),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        start_new_session=True,
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_completes_profiles_and_presets_in_its_shell(stocked: Machine, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    assert complete(stocked, shell, "pi-subagents run -p re") == ["reader", "researcher", "reviewer"]
    assert complete(stocked, shell, "pi-subagents preset show ") == ["reader", "researcher"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_models_are_offered_to_whoever_must_name_one(stocked: Machine, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    stocked.add_pi()
    assert complete(stocked, shell, "pi-subagents run --model ") == ["anthropic/m-large", "zai/m-small"]
    assert complete(stocked, shell, "pi-subagents background start --model z") == ["zai/m-small"]


def test_nobody_waits_long_for_a_pi_that_does_not_answer(stocked: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    stocked.add_pi()
    stocked.add_node(models="exec sleep 300")
    monkeypatch.chdir(stocked.project)
    monkeypatch.setenv("PATH", f"{stocked.bin}:/usr/bin:/bin")
    monkeypatch.setattr(options, "_MENU_S", 0.1)
    assert completer("bash", app).get_completions(["run", "--model"], "") == []


def test_a_description_is_shown_with_its_commas(stocked: Machine) -> None:
    if shutil.which("fish") is None:
        pytest.skip("there is no fish")
    assert menu(stocked, "fish", "pi-subagents profile show rea") == ["reader\tReads, {and}: 're' $HOME"]
    assert menu(stocked, "fish", "pi-subagents backg") == ["background\tStart, watch and stop background agents."]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_commands_in_the_help_work_as_they_stand_in_an_empty_home(stocked: Machine, shell: str) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"there is no {shell}")
    shown = stocked.run("completion", "--help").stdout
    commands = shown.partition(f"\n  {shell}:\n")[2].partition("\n\n")[0]
    assert "> ~/" in commands
    assert start(stocked, found, "-c", commands).returncode == 0
    known = start(stocked, found, "-i", "-c", _IS_KNOWN[shell])  # reads what the user has set up
    assert "pi_subagents_completion" in known.stdout or "_pi-subagents" in known.stdout, known.stderr


def test_a_name_is_completed_wherever_one_is_asked_for(stocked: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stocked.project)
    bash = completer("bash", app)
    for line, names in (
        ("run --profile ", ["reader", "researcher", "reviewer"]),
        ("background start rea", ["reader"]),
        ("background start rev", ["reviewer"]),
        ("sessions resume abcd -p rese", ["researcher"]),
        ("sessions list --profile rese", ["researcher"]),
        ("profile show ", ["reader", "reviewer"]),
        ("profile edit ", ["reader", "reviewer"]),
        ("profile delete rev", ["reviewer"]),
    ):
        *words, begun = line.split(" ")
        assert [found.value for found in bash.get_completions(words, begun)] == names, line


def test_a_completed_name_says_what_its_agent_is_for(stocked: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stocked.project)
    purpose = "Reads, {and}: 're' $HOME"  # of the name that is both, the profile's: that is what -p takes first
    found = completer("bash", app).get_completions(["run", "-p"], "re")
    assert {item.value: item.help for item in found} == dict.fromkeys(("reader", "researcher", "reviewer"), purpose)
