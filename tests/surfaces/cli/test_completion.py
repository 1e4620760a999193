"""Names of profiles and presets in the shell: the scripts that `completion` prints, in the shells they are for."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import BashComplete

from pi_subagents.surfaces.cli.app import app
from tests.surfaces.cli.machine import PACKAGE_HOME, Machine
from tests.waiting import PATIENCE_S

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
    script = machine.write(machine.root / "script", machine.run("completion", shell).stdout)
    typed = line if line[-1] != " " or shell == "fish" else f'{line}""'
    text = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}[shell].format(script=shlex.quote(str(script)), line=typed)
    found = shutil.which(shell)
    assert found
    done = subprocess.run(
        [found, "-c", text],
        cwd=machine.project,
        env={
            "PATH": f"{machine.bin}:/usr/bin:/bin",
            "HOME": str(machine.home),
            "PYTHONPATH": str(PACKAGE_HOME),
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stderr == ""
    return [offered.partition("\t")[0] for offered in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_completes_profiles_and_presets_in_its_shell(stocked: Machine, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    assert complete(stocked, shell, "pi-subagents run -p re") == ["reader", "researcher", "reviewer"]
    assert complete(stocked, shell, "pi-subagents preset show ") == ["reader", "researcher"]


def test_a_name_is_completed_wherever_one_is_asked_for(stocked: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stocked.project)
    completer = BashComplete(app, {}, "pi-subagents", "_PI_SUBAGENTS_COMPLETE")
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
        assert [found.value for found in completer.get_completions(words, begun)] == names, line


def test_a_completed_name_says_what_its_agent_is_for_and_has_no_comma_for_fish_to_cut_it_at(
    stocked: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(stocked.project)
    completer = BashComplete(app, {}, "pi-subagents", "_PI_SUBAGENTS_COMPLETE")
    purpose = "Reads; {and}: 're' $HOME"  # of the name that is both, the profile's: that is what -p takes first
    found = completer.get_completions(["run", "-p"], "re")
    assert {item.value: item.help for item in found} == dict.fromkeys(("reader", "researcher", "reviewer"), purpose)
