"""`preset list`, `preset show` and `preset new`."""

from __future__ import annotations

import json

from pi_subagents.profiles import PRESET, read_profile
from tests.surfaces.cli.machine import Machine

KEY = "sk-test-abc123"
GOOD = f"---\nname: good\ndescription: Does good.\nmodel: a/b\ntools: read\napiKey: {KEY}\n---\nYou are good.\n"


def furnished(machine: Machine) -> Machine:
    machine.write(machine.agent_dir / "subagents" / "good.md", GOOD)
    machine.write(machine.project / ".pi" / "subagents" / "bad.md", "---\nname: bad\n---\n")
    return machine


def test_the_list_has_every_preset_with_its_description_and_names_a_broken_file(machine: Machine) -> None:
    done = furnished(machine).run("preset", "list")
    assert done.stdout.splitlines() == [
        "preset: good, model=a/b, appended-system-prompt, tools=[read]  [global]",
        "  Does good.",
    ]
    assert f"✗ {machine.project}/.pi/subagents/bad.md:1: has no description" in done.stderr
    assert done.returncode == 0


def test_the_list_as_json_has_the_same(machine: Machine) -> None:
    document = json.loads(furnished(machine).run("preset", "list", "--json").stdout)
    (preset,) = document["presets"]
    assert (preset["name"], preset["description"], preset["scope"]) == ("good", "Does good.", "global")
    assert preset["path"] == str(machine.agent_dir / "subagents" / "good.md")
    assert [problem["line"] for problem in document["broken"]] == [1]


def test_without_presets_the_list_says_how_to_get_some(machine: Machine) -> None:
    done = machine.run("preset", "list")
    assert "pi-subagents preset new NAME" in done.stdout
    assert "pi-subagents init --presets" in done.stdout
    assert done.returncode == 0


def test_showing_a_preset_masks_its_key(machine: Machine) -> None:
    for arguments in (("preset", "show", "good"), ("preset", "show", "good", "--json")):
        done = furnished(machine).run(*arguments)
        assert "sk-t****bc123" in done.stdout
        assert KEY not in done.stdout + done.stderr
        assert "You are good." in done.stdout


def test_showing_what_is_not_there_is_one_sentence_and_exit_code_one(machine: Machine) -> None:
    done = furnished(machine).run("preset", "show", "x")
    assert (done.stderr, done.returncode) == ('error: Unknown preset: "x". Available presets: good\n', 1)


def test_a_new_preset_is_the_projects_and_can_be_used_as_it_stands(machine: Machine) -> None:
    done = machine.run("preset", "new", "scout")
    path = machine.project / ".pi" / "subagents" / "scout.md"
    assert done.stdout == f"{path}\n"
    preset, warnings = read_profile(path, kind=PRESET)
    assert (preset.name, preset.model, preset.tools, warnings) == ("scout", None, None, [])
    assert "# model: provider/id" in path.read_text()


def test_a_new_preset_with_its_comments_taken_away_can_be_used_too(machine: Machine) -> None:
    machine.run("preset", "new", "scout")
    path = machine.project / ".pi" / "subagents" / "scout.md"
    fields = ("# model:", "# tools:", "# thinkingLevel:", "# timeout:")
    lines = [line[2:] if line.startswith(fields) else line for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines))
    preset, warnings = read_profile(path, kind=PRESET)
    assert (preset.model, preset.timeout_s, warnings) == ("provider/id", 600, [])
    assert preset.tools == ("read", "grep", "find", "ls")


def test_a_new_preset_can_be_for_all_projects(machine: Machine) -> None:
    done = machine.run("preset", "new", "scout", "--global")
    assert done.stdout == f"{machine.agent_dir}/subagents/scout.md\n"


def test_a_preset_that_is_there_is_not_overwritten(machine: Machine) -> None:
    path = machine.write(machine.project / ".pi" / "subagents" / "scout.md", GOOD)
    done = machine.run("preset", "new", "scout")
    assert (done.stdout, done.returncode) == ("", 1)
    assert done.stderr == f'error: A preset "scout" already exists: {path}\n'
    assert path.read_text() == GOOD


def test_a_name_that_is_none_is_refused(machine: Machine) -> None:
    done = machine.run("preset", "new", "../x")
    assert done.returncode == 1
    assert "may only contain letters" in done.stderr
