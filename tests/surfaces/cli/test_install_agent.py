"""`install-agent`, with a stand-in for npm."""

from __future__ import annotations

import pytest

from pi_subagents.harness.programs import PACKAGES
from pi_subagents.processes.install import PINNED_PI_VERSION
from tests.surfaces.cli.desk import Desk
from tests.surfaces.cli.machine import Machine, Typist

NPM = """#!/bin/sh
echo "$*" >> "${0%/*}/npm-calls"
for word; do [ "$before" = --prefix ] && prefix=$word; before=$word; done
[ -e "${0%/*}/npm-fails" ] && { echo "npm error code ENOTFOUND"; echo "npm error no such host"; exit 1; }
version=${before##*@}
modules="$prefix/node_modules"
package="$modules/${before%@*}"
/bin/mkdir -p "$package" "$modules/@anthropic-ai/claude-code-linux-x64" "$modules/@anthropic-ai/claude-code-linux-arm64"
echo "{\\"version\\": \\"$version\\", \\"bin\\": {\\"pi\\": \\"cli.js\\"}}" > "$package/package.json"
echo "// pi" > "$package/cli.js"
for native in "$modules"/@anthropic-ai/claude-code-linux-*; do
  printf '#!/bin/sh\\necho "%s (Claude Code)"\\n' "$version" > "$native/claude"
  /bin/chmod +x "$native/claude"
done
"""


@pytest.fixture
def bare(machine: Machine) -> Machine:
    """A machine with node and npm."""
    machine.add_node()
    machine.add_program("npm", NPM)
    machine.add_program("rg")
    return machine


def test_standard_output_is_the_program_and_the_rest_says_what_to_do_with_it(bare: Machine) -> None:
    done = bare.run("install-agent", "claude")
    assert done.returncode == 0, done.stderr
    program = done.stdout.rstrip("\n")
    assert program.startswith(f"{bare.data}/agents/claude/{PACKAGES['claude'].tested}/")
    assert "install-agent: fetching claude 2.1.325 from npm" in done.stderr
    assert "to use it: pi-subagents run --agent claude" in done.stderr
    assert f"to log in: run `'{program}'` and type `/login`" in done.stderr


def test_who_has_a_key_is_not_told_to_log_in(bare: Machine) -> None:
    bare.variables["ANTHROPIC_API_KEY"] = "sk-test"
    assert "to log in" not in bare.run("install-agent", "claude").stderr


def test_a_version_can_be_chosen(bare: Machine) -> None:
    assert "/agents/claude/2.0.1/" in bare.run("install-agent", "claude", "2.0.1").stdout


def test_another_program_that_comes_first_is_not_kept_quiet(bare: Machine) -> None:
    bare.add_program("claude")
    done = bare.run("install-agent", "claude")
    assert f"still use {bare.bin}/claude, which takes precedence (PATH)" in done.stderr
    assert f"export PI_SUBAGENTS_CLAUDE='{bare.data}/agents/claude/" in done.stderr


def test_a_failure_is_one_sentence_after_what_npm_said(bare: Machine) -> None:
    bare.write(bare.bin / "npm-fails", "")
    done = bare.run("install-agent", "claude")
    assert (done.returncode, done.stdout) == (1, "")
    *details, sentence = done.stderr.splitlines()
    assert "  npm error no such host" in details
    assert sentence.startswith("error: fetching @anthropic-ai/claude-code@2.1.325 with npm failed (ENOTFOUND)")


def test_without_a_name_it_lists_what_it_can_bring_and_fetches_nothing(bare: Machine) -> None:
    done = bare.run("install-agent")
    assert done.returncode == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[0] for row in rows] == ["pi", *PACKAGES]
    assert ["codex", PACKAGES["codex"].tested, "@openai/codex"] in rows
    assert "pi-subagents install-agent NAME" in done.stderr
    assert not (bare.bin / "npm-calls").exists()


def test_a_name_that_is_none_is_told_which_there_are(bare: Machine) -> None:
    done = bare.run("install-agent", "gemni")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        'error: Unknown agent: "gemni". Did you mean "gemini"?',
        "hint: install-agent knows pi, claude, codex, opencode, gemini, copilot, qwen",
    ]


def test_an_agent_in_the_place_of_a_version_is_not_asked_for_at_npm(bare: Machine) -> None:
    done = bare.run("install-agent", "claude", "codex")
    assert done.returncode == 2
    assert 'error: "codex" is an agent, not a version; install one at a time' in done.stderr
    assert not (bare.bin / "npm-calls").exists()


def test_pi_is_an_agent_like_the_others(bare: Machine) -> None:
    done = bare.run("install-agent", "pi")
    assert done.stdout == f"{bare.data}/bin/pi\n", done.stderr
    assert f"pi {PINNED_PI_VERSION} is ready" in done.stderr
    assert "pi 0.74.2 is ready" in bare.run("install-agent", "pi", "0.74.2").stderr


