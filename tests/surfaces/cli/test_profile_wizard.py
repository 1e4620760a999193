"""`profile create`, `edit` and `delete` at a real terminal, and what scripts can do without one."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

from tests.surfaces.cli.machine import PACKAGE_HOME, Machine
from tests.waiting import PATIENCE_S

WAIT_S = PATIENCE_S
KEY = "sk-test-abc123"
PROMPT_ENDS = ("): ", "]: ", "\n> ")
CTRL_C, CTRL_D, ESC = "\x03", "\x04", "\x1b"


class Typist:
    """Answers every prompt of a command with the next line, and keeps what the terminal shows."""

    def __init__(self, machine: Machine, *arguments: str, **variables: str) -> None:
        self._terminal, child_end = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pi_subagents", "profile", *arguments],
            cwd=machine.project,
            env={
                "PYTHONPATH": str(PACKAGE_HOME),
                "PATH": str(machine.bin),
                "HOME": str(machine.home),
                "PI_SUBAGENTS_DATA_DIR": str(machine.data),
                "PYTHONUTF8": "1",
                **variables,
            },
            stdin=child_end,
            stdout=child_end,
            stderr=child_end,
            start_new_session=True,
            # So that Ctrl+C is a signal, as it is for people.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(child_end)
        self._shown = b""

    @property
    def screen(self) -> str:
        return self._shown.decode("utf-8", "replace").replace("\r\n", "\n")

    def answer(self, *lines: str) -> int:
        """Type each line when the command waits for one; returns its exit code."""
        try:
            return self._answer(lines)
        finally:
            os.close(self._terminal)  # which ends whatever still waits for an answer

    def _answer(self, lines: tuple[str, ...]) -> int:
        left = [line if line in (CTRL_C, CTRL_D, ESC) else f"{line}\n" for line in lines]
        deadline = time.monotonic() + WAIT_S
        while (heard := self._listen()) is not None:
            assert time.monotonic() < deadline, self.screen
            if not left and lines[-1] == CTRL_C and not heard and not self.screen.endswith("\n"):
                # Between a prompt and the reading of its answer Ctrl+C may be noticed only with the next key; once the
                # command has had its last word, that key would only be echoed behind it.
                os.write(self._terminal, b"\n")
            elif heard and left and self.screen.endswith(PROMPT_ENDS):
                os.write(self._terminal, left.pop(0).encode())
        assert not left, self.screen
        return self._process.wait(WAIT_S)

    def _listen(self) -> bytes | None:
        """What the command prints; empty if it is silent for a while, None when it has gone."""
        if not select.select([self._terminal], [], [], 1.0)[0]:
            return b""
        try:
            heard = os.read(self._terminal, 65536)
        except OSError:
            return None
        self._shown += heard
        return heard


def path_of(machine: Machine, name: str) -> Path:
    return machine.project / ".pi" / "agent-profiles" / f"{name}.md"


def test_a_profile_is_created_shown_edited_and_deleted(machine: Machine) -> None:
    machine.add_pi()
    path = path_of(machine, "reviewer")
    created = Typist(machine, "create", "reviewer")
    # scope, provider, model, prompt, appended text, thinking, tools, extensions, skills, review
    prompt = ("yes", "You review.", "", "  Thoroughly.", ".")
    assert created.answer("2", "zai", "2", *prompt, "n", "y", "high", "y", "allow", "read,gerp", "", "n", "", "") == 0
    assert (
        "  1) Global (~/.pi/agent/agent-profiles/)\n  2) Project (.pi/agent-profiles/)\nNumber [1]: " in created.screen
    )
    assert "  2) anthropic\n  3) zai\n" in created.screen
    assert "  2) m-small\n" in created.screen
    assert created.screen.endswith(f'Saved the profile "reviewer": {path}\n')
    text = (
        "---\nname: reviewer\nprovider: zai\nmodel: m-small\nthinkingLevel: high\ntools: read,grep\n---\n"
        "\nYou review.\n\n  Thoroughly.\n"
    )
    assert path.read_text() == text
    assert "model: m-small" in machine.run("profile", "show", "reviewer").stdout

    path.write_text(text.replace("model: m-small", "model: m-small # cheap"))
    edited = Typist(machine, "edit", "reviewer", "--api-key")
    # key, scope, provider, another model, everything else as it is
    assert edited.answer(KEY, "", "", "another", "m-tiny", "keep", "", "", "", "", "", "", "") == 0
    assert KEY not in edited.screen
    assert "apiKey: sk-t****bc123" in edited.screen
    assert path.read_text() == text.replace("m-small", "m-tiny # cheap").replace(
        "read,grep\n", f"read,grep\napiKey: {KEY}\n"
    )
    assert path.stat().st_mode & 0o777 == 0o600

    refused = Typist(machine, "delete", "reviewer")
    assert refused.answer("") == 1
    assert path.exists()
    deleted = Typist(machine, "delete")
    assert deleted.answer("reviewer", "y") == 0
    assert not path.exists()


def test_leaving_writes_nothing_and_says_so(machine: Machine) -> None:
    for key in (CTRL_C, CTRL_D):
        left = Typist(machine, "create", "x")
        assert left.answer("2", "anthropic", key) == 1
        assert left.screen.endswith("Cancelled. Nothing was changed.\n")
        assert "Traceback" not in left.screen
    assert not (machine.project / ".pi").exists()


def test_escape_leads_back_or_out_and_other_keys_are_no_escape(machine: Machine) -> None:
    typist = Typist(machine, "create", "x")
    # scope, provider, model after a key with an arrow on it, then Esc and back to the model
    up = "\x1b[A"
    assert typist.answer("2", "", f"m{up}-small", ESC, "← Back", "", ESC, "") == 1
    assert typist.screen.count("Step 3 of 10: Model") == 2
    assert "[m-small]: " in typist.screen
    assert typist.screen.endswith("Cancelled. Nothing was changed.\n")
    first = Typist(machine, "create", "x")
    assert first.answer(ESC) == 1
    assert "Leave without saving?" not in first.screen
    assert not (machine.project / ".pi").exists()


def test_a_description_is_saved_shown_and_listed(machine: Machine) -> None:
    machine.add_pi()
    made = machine.run("profile", "create", "x", "--model", "m-smal", "--description", "Reviews code, all of it.")
    assert 'warning: Unknown model: "m-smal". Did you mean "zai/m-small"?' in made.stderr
    assert 'description: "Reviews code, all of it."\n' in path_of(machine, "x").read_text()
    assert machine.run("profile", "list").stdout == "profile: x, model=m-smal  [project]\n  Reviews code, all of it.\n"
    assert "description: Reviews code, all of it.\n" in machine.run("profile", "show", "x").stdout


def test_without_a_list_of_models_and_with_a_mistake_at_a_prompt_the_wizard_goes_on(machine: Machine) -> None:
    typist = Typist(machine, "create")
    assert typist.answer("x", "7", "project", "", "my/model", "perhaps", "", "", "", "", "", "", "") == 0
    assert "Type a number from 1 to 2." in typist.screen
    assert "Type a number from 1 to 3." in typist.screen
    assert path_of(machine, "x").read_text() == "---\nname: x\nmodel: my/model\n---\n"


def test_a_prompt_is_written_in_the_editor_of_the_person(machine: Machine) -> None:
    machine.add_program("my-editor", '#!/bin/sh\nread -r line <"$1"\nprintf "%s Edited." "$line" >"$1"\n')
    path = machine.write(path_of(machine, "x"), "---\nname: x\n---\nBefore.\n")
    edited = Typist(machine, "edit", "x", VISUAL="my-editor")
    assert edited.answer("", "", "", "y", "", "", "", "", "", "") == 0
    assert path.read_text() == "---\nname: x\n---\n\nBefore. Edited.\n"
    typed = Typist(machine, "edit", "x", EDITOR="no-such-editor")
    assert typed.answer("", "", "", "y", "By hand.", ".", "", "", "", "", "", "") == 0
    assert "warning: no-such-editor: Editing failed" in typed.screen
    assert path.read_text() == "---\nname: x\n---\n\nBy hand.\n"


def test_without_a_terminal_the_wizard_says_what_to_do_instead(machine: Machine) -> None:
    path = machine.write(path_of(machine, "x"), "---\nname: x\n---\n")
    for action, instead in (("create", "--model or --from"), ("edit", "change the file"), ("delete", "--yes")):
        done = machine.run("profile", action, "x")
        assert done.stderr.startswith(f"error: profile {action} asks questions and needs a terminal; in a script")
        assert instead in done.stderr
        assert (done.returncode, done.stdout) == (1, "")
    assert path.read_text() == "---\nname: x\n---\n"


def test_a_script_can_create_and_delete(machine: Machine) -> None:
    source = machine.write(machine.root / "template.md", f"---\n# mine\nname: t\napiKey: {KEY}\n---\nBody.\n")
    path = path_of(machine, "copy")
    assert machine.run("profile", "create", "copy", "--from", str(source), "--model", "m").stdout == f"wrote {path}\n"
    assert path.read_text() == f"---\n# mine\nname: copy\napiKey: {KEY}\nmodel: m\n---\nBody.\n"
    assert path.stat().st_mode & 0o777 == 0o600
    again = machine.run("profile", "create", "copy", "--model", "m2")
    assert (again.returncode, path.read_text().count("m2")) == (1, 0)
    machine.run("profile", "create", "copy", "--scope", "global", "--model", "m")
    unclear = machine.run("profile", "delete", "copy", "--yes")
    assert "say which with --scope" in unclear.stderr
    assert machine.run("profile", "delete", "copy", "--yes", "--scope", "project").stdout == f"deleted {path}\n"
    assert not path.exists()
    assert (machine.agent_dir / "agent-profiles" / "copy.md").exists()
