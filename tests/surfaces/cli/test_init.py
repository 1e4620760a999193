"""`init`: examples are copied when somebody asks for them, and overwrite nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.examples import EXAMPLE_PRESETS, EXAMPLE_PROMPTS
from pi_subagents.profiles import PRESET, load_presets, read_profile
from tests.surfaces.cli.machine import Machine

PRESETS = sorted(path.name for path in EXAMPLE_PRESETS.glob("*.md"))
PROMPTS = sorted(path.name for path in EXAMPLE_PROMPTS.glob("*.md"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_examples_are_where_the_project_and_pi_look_for_them(machine: Machine) -> None:
    done = machine.run("init")
    assert names(machine.project / ".pi" / "subagents") == PRESETS
    assert names(machine.project / ".pi" / "prompts") == PROMPTS
    assert {line.removeprefix("wrote ") for line in done.stdout.splitlines()} == {
        *(f"{machine.project}/.pi/subagents/{name}" for name in PRESETS),
        *(f"{machine.project}/.pi/prompts/{name}" for name in PROMPTS),
    }
    assert "have no model yet" in done.stderr
    assert "edit the line `# model: provider/id` in the preset; 'pi-subagents models' lists the choices" in done.stderr
    assert done.returncode == 0


def test_one_kind_alone_can_be_asked_for(machine: Machine) -> None:
    machine.run("init", "--prompts")
    assert names(machine.project / ".pi") == ["prompts"]
    machine.run("init", "--presets")
    assert names(machine.project / ".pi") == ["prompts", "subagents"]


def test_they_can_be_for_all_projects(machine: Machine) -> None:
    machine.run("init", "--global")
    assert names(machine.agent_dir / "prompts") == PROMPTS
    assert names(machine.agent_dir / "subagents") == PRESETS
    assert not (machine.project / ".pi").exists()


def test_what_is_there_stays_as_it_is(machine: Machine) -> None:
    mine = "---\nname: scout\ndescription: Mine.\n---\n"
    renamed = machine.write(machine.project / ".pi" / "subagents" / "my-scout.md", mine)
    prompt = machine.write(machine.project / ".pi" / "prompts" / PROMPTS[0], "mine")
    done = machine.run("init")
    assert f"kept  {renamed} (already exists)" in done.stdout
    assert f"kept  {prompt} (already exists)" in done.stdout
    assert (renamed.read_text(), prompt.read_text()) == (mine, "mine")
    assert not (machine.project / ".pi" / "subagents" / "scout.md").exists()


def test_twice_changes_nothing(machine: Machine) -> None:
    machine.run("init")
    done = machine.run("init")
    assert done.returncode == 0
    assert "wrote" not in done.stdout


def test_a_model_can_be_given_to_all_presets_and_is_checked(machine: Machine) -> None:
    machine.add_pi()
    wrong = machine.run("init", "--model", "m-larg")
    assert 'Did you mean "anthropic/m-large"?' in wrong.stderr
    assert wrong.returncode == 1
    assert not (machine.project / ".pi").exists()
    machine.run("init", "--model", "m-large")
    found = load_presets(machine.project, machine.agent_dir).profiles.values()
    assert {preset.model for preset in found} == {"anthropic/m-large"}
    assert len(found) == len(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_an_example_preset_can_be_used_as_it_stands(name: str) -> None:
    preset, warnings = read_profile(EXAMPLE_PRESETS / name, kind=PRESET)
    assert f"{preset.name}.md" == name
    assert preset.append_system_prompt
    assert preset.model is None, "nobody knows which models its user has"
    assert not warnings


@pytest.mark.parametrize("name", PROMPTS)
def test_an_example_prompt_names_presets_that_come_with_it_and_no_mode_that_does_not_exist(name: str) -> None:
    text = (EXAMPLE_PROMPTS / name).read_text(encoding="utf-8")
    assert "`subagent`" in text
    assert "chain" not in text.lower()
    assert any(f"`{Path(preset).stem}`" in text for preset in PRESETS)
    assert text.startswith("---\ndescription: ")


def test_none_is_in_force_before_it_was_copied(machine: Machine) -> None:
    assert machine.run("preset", "list").stdout.startswith("No presets found.")
