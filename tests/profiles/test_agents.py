"""An agent is found by its name, whichever kind of file holds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.profiles import PRESET, PROFILE, Format, UnknownProfile, all_agents, find_agent


class Files:
    """A project and an agent directory with profiles and presets."""

    def __init__(self, root: Path) -> None:
        self.project, self.agent_dir = root / "project", root / "agent"
        (self.project / ".pi").mkdir(parents=True)

    def write(self, kind: Format, name: str, *fields: str, scope: str = "project") -> Path:
        base = self.agent_dir if scope == "global" else self.project / ".pi"
        path = base / kind.folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(["---", f"name: {name}", "description: d", *fields, "---", f"The {kind.word}."]))
        return path

    def find(self, name: str, asked: Format) -> str:
        agent = find_agent(name, asked, self.project, self.agent_dir)
        return f"{agent.profile.scope} {agent.kind.word}"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_what_is_asked_for_goes_before_the_other_kind(files: Files) -> None:
    files.write(PROFILE, "both")
    files.write(PRESET, "both")
    assert files.find("both", PROFILE) == "project profile"
    assert files.find("both", PRESET) == "project preset"


def test_a_preset_is_found_where_a_profile_is_asked_for_and_the_other_way_round(files: Files) -> None:
    files.write(PRESET, "scout")
    files.write(PROFILE, "reviewer")
    assert files.find("scout", PROFILE) == "project preset"
    assert files.find("reviewer", PRESET) == "project profile"


def test_a_projects_file_of_the_other_kind_does_not_replace_the_users_own(files: Files) -> None:
    files.write(PROFILE, "reviewer", scope="global")
    files.write(PRESET, "reviewer")
    assert files.find("reviewer", PROFILE) == "global profile"


def test_a_broken_file_is_not_passed_over_for_one_of_the_other_kind(files: Files) -> None:
    files.write(PROFILE, "reviewer", "noTools: perhaps")
    files.write(PRESET, "reviewer")
    with pytest.raises(UnknownProfile, match='Profile "reviewer" cannot be used'):
        files.find("reviewer", PROFILE)


def test_an_unknown_name_lists_the_kind_that_was_asked_for_and_hints_at_both(files: Files) -> None:
    files.write(PRESET, "scout")
    files.write(PROFILE, "writer")
    with pytest.raises(UnknownProfile) as caught:
        files.find("scuot", PROFILE)
    assert str(caught.value) == 'Unknown profile: "scuot". Available profiles: writer'
    assert caught.value.hint == ' Available presets: scout. Did you mean "scout"?'


def test_all_agents_are_listed_by_name_a_profile_before_a_preset(files: Files) -> None:
    files.write(PRESET, "b")
    files.write(PROFILE, "b")
    files.write(PRESET, "a", scope="global")
    found = all_agents(files.project, files.agent_dir)
    assert [(agent.profile.name, agent.kind.word) for agent in found] == [
        ("a", "preset"),
        ("b", "profile"),
        ("b", "preset"),
    ]
