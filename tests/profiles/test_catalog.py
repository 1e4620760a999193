"""Which profile or preset a name means, and that broken files are told instead of lost."""

from __future__ import annotations

import itertools
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pi_subagents.profiles import (
    PRESET,
    PROFILE,
    Format,
    ProfileCatalog,
    UnknownProfile,
    all_agents,
    find_agent,
    invalidate_profiles_cache,
    load_profiles,
)
from pi_subagents.profiles.catalog import MAX_FILES
from tests.profiles.kit import KINDS, Place

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.word)


@every_kind
def test_the_projects_file_overrides_the_global_one_of_its_name(place: Place, kind: Format) -> None:
    assert place.load(kind) == ProfileCatalog(kind=kind)
    invalidate_profiles_cache()
    for name in ("b", "c"):
        place.add(name, "model: global", scope="global", kind=kind)
    for name in ("b", "a"):
        place.add(name, "model: project", kind=kind)
    found = {name: (profile.model, profile.scope) for name, profile in place.load(kind).profiles.items()}
    assert list(found.items()) == [
        ("a", ("project", "project")),
        ("b", ("project", "project")),
        ("c", ("global", "global")),
    ]


@every_kind
def test_only_visible_markdown_files_of_the_kind_count_and_from_below_too(place: Place, kind: Format) -> None:
    place.add("a", kind=kind)
    place.add("other", kind=PRESET if kind is PROFILE else PROFILE)
    for file in ("notes.txt", ".hidden.md"):
        place.write("hello", file, kind=kind)
    below = place.cwd / "src" / "deep"
    below.mkdir(parents=True)
    assert list(place.load(kind, below).profiles) == ["a"]
    assert place.load(kind, below).broken == []


@every_kind
def test_an_unknown_name_lists_what_there_is(place: Place, kind: Format) -> None:
    word = kind.word
    for available in ("(none)", "researcher, writer"):
        with pytest.raises(UnknownProfile) as caught:
            place.load(kind).resolve("code-reviewer")
        assert str(caught.value) == f'Unknown {word}: "code-reviewer". Available {word}s: {available}'
        place.add("writer", scope="global", kind=kind)
        place.add("researcher", kind=kind)
        invalidate_profiles_cache()


@every_kind
def test_a_broken_file_hides_no_other_and_is_listed_with_its_line(place: Place, kind: Format) -> None:
    place.add("good", kind=kind)
    path = place.add("bad", "noTools: maybe", kind=kind)
    catalog = place.load(kind)
    assert list(catalog.profiles) == ["good"]
    assert [str(broken) for broken in catalog.broken] == [f'{path}:4: "noTools" must be true or false']


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("wanted.md", "---\nname: other\nnoTools: maybe\n---\n"),
        ("other.md", "---\nname: wanted\nnoTools: maybe\n---\n"),
        ("other.md", "---\nname: wanted\nmodel: [\n---\n"),
        ("wanted.md", "no frontmatter"),
    ],
)
@every_kind
def test_asking_for_a_broken_file_says_what_is_wrong_with_it(place: Place, kind: Format, file: str, text: str) -> None:
    path = place.write(text, file, kind=kind)
    with pytest.raises(UnknownProfile) as caught:
        place.load(kind).resolve("wanted")
    (broken,) = place.load(kind).broken
    word = kind.word.capitalize()
    assert str(caught.value) == f'{word} "wanted" cannot be used: {path}:{broken.line}: {broken.message}'


def test_a_broken_project_file_is_not_silently_replaced_by_the_global_profile(place: Place) -> None:
    place.add("sandbox", scope="global")
    place.add("sandbox", "noTools: yes")
    with pytest.raises(UnknownProfile, match="noTools"):
        place.load().resolve("sandbox")


def test_a_broken_global_file_does_not_stand_in_the_way_of_the_projects_profile(place: Place) -> None:
    place.add("a", "noTools: yes", scope="global")
    place.add("a", "model: mine")
    assert place.load().resolve("a").model == "mine"


