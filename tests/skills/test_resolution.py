"""What a profile's skill names become, and the documented words for those that cannot be given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi_subagents.errors import ProfileError
from pi_subagents.models import Profile
from pi_subagents.skills import Skill, UnknownSkill, check_skills, needs_skills, resolve_skills


@pytest.fixture
def skills(tmp_path: Path) -> dict[str, Skill]:
    found = {}
    for name in ("skill-b", "skill-a"):
        path = tmp_path / name / "SKILL.md"
        path.parent.mkdir()
        path.write_text(f"---\nname: {name}\ndescription: d\n---\n\n# Use {name}\n\nText.\n\n")
        found[name] = Skill(name, path, "d")
    return found


def profile(**fields: Any) -> Profile:
    return Profile(name="name", **fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"suggested_skills": ("a",), "no_skills": True},
            'Profile "name" has both "suggestedSkills" and "noSkills" set. '
            "These are mutually exclusive — --no-skills would override --skill flags.",
        ),
        (
            {"load_skills": ("a",), "no_skills": True},
            'Profile "name" has both "loadSkills" and "noSkills" set. '
            "These are mutually exclusive — --no-skills disables skill discovery.",
        ),
    ],
)
def test_wanting_and_forbidding_skills_is_refused_in_the_documented_words(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ProfileError) as caught:
        check_skills(profile(**fields))
    assert str(caught.value) == message
    assert not isinstance(caught.value, UnknownSkill)


@pytest.mark.parametrize("fields", [{}, {"no_skills": True}, {"load_skills": ("a",)}])
def test_other_profiles_pass_the_check(fields: dict[str, Any]) -> None:
    check_skills(profile(**fields))


@pytest.mark.parametrize(
    ("fields", "unknown"),
    [
        ({"suggested_skills": ("bad-name",)}, '"bad-name"'),
        ({"load_skills": ("bad-name",)}, '"bad-name"'),
        ({"suggested_skills": ("x", "skill-a", "y")}, '"x", "y"'),
        ({"suggested_skills": ("x",), "load_skills": ("y", "x")}, '"x", "y"'),
    ],
)
def test_an_unknown_skill_is_named_beside_those_there_are(
    skills: dict[str, Skill], fields: dict[str, Any], unknown: str
) -> None:
    with pytest.raises(UnknownSkill) as caught:
        resolve_skills(profile(**fields), skills)
    assert str(caught.value) == f"Unknown skills: {unknown}. Available skills: skill-a, skill-b"


def test_an_unknown_skill_without_any_skill_says_none() -> None:
    with pytest.raises(UnknownSkill) as caught:
        resolve_skills(profile(load_skills=("bad-name",)), {})
    assert str(caught.value) == 'Unknown skills: "bad-name". Available skills: (none)'


def test_suggested_names_become_paths(skills: dict[str, Skill]) -> None:
    resolved = resolve_skills(profile(suggested_skills=("skill-b", "skill-a")), skills)
    assert resolved.suggested_skills == (str(skills["skill-b"].path), str(skills["skill-a"].path))
    assert resolved.append_system_prompt is None


def test_another_agent_is_told_where_a_suggested_skill_really_is(skills: dict[str, Skill], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(skills["skill-a"].path.parent)
    skills["skill-a"] = Skill("skill-a", tmp_path / "link" / "SKILL.md", "d")
    resolved = resolve_skills(profile(suggested_skills=("skill-a",)), skills, by_path=False)
    path = str(tmp_path / "skill-a" / "SKILL.md")
    assert resolved.suggested_skills == (path,)
    assert f"<location>{path}</location>" in (resolved.append_system_prompt or "")


@pytest.mark.parametrize("is_link", [False, True])
def test_another_agent_gets_no_folder_to_read_that_is_not_the_skills_own(
    is_link: bool, skills: dict[str, Skill], tmp_path: Path
) -> None:
    path = tmp_path / "notes.md"
    skills["skill-a"].path.rename(path)
    if is_link:
        skills["skill-a"].path.symlink_to(path)
    else:
        skills["skill-a"] = Skill("skill-a", path, "d")
    resolved = resolve_skills(profile(suggested_skills=("skill-a",)), skills, by_path=False)
    assert resolved.suggested_skills is None
    assert resolved.append_system_prompt == '<loaded_skill name="skill-a">\n# Use skill-a\n\nText.\n</loaded_skill>'


@pytest.mark.parametrize("appended", [None, "Always validate.", "Always validate.\n"])
def test_loaded_skills_follow_the_appended_prompt_in_their_tags(skills: dict[str, Skill], appended: str | None) -> None:
    resolved = resolve_skills(profile(load_skills=("skill-a", "skill-b"), append_system_prompt=appended), skills)
    before = "Always validate.\n\n" if appended else ""
    assert resolved.append_system_prompt == (
        f'{before}<loaded_skill name="skill-a">\n# Use skill-a\n\nText.\n</loaded_skill>\n\n'
        '<loaded_skill name="skill-b">\n# Use skill-b\n\nText.\n</loaded_skill>'
    )
    assert resolved.load_skills is None


def test_a_skill_that_vanished_meanwhile_fails_its_task_with_its_path(skills: dict[str, Skill]) -> None:
    skills["skill-a"].path.unlink()
    with pytest.raises(UnknownSkill, match=r'Skill "skill-a" cannot be read: .*SKILL\.md'):
        resolve_skills(profile(load_skills=("skill-a",)), skills)


def test_a_profile_without_skills_is_left_as_it_is(skills: dict[str, Skill]) -> None:
    plain = profile(append_system_prompt="x")
    assert not needs_skills(plain)
    assert resolve_skills(plain, skills) is plain
