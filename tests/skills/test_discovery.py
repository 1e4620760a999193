"""Which skills are found and which wins; the rules are those of pi 0.87."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.skills import Skill, discover_skills, files


class Place:
    """A home, an agent directory and a repository with a working directory in it."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.agent = self.home / ".pi" / "agent"
        self.repo = root / "repo"
        self.cwd = self.repo / "sub"
        for folder in (self.agent, self.cwd / ".pi", self.repo / ".git"):
            folder.mkdir(parents=True)

    def skill(self, path: Path, name: str | None = None, description: str = "What it does") -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        title = f"name: {name}\n" if name else ""
        path.write_text(f"---\n{title}description: {description}\n---\n\nBody of {path.parent.name}.\n")
        return path

    def settings(self, base: Path, **content: Any) -> None:
        (base / "settings.json").write_text(json.dumps(content))

    def found(self) -> dict[str, Skill]:
        return discover_skills(self.cwd, self.agent, home=self.home)

    def paths(self) -> dict[str, Path]:
        return {name: skill.path for name, skill in self.found().items()}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_directories_there_are_no_skills(place: Place) -> None:
    assert place.found() == {}


@pytest.mark.parametrize(
    "where",
    [
        "home/.pi/agent/skills/a/SKILL.md",
        "home/.pi/agent/skills/deep/er/a/SKILL.md",
        "home/.pi/agent/skills/SKILL.md",
        "home/.pi/agent/skills/a.md",
        "home/.agents/skills/a/SKILL.md",
        "home/.agents/skills/group/a.md",
        "repo/sub/.pi/skills/a/SKILL.md",
        "repo/sub/.agents/skills/a/SKILL.md",
        "repo/.agents/skills/a/SKILL.md",
    ],
)
def test_a_skill_is_found_in_every_place_pi_looks_at(place: Place, tmp_path: Path, where: str) -> None:
    path = place.skill(tmp_path / where, "mine", "Helps")
    assert place.found() == {"mine": Skill("mine", path, "Helps")}


@pytest.mark.parametrize(
    "where",
    [
        ".agents/skills/a/SKILL.md",
        "repo/.pi/skills/a/SKILL.md",
        "home/.agents/skills/a.md",
        "home/.pi/agent/skills/group/a.md",
        "home/.pi/agent/skills/.hidden/a/SKILL.md",
        "home/.pi/agent/skills/node_modules/a/SKILL.md",
        "home/.pi/agent/skills/a/skill.md",
        "home/.pi/agent/skills/a.txt",
    ],
)
def test_a_skill_elsewhere_is_not_found(place: Place, tmp_path: Path, where: str) -> None:
    place.skill(tmp_path / where, "mine")
    assert place.found() == {}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "just text",
        "---\nname: mine\n---\n",
        "---\nname: mine\ndescription: '  '\n---\n",
        "---\nname: mine\ndescription: 5\n---\n",
        "---\nname: mine\ndescription: a: b\n---\n",
        "---\nname: mine\ndescription: d\ndescription: e\n---\n",
        "---\nname: mine\ndescription: never closed\n",
    ],
)
def test_a_skill_without_a_readable_description_is_left_out(place: Place, content: str) -> None:
    good = place.skill(place.agent / "skills" / "good" / "SKILL.md")
    bad = place.agent / "skills" / "bad" / "SKILL.md"
    bad.parent.mkdir()
    bad.write_text(content)
    assert place.paths() == {"good": good}


@pytest.mark.parametrize("title", ["", "name: ''\n", "name: 12\n", "name: [a]\n"])
def test_a_skill_that_gives_itself_no_name_has_its_folders(place: Place, title: str) -> None:
    path = place.skill(place.agent / "skills" / "folder" / "SKILL.md")
    path.write_text(f"---\n{title}description: d\n---\n")
    assert place.paths() == {"folder": path}


def test_a_folder_that_is_a_skill_is_not_searched_further(place: Place) -> None:
    outer = place.skill(place.agent / "skills" / "outer" / "SKILL.md")
    place.skill(place.agent / "skills" / "outer" / "inner" / "SKILL.md")
    assert place.paths() == {"outer": outer}