def test_two_files_with_one_name_are_a_warning_and_the_later_counts(place: Place) -> None:
    place.write("---\nname: same\nmodel: first\n---\n", "a.md")
    later = place.write("---\nname: same\nmodel: second\n---\n", "b.md")
    catalog = place.load()
    assert catalog.profiles["same"].model == "second"
    assert catalog.warnings == [f'{later}:1: profile "same" replaces the one in a.md']


@every_kind
def test_files_are_read_again_only_after_five_seconds_or_on_demand(place: Place, kind: Format) -> None:
    place.add("a", kind=kind)
    first = place.load(kind)
    place.add("b", kind=kind)
    place.time = 4.999
    assert place.load(kind) is first
    place.time = 5.0
    assert list(place.load(kind).profiles) == ["a", "b"]
    place.add("c", kind=kind)
    invalidate_profiles_cache()
    assert list(place.load(kind).profiles) == ["a", "b", "c"]


def test_another_project_has_a_cache_of_its_own(place: Place, tmp_path: Path) -> None:
    place.add("a")
    assert list(place.load().profiles) == ["a"]
    other = tmp_path / "other"
    (other / ".pi").mkdir(parents=True)
    assert place.load(cwd=other).profiles == {}


def test_files_beyond_what_is_read_are_not_passed_over_in_silence(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_FILES == 1000
    monkeypatch.setattr("pi_subagents.profiles.catalog.MAX_FILES", 10)
    for number in range(11):
        place.add(f"p{number}")
    catalog = place.load()
    assert len(catalog.profiles) == 10
    assert catalog.warnings == [f"{place.folder()}: has 11 files; only the first 10 are read"]


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


def find(place: Place, name: str, asked: Format) -> str:
    agent = find_agent(name, asked, place.cwd, place.agent_dir)
    return f"{agent.profile.scope} {agent.kind.word}"


def test_what_is_asked_for_goes_before_the_other_kind_of_which_one_is_found_too(place: Place) -> None:
    for kind in KINDS:
        place.add("both", kind=kind)
        place.add(f"only-{kind.word}", kind=kind)
    for kind in KINDS:
        assert find(place, "both", kind) == f"project {kind.word}"
        assert find(place, "only-profile", kind) == "project profile"
        assert find(place, "only-preset", kind) == "project preset"


def test_a_projects_file_of_the_other_kind_does_not_replace_the_users_own(place: Place) -> None:
    place.add("reviewer", scope="global")
    place.add("reviewer", kind=PRESET)
    assert find(place, "reviewer", PROFILE) == "global profile"


def test_a_broken_file_is_not_passed_over_for_one_of_the_other_kind(place: Place) -> None:
    place.add("reviewer", "noTools: perhaps")
    place.add("reviewer", kind=PRESET)
    with pytest.raises(UnknownProfile, match='Profile "reviewer" cannot be used'):
        find(place, "reviewer", PROFILE)


def test_an_unknown_name_lists_the_kind_that_was_asked_for_and_hints_at_both(place: Place) -> None:
    place.add("scout", kind=PRESET)
    place.add("writer")
    with pytest.raises(UnknownProfile) as caught:
        find(place, "scuot", PROFILE)
    assert str(caught.value) == 'Unknown profile: "scuot". Available profiles: writer'
    assert caught.value.hint == ' Available presets: scout. Did you mean "scout"?'


def test_all_agents_are_listed_by_name_a_profile_before_a_preset(place: Place) -> None:
    place.add("b", kind=PRESET)
    place.add("b")
    place.add("a", scope="global", kind=PRESET)
    found = all_agents(place.cwd, place.agent_dir)
    assert [(agent.profile.name, agent.kind.word) for agent in found] == [
        ("a", "preset"),
        ("b", "profile"),
        ("b", "preset"),
    ]
