"""`preset`, `init` and `models`."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pytest

from pi_subagents.examples import EXAMPLE_AGENTS, EXAMPLE_PRESETS, EXAMPLE_PROMPTS
from pi_subagents.harness import harness_named
from pi_subagents.harness.programs import PACKAGES
from pi_subagents.profiles import PRESET, PROFILE, load_presets, read_profile
from tests.kit.command import called
from tests.surfaces.cli.machine import TWO_MODELS, Machine

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
    document = json.loads(machine.run("preset", "list", "--json").stdout)
    (preset,) = document["presets"]
    assert (preset["name"], preset["description"], preset["scope"]) == ("good", "Does good.", "global")
    assert preset["path"] == str(machine.agent_dir / "subagents" / "good.md")
    assert [problem["line"] for problem in document["broken"]] == [1]


def test_without_presets_the_list_says_how_to_get_some(machine: Machine) -> None:
    done = machine.run("preset", "list")
    assert done.stdout.startswith("No presets found.")
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
    everywhere = machine.run("preset", "new", "scout", "--global")
    assert everywhere.stdout == f"{machine.agent_dir}/subagents/scout.md\n"


def test_a_new_preset_with_its_comments_taken_away_can_be_used_too(machine: Machine) -> None:
    machine.run("preset", "new", "scout")
    path = machine.project / ".pi" / "subagents" / "scout.md"
    fields = ("# model:", "# tools:", "# thinkingLevel:", "# timeout:")
    lines = [line[2:] if line.startswith(fields) else line for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines))
    preset, warnings = read_profile(path, kind=PRESET)
    assert (preset.model, preset.timeout_s, warnings) == ("provider/id", 600, [])
    assert preset.tools == ("read", "grep", "find", "ls")


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
    assert "wrote" not in machine.run("init").stdout
    assert "have no model yet" in done.stderr
    assert "edit the line `# model: provider/id` in the preset; 'pi-subagents models' lists the choices" in done.stderr
    assert done.returncode == 0


def test_one_kind_alone_can_be_asked_for_and_either_can_be_for_all_projects(machine: Machine) -> None:
    machine.run("init", "--global", "--presets")
    assert (names(machine.agent_dir / "prompts"), names(machine.agent_dir / "subagents")) == ([], PRESETS)
    machine.run("init", "--global")
    assert names(machine.agent_dir / "prompts") == PROMPTS
    assert not (machine.project / ".pi").exists()
    machine.run("init", "--prompts")
    assert names(machine.project / ".pi") == ["prompts"]


def test_what_is_there_stays_as_it_is(machine: Machine) -> None:
    mine = "---\nname: scout\ndescription: Mine.\n---\n"
    renamed = machine.write(machine.project / ".pi" / "subagents" / "my-scout.md", mine)
    prompt = machine.write(machine.project / ".pi" / "prompts" / PROMPTS[0], "mine")
    done = machine.run("init")
    assert f"kept  {renamed} (already exists)" in done.stdout
    assert f"kept  {prompt} (already exists)" in done.stdout
    assert (renamed.read_text(), prompt.read_text()) == (mine, "mine")
    assert not (machine.project / ".pi" / "subagents" / "scout.md").exists()


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


_MODELS = TWO_MODELS.replace("m-large", "claude-sonnet-4-5").replace("m-small", "glm-4.6")


@pytest.mark.parametrize(
    ("search", "hint"),
    [
        ("sonet", 'Did you mean "sonnet"?'),
        ("cluade-sonnet-4-5", 'Did you mean "anthropic/claude-sonnet-4-5"?'),
        ("xyzzy", "To list all of them: pi-subagents models"),
    ],
)
def test_a_search_without_a_result_says_what_to_try(machine: Machine, search: str, hint: str) -> None:
    machine.add_pi(models=_MODELS)
    done = machine.run("models", search)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f'error: No model matches "{search}". {hint}\n'


AGENTS = sorted(PACKAGES)


@pytest.mark.parametrize("name", AGENTS)
def test_an_example_profile_of_an_agent_can_be_used_as_it_stands_and_with_its_comments_taken_away(
    name: str, tmp_path: Path
) -> None:
    lines = (EXAMPLE_AGENTS / f"{name}.md").read_text(encoding="utf-8").splitlines()
    own_settings = "# inherit: true"
    assert own_settings in lines
    restricted = [_without_comment(line) for line in lines if line != own_settings]
    inheriting = [_without_comment(line) if line == own_settings else line for line in lines]
    harness = harness_named(name)
    for number, text in enumerate((lines, restricted, inheriting)):
        path = tmp_path / f"{number}.md"
        path.write_text("\n".join(text), encoding="utf-8")
        profile, warnings = read_profile(path)
        assert (profile.name, profile.agent, warnings) == (name, name, [])
        assert harness.refuses(profile) is None
        assert not list(harness.unknown_tools(profile, tmp_path, tmp_path))
        asked = {field.attribute for field in PROFILE.fields.values() if field.of(profile)}
        assert asked - {"name", "description", "agent"} <= harness.honours
        assert profile.inherit is (text is inheriting)
        assert profile.model or text is not restricted, "its comments show how a model is named"


def _without_comment(line: str) -> str:
    return line[2:] if line.startswith(tuple(f"# {key}: " for key in PROFILE.fields)) else line


def test_a_profile_is_written_for_each_agent_that_is_here_and_none_is_overwritten(machine: Machine) -> None:
    machine.add_program("claude")
    machine.variables["PI_SUBAGENTS_GEMINI"] = str(machine.add_program("gemini", folder=machine.root / "opt"))
    folder = machine.project / ".pi" / "agent-profiles"
    mine = machine.write(folder / "my-claude.md", "---\nname: claude\nagent: claude\n---\n")
    done = machine.run("init", "--agents")
    assert names(machine.project / ".pi") == ["agent-profiles"]
    assert names(folder) == ["gemini.md", "my-claude.md"]
    assert done.stdout.splitlines() == [f"kept  {mine} (already exists)", f"wrote {folder}/gemini.md"]
    assert "work only in a project that you trust: pi-subagents trust" in done.stderr
    assert "trust" not in machine.run("init", "--agents", "--global").stderr
    assert names(machine.agent_dir / "agent-profiles") == ["claude.md", "gemini.md"]


def test_an_agent_without_an_example_is_left_out(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(machine.project)
    monkeypatch.setenv("PATH", str(machine.add_program("claude").parent))
    machine.add_program("gemini")
    (tmp_path / "claude.md").write_text("---\nname: claude\nagent: claude\n---\n")
    monkeypatch.setattr(import_module("pi_subagents.surfaces.cli.init"), "EXAMPLE_AGENTS", tmp_path)
    assert called("init", "--agents").exit_code == 0
    assert names(machine.project / ".pi" / "agent-profiles") == ["claude.md"]


def test_where_no_other_agent_is_here_it_says_how_to_get_one(machine: Machine) -> None:
    done = machine.run("init", "--agents")
    assert (done.returncode, done.stdout) == (0, "")
    assert "pi-subagents install-agent claude" in done.stderr
    assert not (machine.project / ".pi").exists()