def test_the_nearer_and_more_explicit_skill_wins_a_name(place: Place, tmp_path: Path) -> None:
    package, extra = tmp_path / "package", tmp_path / "extra"
    order = [
        place.skill(tmp_path / "mine" / "x" / "SKILL.md", "x"),
        place.skill(place.cwd / ".pi" / "skills" / "x" / "SKILL.md", "x"),
        place.skill(place.cwd / ".agents" / "skills" / "x" / "SKILL.md", "x"),
        place.skill(place.repo / ".agents" / "skills" / "x" / "SKILL.md", "x"),
        place.skill(extra / "x" / "SKILL.md", "x"),
        place.skill(place.agent / "skills" / "x" / "SKILL.md", "x"),
        place.skill(place.home / ".agents" / "skills" / "x" / "SKILL.md", "x"),
        place.skill(package / "skills" / "x" / "SKILL.md", "x"),
    ]
    place.settings(place.cwd / ".pi", skills=[str(tmp_path / "mine")])
    place.settings(place.agent, skills=[str(extra)], packages=[str(package)])
    for path in order:
        assert place.paths() == {"x": path}
        path.unlink()
    assert place.paths() == {}


def test_within_one_directory_the_first_by_name_wins(place: Place) -> None:
    first = place.skill(place.agent / "skills" / "a" / "SKILL.md", "same")
    place.skill(place.agent / "skills" / "b" / "SKILL.md", "same")
    assert place.paths() == {"same": first}


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        ("b", {"a"}),
        ("b/", {"a"}),
        ("B", {"a"}),
        ("*\n!a\n!SKILL.md\n", {"a"}),
        ("[ab]", set()),
        ("# b", {"a", "b"}),
        ("*.md", set()),
        ("a/SKILL.md", {"b"}),
        ("**/b", {"a"}),
        ("/b", {"a"}),
    ],
)
@pytest.mark.parametrize("file", [".gitignore", ".ignore", ".fdignore"])
def test_ignore_files_are_heeded(place: Place, file: str, rules: str, left: set[str]) -> None:
    for name in ("a", "b"):
        place.skill(place.agent / "skills" / name / "SKILL.md")
    (place.agent / "skills" / file).write_text(rules)
    assert set(place.paths()) == left


def test_an_ignore_file_below_concerns_its_own_folder(place: Place) -> None:
    for name in ("a", "group/a", "group/b"):
        place.skill(place.agent / "skills" / name / "SKILL.md", name.replace("/", "-"))
    (place.agent / "skills" / "group" / ".gitignore").write_text("a\n")
    assert set(place.paths()) == {"a", "group-b"}


