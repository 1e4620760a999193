"""Which profile a name means, and that broken files are told instead of lost."""

from __future__ import annotations

import itertools
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pi_subagents.profiles import (
    ProfileCatalog,
    UnknownProfile,
    invalidate_profiles_cache,
    load_profiles,
)
from pi_subagents.profiles.catalog import MAX_FILES


class Place:
    """A project and an agent directory to put profiles into."""

    def __init__(self, root: Path) -> None:
        self.cwd = root / "project"
        self.agent_dir = root / "agent"
        self.dirs = {
            "global": self.agent_dir / "agent-profiles",
            "project": self.cwd / ".pi" / "agent-profiles",
        }
        for folder in self.dirs.values():
            folder.mkdir(parents=True)
        self.time = 0.0

    def write(self, scope: str, file: str, text: str) -> Path:
        path = self.dirs[scope] / file
        path.write_text(text)
        return path

    def add(self, scope: str, name: str, model: str = "m") -> Path:
        return self.write(scope, f"{name}.md", f"---\nname: {name}\nmodel: {model}\n---\n")

    def load(self, cwd: Path | None = None) -> ProfileCatalog:
        return load_profiles(cwd or self.cwd, self.agent_dir, now=lambda: self.time)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    invalidate_profiles_cache()
    return Place(tmp_path)


def test_without_directories_there_are_no_profiles(tmp_path: Path) -> None:
    assert load_profiles(tmp_path / "a", tmp_path / "b") == ProfileCatalog()


def test_the_projects_profile_overrides_the_global_one_of_its_name(place: Place) -> None:
    place.add("global", "b", "global")
    place.add("global", "c", "global")
    place.add("project", "b", "project")
    place.add("project", "a", "project")
    found = {name: (profile.model, profile.scope) for name, profile in place.load().profiles.items()}
    assert list(found.items()) == [
        ("a", ("project", "project")),
        ("b", ("project", "project")),
        ("c", ("global", "global")),
    ]


def test_project_profiles_are_found_from_a_folder_below(place: Place) -> None:
    place.add("project", "a")
    below = place.cwd / "src"
    below.mkdir()
    assert list(place.load(below).profiles) == ["a"]


def test_only_visible_markdown_files_count(place: Place) -> None:
    place.write("global", "notes.txt", "hello")
    place.write("global", ".hidden.md", "hello")
    assert place.load() == ProfileCatalog()


def test_an_unknown_name_lists_what_there_is(place: Place) -> None:
    place.add("global", "writer")
    place.add("project", "researcher")
    with pytest.raises(UnknownProfile) as caught:
        place.load().resolve("code-reviewer")
    assert str(caught.value) == ('Unknown profile: "code-reviewer". Available profiles: researcher, writer')


def test_an_unknown_name_without_any_profile_says_none(place: Place) -> None:
    with pytest.raises(UnknownProfile) as caught:
        place.load().resolve("x")
    assert str(caught.value) == 'Unknown profile: "x". Available profiles: (none)'


def test_a_broken_file_hides_no_other_and_is_listed_with_its_line(place: Place) -> None:
    place.add("global", "good")
    path = place.write("global", "bad.md", "---\nname: bad\nnoTools: maybe\n---\n")
    catalog = place.load()
    assert list(catalog.profiles) == ["good"]
    assert [str(broken) for broken in catalog.broken] == [f'{path}:3: "noTools" must be true or false']


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("wanted.md", "---\nname: other\nnoTools: maybe\n---\n"),
        ("other.md", "---\nname: wanted\nnoTools: maybe\n---\n"),
        ("other.md", "---\nname: wanted\nmodel: [\n---\n"),
        ("wanted.md", "no frontmatter"),
    ],
)
def test_asking_for_a_broken_profile_says_what_is_wrong_with_its_file(place: Place, file: str, text: str) -> None:
    path = place.write("project", file, text)
    with pytest.raises(UnknownProfile) as caught:
        place.load().resolve("wanted")
    (broken,) = place.load().broken
    assert str(caught.value) == f'Profile "wanted" cannot be used: {path}:{broken.line}: {broken.message}'


def test_a_broken_project_file_is_not_silently_replaced_by_the_global_profile(place: Place) -> None:
    place.add("global", "sandbox")
    place.write("project", "sandbox.md", "---\nname: sandbox\nnoTools: yes\n---\n")
    with pytest.raises(UnknownProfile, match="noTools"):
        place.load().resolve("sandbox")


def test_a_broken_global_file_does_not_stand_in_the_way_of_the_projects_profile(place: Place) -> None:
    place.write("global", "a.md", "---\nname: a\nnoTools: yes\n---\n")
    place.add("project", "a", "mine")
    assert place.load().resolve("a").model == "mine"


def test_two_files_with_one_name_are_a_warning_and_the_later_counts(place: Place) -> None:
    place.write("global", "a.md", "---\nname: same\nmodel: first\n---\n")
    later = place.write("global", "b.md", "---\nname: same\nmodel: second\n---\n")
    catalog = place.load()
    assert catalog.profiles["same"].model == "second"
    assert catalog.warnings == [f'{later}:1: profile "same" replaces the one in a.md']


def test_profiles_are_read_again_only_after_five_seconds(place: Place) -> None:
    place.add("global", "a")
    first = place.load()
    place.add("global", "b")
    place.time = 4.999
    assert place.load() is first
    place.time = 5.0
    assert list(place.load().profiles) == ["a", "b"]


def test_invalidating_the_cache_shows_a_change_at_once(place: Place) -> None:
    place.load()
    place.add("global", "a")
    invalidate_profiles_cache()
    assert list(place.load().profiles) == ["a"]


def test_another_project_has_a_cache_of_its_own(place: Place, tmp_path: Path) -> None:
    place.add("project", "a")
    place.load()
    other = tmp_path / "other"
    (other / ".pi").mkdir(parents=True)
    assert place.load(other).profiles == {}


def test_files_beyond_what_is_read_are_not_passed_over_in_silence(tmp_path: Path) -> None:
    folder = tmp_path / "agent" / "agent-profiles"
    folder.mkdir(parents=True)
    for number in range(MAX_FILES + 1):
        (folder / f"p{number}.md").write_text(f"---\nname: p{number}\n---\n")
    catalog = load_profiles(tmp_path, tmp_path / "agent")
    assert len(catalog.profiles) == MAX_FILES
    assert catalog.warnings == [f"{folder}: has 1,001 files; only the first 1,000 are read"]


def test_several_threads_can_load_at_once(tmp_path: Path) -> None:
    times = itertools.count(step=0.5)  # what was loaded goes stale all the time
    pause = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            folders = [tmp_path / str(number) for number in range(1000)]
            found = list(pool.map(lambda cwd: load_profiles(cwd, tmp_path / "a", now=lambda: next(times)), folders))
    finally:
        sys.setswitchinterval(pause)
    assert found == [ProfileCatalog()] * len(folders)
