"""Presets: where they are found, what they must say, and what their body means."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.errors import ProfileError
from pi_subagents.models import Profile
from pi_subagents.profiles import (
    PRESET,
    ProfileCatalog,
    UnknownProfile,
    create_preset,
    invalidate_profiles_cache,
    load_presets,
    load_profiles,
    presets_dir,
    profile_summary,
    read_profile,
)


class Place:
    """A project below a folder that may have presets too, and an agent directory."""

    def __init__(self, root: Path) -> None:
        self.above = root / "above"
        self.cwd = self.above / "project"
        self.agent_dir = root / "agent"
        (self.cwd / ".git").mkdir(parents=True)
        self.time = 0.0

    def write(self, folder: Path, name: str, text: str) -> Path:
        base = folder if folder == self.agent_dir else folder / ".pi"
        path = base / "subagents" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def add(self, folder: Path, name: str, *lines: str, body: str = "") -> Path:
        return self.write(folder, name, preset_text(name, *lines, body=body))

    def load(self, cwd: Path | None = None) -> ProfileCatalog:
        return load_presets(cwd or self.cwd, self.agent_dir, now=lambda: self.time)


def preset_text(name: str, *lines: str, body: str = "") -> str:
    return "\n".join(["---", f"name: {name}", f"description: About {name}", *lines, "---", body])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    invalidate_profiles_cache()
    return Place(tmp_path)


def read(tmp_path: Path, text: str) -> Profile:
    path = tmp_path / "p.md"
    path.write_text(text)
    return read_profile(path, "project", PRESET)[0]


def test_the_body_is_added_to_the_system_prompt_and_replaces_nothing(tmp_path: Path) -> None:
    preset = read(tmp_path, preset_text("p", "model: a/b", "tools: read,grep", body="\nYou scout.\n"))
    assert (preset.append_system_prompt, preset.system_prompt) == ("You scout.", None)
    assert (preset.name, preset.description, preset.model, preset.tools) == (
        "p",
        "About p",
        "a/b",
        ("read", "grep"),
    )


def test_the_body_follows_the_field_that_adds_to_the_system_prompt_too(tmp_path: Path) -> None:
    preset = read(tmp_path, preset_text("p", "appendSystemPrompt: First.", body="Second."))
    assert preset.append_system_prompt == "First.\n\nSecond."


def test_without_a_body_nothing_is_added(tmp_path: Path) -> None:
    assert read(tmp_path, preset_text("p")).append_system_prompt is None


def test_every_field_of_a_profile_works_in_a_preset(tmp_path: Path) -> None:
    lines = ("thinkingLevel: high", "noSkills: true", "extraArgs: [--a]", "resumeMode: native", "apiKey: sk-123")
    preset = read(tmp_path, preset_text("p", *lines))
    assert (preset.thinking_level, preset.no_skills, preset.extra_args) == ("high", True, ("--a",))
    assert preset.resume_mode == "native"
    assert preset.api_key is not None


def test_a_preset_has_a_timeout_and_a_profile_has_none(tmp_path: Path) -> None:
    text = preset_text("p", "timeout: 90.5")
    assert read(tmp_path, text).timeout_s == 90.5
    profile, warnings = read_profile(tmp_path / "p.md")
    assert profile.timeout_s is None
    assert warnings == [f'{tmp_path}/p.md:4: unknown field "timeout" is ignored']


@pytest.mark.parametrize("value", ["soon", "0", "-5", "'60'", ".inf", "[60]", ""])
def test_a_timeout_that_is_no_time_breaks_the_file_on_its_line(tmp_path: Path, value: str) -> None:
    with pytest.raises(ProfileError) as caught:
        read(tmp_path, preset_text("p", f"timeout: {value}"))
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


def test_the_projects_preset_overrides_the_global_one_of_its_name(place: Place) -> None:
    place.add(place.agent_dir, "b", "model: global")
    place.add(place.agent_dir, "c", "model: global")
    place.add(place.cwd, "b", "model: project")
    found = {name: (preset.model, preset.scope) for name, preset in place.load().profiles.items()}
    assert found == {"b": ("project", "project"), "c": ("global", "global")}


def test_only_the_nearest_directory_with_presets_counts(place: Place) -> None:
    place.add(place.above, "far")
    assert list(place.load().profiles) == ["far"]
    invalidate_profiles_cache()
    place.add(place.cwd, "near")
    below = place.cwd / "src" / "deep"
    below.mkdir(parents=True)
    assert list(place.load(below).profiles) == ["near"]


def test_the_directory_of_our_own_runs_does_not_hide_an_ancestors_presets(place: Place) -> None:
    place.add(place.above, "far")
    (place.cwd / ".pi" / "subagents" / "runs").mkdir(parents=True)
    (place.cwd / ".pi" / "subagents" / "notes.txt").write_text("no preset")
    assert list(place.load().profiles) == ["far"]


def test_an_unknown_preset_is_told_which_there_are(place: Place) -> None:
    place.add(place.agent_dir, "writer")
    place.add(place.cwd, "scout")
    with pytest.raises(UnknownProfile) as caught:
        place.load().resolve("x")
    assert str(caught.value) == 'Unknown preset: "x". Available presets: scout, writer'


def test_an_unknown_preset_where_there_are_none_is_told_so(place: Place) -> None:
    with pytest.raises(UnknownProfile) as caught:
        place.load().resolve("x")
    assert str(caught.value) == 'Unknown preset: "x". Available presets: (none)'


def test_a_broken_file_hides_no_other_and_says_what_is_wrong_when_it_is_asked_for(place: Place) -> None:
    place.add(place.cwd, "good")
    path = place.write(place.cwd, "bad", "---\nname: bad\n---\n")
    catalog = place.load()
    assert list(catalog.profiles) == ["good"]
    assert [str(broken) for broken in catalog.broken] == [f'{path}:1: has no description; add a line "description: …"']
    with pytest.raises(UnknownProfile) as caught:
        catalog.resolve("bad")
    assert str(caught.value).startswith(f'Preset "bad" cannot be used: {path}:1: ')


def test_presets_and_profiles_are_kept_apart(place: Place) -> None:
    place.add(place.agent_dir, "preset")
    folder = place.agent_dir / "agent-profiles"
    folder.mkdir()
    (folder / "profile.md").write_text("---\nname: profile\n---\n")
    assert list(place.load().profiles) == ["preset"]
    assert list(load_profiles(place.cwd, place.agent_dir).profiles) == ["profile"]


def test_presets_are_read_again_only_after_five_seconds(place: Place) -> None:
    place.add(place.cwd, "a")
    first = place.load()
    place.add(place.cwd, "b")
    place.time = 4.999
    assert place.load() is first
    place.time = 5.0
    assert list(place.load().profiles) == ["a", "b"]


def test_a_new_preset_goes_to_where_the_projects_presets_are_and_is_seen_at_once(place: Place) -> None:
    place.add(place.above, "far")
    place.load()
    path = create_preset("mine", preset_text("mine"), "project", cwd=place.cwd, agent_dir=place.agent_dir)
    assert path.parent == place.above / ".pi" / "subagents"  # a directory nearer by would hide the others
    assert list(place.load().profiles) == ["far", "mine"]


def test_the_first_preset_of_a_project_goes_to_its_root(place: Place) -> None:
    below = place.cwd / "src"
    below.mkdir()
    assert presets_dir("project", below, place.agent_dir) == place.cwd / ".pi" / "subagents"


def test_a_new_preset_never_takes_the_place_of_another(place: Place) -> None:
    path = place.write(place.cwd, "other-file", preset_text("mine"))
    before = path.read_text()
    with pytest.raises(ProfileError, match=f'A preset "mine" already exists: {path}'):
        create_preset("mine", preset_text("mine"), "project", cwd=place.cwd, agent_dir=place.agent_dir)
    with pytest.raises(ProfileError, match="A preset"):
        create_preset("other-file", "x", "project", cwd=place.cwd, agent_dir=place.agent_dir)
    assert path.read_text() == before


def test_a_preset_cannot_be_named_out_of_its_directory(place: Place) -> None:
    with pytest.raises(ProfileError, match="may only contain letters"):
        create_preset("../x", "x", "project", cwd=place.cwd, agent_dir=place.agent_dir)


def test_the_summary_of_a_preset_calls_it_one(tmp_path: Path) -> None:
    preset = read(tmp_path, preset_text("p", "model: a/b", "tools: read", body="Text."))
    assert profile_summary(preset, PRESET) == "preset: p, model=a/b, appended-system-prompt, tools=[read]"
