"""`profile list` and `show`; `create`, `edit` and `delete` at a real terminal, and what scripts do without one."""

from __future__ import annotations

import json
from pathlib import Path

from pi_subagents.offline import Script
from tests.pi.stage import Play, Stage
from tests.surfaces.cli.machine import CTRL_C, CTRL_D, ESC, Machine, Typist

KEY = "sk-test-abc123"


def stage_with_profiles(play: Play) -> Stage:
    stage = play(Script())
    stage.write_profile("good", "model: offline/scripted", f"apiKey: {KEY}", "tools: [read, ls]", body="Two\nlines.")
    stage.write(".pi/agent-profiles/broken.md", "---\nname: broken\ntools: {a: b}\n---\n")
    return stage


def test_the_list_has_a_line_for_each_profile_and_names_a_broken_file_with_its_line(play: Play) -> None:
    stage = stage_with_profiles(play)
    done = stage.command("profile", "list")
    line = "profile: good, model=offline/scripted, custom-system-prompt, tools=[read,ls]  [project]"
    assert done.stdout.splitlines() == [line]
    assert f"{stage.project}/.pi/agent-profiles/broken.md:3: " in done.stderr
    assert done.returncode == 0
    document = json.loads(stage.command("profile", "list", "--json").stdout)
    assert [profile["name"] for profile in document["profiles"]] == ["good"]
    assert [problem["line"] for problem in document["broken"]] == [3]


def test_without_profiles_the_list_says_where_to_put_them(play: Play) -> None:
    done = play(Script()).command("profile", "list")
    assert done.stdout == (
        "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/.\n"
    )
    assert done.returncode == 0


def test_showing_a_profile_masks_its_key(play: Play) -> None:
    stage = stage_with_profiles(play)
    for arguments in (("profile", "show", "good"), ("profile", "show", "good", "--json")):
        done = stage.command(*arguments)
        assert "sk-t****bc123" in done.stdout
        assert KEY not in done.stdout + done.stderr
        assert "offline/scripted" in done.stdout
        assert done.returncode == 0


def test_showing_what_is_broken_or_not_there_is_one_sentence_and_exit_code_one(play: Play) -> None:
    stage = stage_with_profiles(play)
    broken, missing = stage.command("profile", "show", "broken"), stage.command("profile", "show", "nobody")
    assert (broken.returncode, missing.returncode) == (1, 1)
    assert f'error: Profile "broken" cannot be used: {stage.project}/.pi/agent-profiles/broken.md:3: ' in broken.stderr
    assert missing.stderr == 'error: Unknown profile: "nobody". Available profiles: good\n'
    assert broken.stdout + missing.stdout == ""


def path_of(machine: Machine, name: str) -> Path:
    return machine.project / ".pi" / "agent-profiles" / f"{name}.md"


def test_a_profile_is_created_shown_edited_and_deleted(machine: Machine) -> None:
    machine.add_pi()
    path = path_of(machine, "reviewer")
    created = Typist(machine, "profile", "create", "reviewer")
    # scope, provider, model, prompt, appended text, thinking, tools, extensions, skills, review
    prompt = ("yes", "You review.", "", "  Thoroughly.", ".")
    assert created.answer("2", "zai", "2", *prompt, "n", "y", "high", "y", "allow", "read,gerp", "", "n", "", "") == 0
    assert (
        "  1) Global (~/.pi/agent/agent-profiles/)\n  2) Project (.pi/agent-profiles/)\nNumber [1]: " in created.screen
    )
    assert "  2) anthropic\n  3) zai\n" in created.screen
    assert "  2) m-small\n" in created.screen
    next_step = 'Try it: pi-subagents run -p reviewer "What can you do?"'
    assert created.screen.endswith(f'Saved the profile "reviewer": {path}\n{next_step}\n')
    text = (
        "---\nname: reviewer\nprovider: zai\nmodel: m-small\nthinkingLevel: high\ntools: read,grep\n---\n"
        "\nYou review.\n\n  Thoroughly.\n"
    )
    assert path.read_text() == text
    assert "model: m-small" in machine.run("profile", "show", "reviewer").stdout

    path.write_text(text.replace("model: m-small", "model: m-small # cheap"))
    edited = Typist(machine, "profile", "edit", "reviewer", "--api-key")
    # key, scope, provider, another model, everything else as it is
    assert edited.answer(KEY, "", "", "another", "m-tiny", "keep", "", "", "", "", "", "", "") == 0
    assert KEY not in edited.screen
    assert "apiKey: sk-t****bc123" in edited.screen
    assert path.read_text() == text.replace("m-small", "m-tiny # cheap").replace(
        "read,grep\n", f"read,grep\napiKey: {KEY}\n"
    )
    assert path.stat().st_mode & 0o777 == 0o600

    refused = Typist(machine, "profile", "delete", "reviewer")
    assert refused.answer("") == 1
    assert path.exists()
    deleted = Typist(machine, "profile", "delete")
    assert deleted.answer("reviewer", "y") == 0
    assert not path.exists()


