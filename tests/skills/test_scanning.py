"""Looking for skills comes to an end, whatever a directory leads to."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.skills import discover_skills
from pi_subagents.skills.files import skill_files


def write_skill(folder: Path, name: str) -> None:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: {name}\ndescription: d\n---\n")


def test_a_directory_of_too_many_folders_is_not_searched_to_its_end(tmp_path: Path) -> None:
    for number in range(2100):
        (tmp_path / f"{number:04}").mkdir()
    write_skill(tmp_path / "0001", "early")
    write_skill(tmp_path / "2099", "late")
    assert skill_files(tmp_path) == [tmp_path / "0001" / "early" / "SKILL.md"]


def test_a_projects_skills_are_not_looked_for_through_a_link_out_of_it(tmp_path: Path) -> None:
    write_skill(tmp_path / "elsewhere", "private")
    for name in (".pi", ".agents"):
        (tmp_path / "project" / name).mkdir(parents=True)
        (tmp_path / "project" / name / "skills").symlink_to(tmp_path / "elsewhere")
    assert discover_skills(tmp_path / "project", tmp_path / "agent", home=tmp_path / "home") == {}
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "skills").symlink_to(tmp_path / "elsewhere")
    found = discover_skills(tmp_path / "project", tmp_path / "agent", home=tmp_path / "home")
    assert list(found) == ["private"], "the user's own links are the user's own business"


def test_links_that_lead_back_up_make_no_endless_package(tmp_path: Path) -> None:
    package = tmp_path / "project" / "pkg"
    package.mkdir(parents=True)
    for name in "abcd":
        (package / name).symlink_to(".")
    (package / "package.json").write_text('{"pi": {"skills": ["' + "*/" * 19 + '*"]}}')
    (tmp_path / "project" / ".pi").mkdir()
    (tmp_path / "project" / ".pi" / "settings.json").write_text('{"packages": ["../pkg"]}')
    assert discover_skills(tmp_path / "project", tmp_path / "agent", home=tmp_path / "home") == {}


@pytest.mark.parametrize(
    "settings",
    [
        '{"packages": ["npm:/etc"]}',
        '{"packages": ["https://[x/y/z", {"source": "ssh://[x/y/z"}]}',
        '{"packages": ["a\\u0000b", "npm:a\\u0000b", "npm:", ""]}',
        '{"skills": ["a\\u0000b", "file://[x"]}',
    ],
)
def test_what_is_no_place_at_all_is_passed_over(settings: str, tmp_path: Path) -> None:
    write_skill(tmp_path / "project" / ".pi" / "skills", "good")
    (tmp_path / "project" / ".pi" / "settings.json").write_text(settings)
    assert list(discover_skills(tmp_path / "project", tmp_path / "agent", home=tmp_path / "home")) == ["good"]