def test_links_are_followed_without_going_round_in_circles(place: Place, tmp_path: Path) -> None:
    place.skill(tmp_path / "elsewhere" / "linked" / "SKILL.md")
    skills = place.agent / "skills"
    skills.mkdir()
    (skills / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(skills)
    (skills / "gone").symlink_to("nowhere")
    assert place.paths() == {"linked": skills / "link" / "linked" / "SKILL.md"}


def test_a_skill_that_is_reached_in_two_ways_is_one(place: Place) -> None:
    path = place.skill(place.agent / "skills" / "a" / "SKILL.md")
    (place.agent / "skills" / "b").symlink_to("a")
    assert place.paths() == {"a": path}


def test_a_pipe_in_place_of_a_skill_does_not_hang(place: Place) -> None:
    good = place.skill(place.agent / "skills" / "good" / "SKILL.md")
    (place.agent / "skills" / "bad").mkdir()
    os.mkfifo(place.agent / "skills" / "bad" / "SKILL.md")
    assert place.paths() == {"good": good}


@pytest.mark.parametrize(
    ("entries", "left"),
    [
        ([], {"a", "b"}),
        (["!a"], {"b"}),
        (["!**/a"], {"b"}),
        (["!*"], set()),
        (["!skills/*"], set()),
        (["!*", "+skills/b"], {"b"}),
        (["-skills/b"], {"a"}),
        (["-skills/b/SKILL.md"], {"a"}),
        (["!{a,x}"], {"b"}),
    ],
)
def test_settings_can_switch_found_skills_off(place: Place, entries: list[str], left: set[str]) -> None:
    for name in ("a", "b"):
        place.skill(place.agent / "skills" / name / "SKILL.md")
    place.settings(place.agent, skills=entries)
    assert set(place.paths()) == left


@pytest.mark.parametrize(
    "entry", ["{root}/extra", "~/../extra", "../../../extra", "file://{root}/extra", "{root}/extra/x/SKILL.md"]
)
def test_settings_name_further_places_in_every_notation(place: Place, tmp_path: Path, entry: str) -> None:
    path = place.skill(tmp_path / "extra" / "x" / "SKILL.md")
    place.settings(place.agent, skills=[entry.format(root=tmp_path)])
    assert place.paths() == {"x": path}


def test_the_old_notation_of_the_skills_setting_is_understood(place: Place, tmp_path: Path) -> None:
    path = place.skill(tmp_path / "extra" / "x" / "SKILL.md")
    place.settings(place.agent, skills={"customDirectories": [str(tmp_path / "extra")]})
    assert place.paths() == {"x": path}


@pytest.mark.parametrize("content", ["{", "[]", '{"skills": 3, "packages": {"a": 1}}', '{"packages": [1, {}]}'])
def test_settings_that_make_no_sense_are_ignored(place: Place, content: str) -> None:
    path = place.skill(place.agent / "skills" / "x" / "SKILL.md")
    (place.agent / "settings.json").write_text(content)
    assert place.paths() == {"x": path}


@pytest.mark.parametrize(
    ("source", "folder"),
    [
        ("npm:tools", "npm/node_modules/tools"),
        ("npm:tools@1.2.3", "npm/node_modules/tools"),
        ("npm:@me/tools@^1", "npm/node_modules/@me/tools"),
        ("git:github.com/me/tools", "git/github.com/me/tools"),
        ("git:github.com/me/tools@v1", "git/github.com/me/tools"),
        ("git:git@github.com:me/tools.git", "git/github.com/me/tools"),
        ("git:me/tools", "git/github.com/me/tools"),
        ("https://gitlab.com/me/tools.git", "git/gitlab.com/me/tools"),
        ("ssh://git@example.com/a/b/tools@main", "git/example.com/a/b/tools"),
        ("./local/tools", "local/tools"),
        ("local/tools", "local/tools"),
    ],
)
@pytest.mark.parametrize("scope", ["agent", "project"])
def test_an_installed_package_brings_its_skills(place: Place, scope: str, source: str, folder: str) -> None:
    base = place.agent if scope == "agent" else place.cwd / ".pi"
    path = place.skill(base / folder / "skills" / "x" / "SKILL.md")
    place.settings(base, packages=[source])
    assert place.paths() == {"x": path}


@pytest.mark.parametrize(
    ("manifest", "filters", "left"),
    [
        (None, {}, {"a", "b"}),
        ({}, None, set()),
        ({}, {}, {"a", "b"}),
        ({"skills": ["./skills"]}, None, {"a", "b"}),
        ({"skills": ["./other"]}, None, {"c"}),
        ({"skills": []}, None, set()),
        ({"skills": ["skills/a"]}, None, {"a"}),
        ({"skills": ["*/a", "other"]}, None, {"a", "c"}),
        ({"skills": ["{skills,other}/*"]}, None, {"a", "b", "c"}),
        ({"skills": ["skills", "!**/a"]}, None, {"b"}),
        ({"skills": [1]}, None, set()),
        (None, {"skills": []}, set()),
        (None, {"skills": ["a"]}, {"a"}),
        (None, {"skills": ["skills/*"]}, {"a", "b"}),
        (None, {"skills": ["!a"]}, {"b"}),
        (None, {"skills": ["!*", "+skills/b"]}, {"b"}),
        (None, {"autoload": False}, set()),
        (None, {"autoload": False, "skills": ["+skills/a"]}, {"a"}),
    ],
)
def test_manifest_and_filters_decide_what_a_package_brings(
    place: Place, manifest: Any, filters: dict[str, Any] | None, left: set[str]
) -> None:
    package = place.agent / "pack"
    for name in ("skills/a", "skills/b", "other/c"):
        place.skill(package / name / "SKILL.md")
    if manifest is not None:
        (package / "package.json").write_text(json.dumps({"pi": manifest}))
    place.settings(place.agent, packages=["pack" if filters is None else {"source": "pack", **filters}])
    assert set(place.paths()) == left


def test_the_projects_entry_for_a_package_replaces_the_users(place: Place, tmp_path: Path) -> None:
    for name in ("a", "b"):
        place.skill(tmp_path / "pack" / "skills" / name / "SKILL.md")
    place.settings(place.agent, packages=[str(tmp_path / "pack")])
    place.settings(place.cwd / ".pi", packages=[{"source": str(tmp_path / "pack"), "skills": ["a"]}])
    assert set(place.paths()) == {"a"}


def test_a_project_can_switch_off_single_skills_of_the_users_package(place: Place) -> None:
    for name in ("a", "b"):
        place.skill(place.agent / "npm/node_modules/pack/skills" / name / "SKILL.md")
    place.settings(place.agent, packages=["npm:pack"])
    delta = {"source": "npm:pack", "autoload": False, "skills": ["-skills/a"]}
    place.settings(place.cwd / ".pi", packages=[delta])
    assert set(place.paths()) == {"b"}


def test_a_package_that_is_not_installed_brings_nothing(place: Place) -> None:
    place.skill(place.agent / "tools" / "skills" / "x" / "SKILL.md")
    (place.agent / "git" / "github.com" / "a").mkdir(parents=True)
    out = "git:github.com/a/../../../tools"
    place.settings(place.agent, packages=["npm:absent", "git:github.com/a/b", "./gone", "npm:", out])
    assert place.found() == {}


def test_a_directory_of_too_many_folders_is_not_searched_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert files._MAX_FOLDERS == 2000
    monkeypatch.setattr(files, "_MAX_FOLDERS", 20)
    for number in range(21):
        (tmp_path / f"{number:04}" / "skill").mkdir(parents=True)
        (tmp_path / f"{number:04}" / "skill" / "SKILL.md").touch()
    # Each skill is in a folder of a folder, and the directory itself counts, too.
    assert files.skill_files(tmp_path) == [tmp_path / f"{number:04}" / "skill" / "SKILL.md" for number in range(9)]


def test_a_projects_skills_are_not_looked_for_through_a_link_out_of_it(place: Place, tmp_path: Path) -> None:
    place.skill(tmp_path / "elsewhere" / "private" / "SKILL.md")
    for name in (".pi", ".agents"):
        (place.cwd / name).mkdir(exist_ok=True)
        (place.cwd / name / "skills").symlink_to(tmp_path / "elsewhere")
    assert place.found() == {}
    (place.agent / "skills").symlink_to(tmp_path / "elsewhere")
    assert list(place.found()) == ["private"], "the user's own links are the user's own business"


def test_links_that_lead_back_up_make_no_endless_package(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MAX_PATHS", 500)
    package = place.cwd / "pkg"
    package.mkdir()
    for name in "abcd":
        (package / name).symlink_to(".")
    (package / "package.json").write_text('{"pi": {"skills": ["' + "*/" * 19 + '*"]}}')
    place.settings(place.cwd / ".pi", packages=["../pkg"])
    assert place.found() == {}


@pytest.mark.parametrize(
    "settings",
    [
        {"packages": ["npm:/etc"]},
        {"packages": ["https://[x/y/z", {"source": "ssh://[x/y/z"}]},
        {"packages": ["a\0b", "npm:a\0b", "npm:", ""]},
        {"skills": ["a\0b", "file://[x"]},
    ],
)
def test_what_is_no_place_at_all_is_passed_over(place: Place, settings: dict[str, Any]) -> None:
    place.skill(place.cwd / ".pi" / "skills" / "good" / "SKILL.md")
    place.settings(place.cwd / ".pi", **settings)
    assert list(place.found()) == ["good"]