def test_leaving_writes_nothing_and_says_so(machine: Machine) -> None:
    for key in (CTRL_C, CTRL_D):
        left = Typist(machine, "profile", "create", "x")
        assert left.answer("2", "anthropic", key) == 1
        assert left.screen.endswith("Cancelled. Nothing was changed.\n")
        assert "Traceback" not in left.screen
    assert not (machine.project / ".pi").exists()


def test_escape_leads_back_or_out_and_other_keys_are_no_escape(machine: Machine) -> None:
    typist = Typist(machine, "profile", "create", "x")
    # scope, provider, model after a key with an arrow on it, then Esc and back to the model
    up = "\x1b[A"
    assert typist.answer("2", "", f"m{up}-small", ESC, "← Back", "", ESC, "") == 1
    assert typist.screen.count("Step 3 of 10: Model") == 2
    assert "[m-small]: " in typist.screen
    assert typist.screen.endswith("Cancelled. Nothing was changed.\n")
    first = Typist(machine, "profile", "create", "x")
    assert first.answer(ESC) == 1
    assert "Leave without saving?" not in first.screen
    assert "^[" not in first.screen.replace("^[\b\b  \b\b", "")  # the terminal shows it, and it is wiped out
    assert not (machine.project / ".pi").exists()


def test_a_description_is_saved_shown_and_listed(machine: Machine) -> None:
    machine.add_pi()
    made = machine.run("profile", "create", "x", "--model", "m-samll", "--description", "Reviews code, all of it.")
    assert 'warning: Unknown model: "m-samll". Did you mean "zai/m-small"?' in made.stderr
    assert 'description: "Reviews code, all of it."\n' in path_of(machine, "x").read_text()
    assert machine.run("profile", "list").stdout == "profile: x, model=m-samll  [project]\n  Reviews code, all of it.\n"
    assert "description: Reviews code, all of it.\n" in machine.run("profile", "show", "x").stdout


def test_without_a_list_of_models_and_with_a_mistake_at_a_prompt_the_wizard_goes_on(machine: Machine) -> None:
    typist = Typist(machine, "profile", "create")
    assert typist.answer("x", "7", "project", "", "my/model", "perhaps", "", "", "", "", "", "", "") == 0
    assert "Type a number from 1 to 2." in typist.screen
    assert "Type a number from 1 to 3." in typist.screen
    assert path_of(machine, "x").read_text() == "---\nname: x\nmodel: my/model\n---\n"


def test_a_name_that_will_not_do_is_asked_for_again_and_enter_leaves(machine: Machine) -> None:
    typist = Typist(machine, "profile", "create")
    assert typist.answer("my profile", "") == 1
    question = "Name of the new profile\nText, such as reviewer (Enter leaves): "
    reason = 'The name "my profile" may only contain letters, digits, "-" and "_".'
    assert f"{question}my profile\n\n{reason}\n{question}" in typist.screen
    assert typist.screen.endswith("Cancelled. Nothing was changed.\n")


def test_a_prompt_is_written_in_the_editor_of_the_person(machine: Machine) -> None:
    machine.add_program("my-editor", '#!/bin/sh\nread -r line <"$1"\nprintf "%s Edited." "$line" >"$1"\n')
    path = machine.write(path_of(machine, "x"), "---\nname: x\n---\nBefore.\n")
    edited = Typist(machine, "profile", "edit", "x", VISUAL="my-editor")
    assert edited.answer("", "", "", "y", "", "", "", "", "", "") == 0
    assert path.read_text() == "---\nname: x\n---\n\nBefore. Edited.\n"
    typed = Typist(machine, "profile", "edit", "x", EDITOR="no-such-editor")
    assert typed.answer("", "", "", "y", "By hand.", ".", "", "", "", "", "", "") == 0
    assert "warning: no-such-editor: Editing failed" in typed.screen
    assert path.read_text() == "---\nname: x\n---\n\nBy hand.\n"


def test_without_a_terminal_the_wizard_says_what_to_do_instead(machine: Machine) -> None:
    path = machine.write(path_of(machine, "x"), "---\nname: x\n---\n")
    for action, instead in (("create", "--model, --agent or --from"), ("edit", "edit the file"), ("delete", "--yes")):
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
    assert "choose one with --scope" in unclear.stderr
    assert machine.run("profile", "delete", "copy", "--yes", "--scope", "project").stdout == f"deleted {path}\n"
    assert not path.exists()
    assert (machine.agent_dir / "agent-profiles" / "copy.md").exists()


def test_a_script_can_create_a_profile_of_another_agent_whose_models_are_its_own(machine: Machine) -> None:
    done = machine.run("profile", "create", "deep", "--agent", "claude", "--model", "opus")
    path = path_of(machine, "deep")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"wrote {path}\n", "")
    assert path.read_text() == "---\nname: deep\nmodel: opus\nagent: claude\n---\n"
    assert "profile: deep, agent=claude, model=opus" in machine.run("profile", "list").stdout
    source = machine.write(machine.root / "t.md", "---\nname: t\nmaxTurns: 3\n---\n")
    odd = machine.run("profile", "create", "odd", "--agent", "codex", "--from", str(source))
    assert 'warning: Profile "odd" sets "maxTurns", which the agent "codex" does not support' in odd.stderr
    assert (odd.returncode, path_of(machine, "odd").exists()) == (0, True)
