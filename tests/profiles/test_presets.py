"""Presets: where they are found, what they must say, and what their body means."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.errors import ProfileError
from pi_subagents.models import Profile
from pi_subagents.profiles import (
    PRESET,
    create_preset,
    invalidate_profiles_cache,
    presets_dir,
    profile_summary,
    read_profile,
)
from tests.profiles.kit import Place, text_of


def read(tmp_path: Path, text: str) -> Profile:
    path = tmp_path / "p.md"
    path.write_text(text)
    return read_profile(path, "project", PRESET)[0]


def test_the_body_is_added_to_the_system_prompt_and_replaces_nothing(tmp_path: Path) -> None:
    preset = read(tmp_path, text_of("p", "model: a/b", "tools: read,grep", body="\nYou scout.\n"))
    assert (preset.append_system_prompt, preset.system_prompt) == ("You scout.", None)
    assert (preset.name, preset.description, preset.model) == ("p", "About p", "a/b")
    assert preset.tools == ("read", "grep")
    both = read(tmp_path, text_of("p", "appendSystemPrompt: First.", body="Second."))
    assert both.append_system_prompt == "First.\n\nSecond."
    assert read(tmp_path, text_of("p")).append_system_prompt is None


def test_every_field_of_a_profile_works_in_a_preset(tmp_path: Path) -> None:
    lines = ("thinkingLevel: high", "noSkills: true", "extraArgs: [--a]", "resumeMode: native", "apiKey: sk-123")
    preset = read(tmp_path, text_of("p", *lines))
    assert (preset.thinking_level, preset.no_skills, preset.extra_args) == ("high", True, ("--a",))
    assert preset.resume_mode == "native"
    assert preset.api_key is not None


def test_a_preset_has_a_timeout_and_a_profile_has_none(tmp_path: Path) -> None:
    text = text_of("p", "timeout: 90.5")
    assert read(tmp_path, text).timeout_s == 90.5
    profile, warnings = read_profile(tmp_path / "p.md")
    assert profile.timeout_s is None
    assert warnings == [f'{tmp_path}/p.md:4: unknown field "timeout" is ignored']


@pytest.mark.parametrize("value", ["soon", "0", "-5", "'60'", ".inf", "[60]", ""])
def test_a_timeout_that_is_no_time_breaks_the_file_on_its_line(tmp_path: Path, value: str) -> None:
    with pytest.raises(ProfileError) as caught:
        read(tmp_path, text_of("p", f"timeout: {value}"))
    assert str(caught.value) == f'{tmp_path}/p.md:4: "timeout" must be a number of seconds, at least 1'


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("---\ndescription: d\n---\n", "name"),
        ("---\nname: p\n---\n", "description"),
        ("---\nname: p\ndescription:\n---\n", "description"),
    ],
)
def test_a_preset_without_name_or_description_is_broken(tmp_path: Path, text: str, missing: str) -> None:
    with pytest.raises(ProfileError) as caught:
        read(tmp_path, text)
    assert str(caught.value) == f'{tmp_path}/p.md:1: has no {missing}; add a line "{missing}: …"'


def create(place: Place, name: str, text: str) -> Path:
    return create_preset(name, text, "project", cwd=place.cwd, agent_dir=place.agent_dir)


@pytest.fixture
def far(place: Place) -> Path:
    """A directory above the project that has presets."""
    folder = place.above / ".pi" / "subagents"
    folder.mkdir(parents=True)
    (folder / "far.md").write_text(text_of("far"))
    return folder


def test_only_the_nearest_directory_with_presets_counts_and_ours_for_runs_is_none(place: Place, far: Path) -> None:
    (place.folder(kind=PRESET) / "runs").mkdir(parents=True)
    (place.folder(kind=PRESET) / "notes.txt").write_text("no preset")
    assert list(place.load(PRESET).profiles) == ["far"]
    invalidate_profiles_cache()
    place.add("near", kind=PRESET)
    assert list(place.load(PRESET).profiles) == ["near"]


def test_a_new_preset_goes_to_where_the_projects_presets_are_and_is_seen_at_once(place: Place, far: Path) -> None:
    place.load(PRESET)
    assert create(place, "mine", text_of("mine")).parent == far  # a directory nearer by would hide the others
    assert list(place.load(PRESET).profiles) == ["far", "mine"]


def test_the_first_preset_of_a_project_goes_to_its_root(place: Place) -> None:
    below = place.cwd / "src"
    below.mkdir()
    assert presets_dir("project", below, place.agent_dir) == place.cwd / ".pi" / "subagents"


def test_a_new_preset_never_takes_the_place_of_another_nor_leaves_its_directory(place: Place) -> None:
    path = place.write(text_of("mine"), "other-file.md", kind=PRESET)
    before = path.read_text()
    with pytest.raises(ProfileError, match=f'A preset "mine" already exists: {path}'):
        create(place, "mine", text_of("mine"))
    with pytest.raises(ProfileError, match="A preset"):
        create(place, "other-file", "x")
    assert path.read_text() == before
    with pytest.raises(ProfileError, match="may only contain letters"):
        create(place, "../x", "x")


def test_the_summary_of_a_preset_calls_it_one(tmp_path: Path) -> None:
    preset = read(tmp_path, text_of("p", "model: a/b", "tools: read", body="Text."))
    assert profile_summary(preset, PRESET) == "preset: p, model=a/b, appended-system-prompt, tools=[read]"