def test_names_are_completed(desk: Desk) -> None:
    assert [word for word in desk.complete("install-agent", "c") if word in PACKAGES] == ["claude", "codex", "copilot"]


def test_a_task_for_an_agent_that_is_not_here_says_how_to_get_it_and_which_others_are(bare: Machine) -> None:
    bare.add_program("claude")
    done = bare.run("run", "--agent", "codex", "Say hello")
    assert done.returncode == 2
    assert done.stderr == (
        "error: codex is not installed. To install it: pi-subagents install-agent codex. Looked at: the variable "
        f"PI_SUBAGENTS_CODEX, codex on the PATH, and {bare.data}/agents/codex. Installed agents: claude\n"
    )
    assert not (bare.project / ".pi").exists()


def test_the_program_of_a_profile_is_a_place_to_look_at_where_there_is_a_profile(bare: Machine) -> None:
    bare.write(bare.agent_dir / "agent-profiles" / "fixer.md", "---\nname: fixer\nagent: codex\n---\n")
    done = bare.run("run", "-p", "fixer", "Say hello")
    assert 'Looked at: `program` of the profile "fixer", the variable PI_SUBAGENTS_CODEX' in done.stderr


def test_all_that_are_missing_are_named_and_pi_is_one_of_the_others(bare: Machine) -> None:
    bare.add_pi()
    done = bare.run("run", "--agent", "codex,gemini", "Say hello")
    assert done.returncode == 2
    head, codex, gemini = done.stderr.splitlines()
    assert head == "error: nothing was started:"
    assert codex.startswith("  codex: Say hello: codex is not installed. To install it: pi-subagents install-agent ")
    assert gemini.startswith("  gemini: Say hello: gemini is not installed. ")
    assert codex.endswith("Installed agents: pi")


def test_where_some_agents_are_missing_the_others_do_not_start_without_them(bare: Machine) -> None:
    bare.add_program("claude")
    done = bare.run("run", "--agent", "claude,codex", "Say hello")
    assert done.returncode == 2
    assert "codex is not installed" in done.stderr
    assert not (bare.project / ".pi").exists()


def test_acp_without_a_program_is_missing_like_the_others(bare: Machine) -> None:
    done = bare.run("run", "--agent", "acp", "Say hello")
    assert done.returncode == 2
    assert 'The agent "acp" needs a program: set `program` in a profile, or the variable ' in done.stderr


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("/nowhere/claude", "does not exist"),
        ("/etc", "is not an executable file"),
        ("clawed --fast", "is not on the PATH"),
    ],
)
def test_a_program_that_cannot_be_started_is_told_before_anything_is(bare: Machine, program: str, why: str) -> None:
    name = program.split()[0]
    bare.variables["PI_SUBAGENTS_CLAUDE"] = program
    done = bare.run("run", "--agent", "claude", "Say hello")
    assert done.returncode == 2
    assert f"claude cannot be started: {name} (from the variable PI_SUBAGENTS_CLAUDE) {why}" in done.stderr
    profile = f"---\nname: fixer\nagent: claude\nprogram: {program}\n---\n"
    bare.write(bare.agent_dir / "agent-profiles" / "fixer.md", profile)
    done = bare.run("run", "-p", "fixer", "Say hello")
    assert done.returncode == 2
    assert f'claude cannot be started: {name} (from the profile "fixer") {why}' in done.stderr
    assert not (bare.project / ".pi").exists()


def test_a_long_error_is_broken_between_words_on_a_terminal_and_nowhere_else(bare: Machine) -> None:
    for variables in ({}, {"COLUMNS": "40"}):
        person = Typist(bare, "run", "--agent", "codex", "Say hello", columns=40, **variables)
        assert person.answer() == 2
        rows = person.screen.splitlines()
        sentence = bare.run("run", "--agent", "codex", "Say hello").stderr
        assert " ".join(rows) + "\n" == sentence
        assert rows[0] == "error: codex is not installed. To"
        assert all(len(row) <= 40 or " " not in row for row in rows), "only a path may be longer than that"


def test_what_was_installed_while_a_variable_names_something_else_is_not_said_to_be_used(bare: Machine) -> None:
    bare.variables["PI_SUBAGENTS_CLAUDE"] = "/nowhere/claude"
    done = bare.run("install-agent", "claude")
    assert done.returncode == 0
    assert "claude cannot be started: /nowhere/claude (from the variable PI_SUBAGENTS_CLAUDE)" in done.stderr
    assert "to use it" not in done.stderr


def test_where_pi_is_missing_the_others_are_named_but_not_one_that_is_named_by_mistake(bare: Machine) -> None:
    bare.add_program("claude")
    bare.variables["PI_SUBAGENTS_CODEX"] = 'a "b'
    bare.variables["PI_SUBAGENTS_GEMINI"] = "/nowhere/gemini"
    (sentence,) = bare.run("run", "Say hello").stderr.splitlines()
    assert sentence.endswith("Run: pi-subagents setup. Installed agents: claude")
