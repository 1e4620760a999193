"""Saving a profile changes what was changed and nothing else, in one step, with the key kept private."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_subagents.errors import ProfileError
from pi_subagents.models import Profile, Secret
from pi_subagents.profiles import Scope, UnknownProfile, delete_profile, profile_to_markdown, read_profile, save_profile
from tests.profiles.kit import Place

COMMENTED = """---
# the careful one
name: x  # never renamed
model: "gpt-4.10" # pinned
tools:
  # only these
  - read
  - bash

# house rule
thinkingLevel: high
colour: red
apiKey: 'sk-very-secret-key'
extraArgs: ['--a=1,2']
noSkills:   true
appendSystemPrompt: |
  one

  two
# the end
---

Body with a rule

---

below.
"""


class Desk:
    """Saves into a place, mostly as its global profile `x`."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.file = place.folder("global") / "x.md"

    def save(self, profile: Profile, scope: Scope = "global") -> Path:
        return save_profile(profile, scope, cwd=self.place.cwd, agent_dir=self.place.agent_dir)

    def delete(self, name: str, scope: Scope = "global") -> Path:
        return delete_profile(name, scope, cwd=self.place.cwd, agent_dir=self.place.agent_dir)

    def names(self) -> list[str]:
        return list(self.place.load().profiles)

    def write(self, text: str) -> None:
        self.place.write(text, scope="global")

    def edit(self, **changes: Any) -> str:
        profile, _ = read_profile(self.file)
        self.save(msgspec.structs.replace(profile, **changes))
        return self.file.read_bytes().decode()


@pytest.fixture
def desk(place: Place) -> Desk:
    return Desk(place)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_profile_is_written_as_the_reference_writes_them(desk: Desk) -> None:
    path = desk.save(
        Profile(
            name="x",
            provider="anthropic",
            model="claude-sonnet-4-5",
            thinking_level="off",
            tools=("read", "bash"),
            no_extensions=True,
            append_system_prompt="Be brief: always.",
            extra_args=("--verbose", "a, b"),
            system_prompt="You review.",
        )
    )
    assert path == desk.file
    assert path.read_text() == (
        "---\nname: x\nprovider: anthropic\nmodel: claude-sonnet-4-5\nthinkingLevel: off\ntools: read,bash\n"
        'noExtensions: true\nappendSystemPrompt: "Be brief: always."\nextraArgs: ["--verbose", "a, b"]\n---\n'
        "\nYou review.\n"
    )


def test_a_project_profile_goes_below_the_project_root(desk: Desk) -> None:
    path = desk.save(Profile(name="x"), "project")
    assert path == desk.place.cwd / ".pi" / "agent-profiles" / "x.md"


def test_saving_without_a_change_leaves_the_file_as_it_was(desk: Desk) -> None:
    desk.write(COMMENTED)
    assert desk.edit() == COMMENTED


@pytest.mark.parametrize(
    ("changes", "old", "new"),
    [
        ({"model": "m2"}, 'model: "gpt-4.10" # pinned', "model: m2 # pinned"),
        ({"model": None}, 'model: "gpt-4.10" # pinned\n', ""),
        ({"thinking_level": "low"}, "thinkingLevel: high", "thinkingLevel: low"),
        ({"tools": ("grep",)}, "tools:\n  # only these\n  - read\n  - bash\n", "tools: grep\n"),
        ({"tools": None}, "tools:\n  # only these\n  - read\n  - bash\n", ""),
        ({"no_skills": False}, "noSkills:   true\n", ""),
        ({"append_system_prompt": "short"}, "|\n  one\n\n  two\n", "short\n"),
        ({"append_system_prompt": "a\nb"}, "|\n  one\n\n  two\n", "|-\n  a\n  b\n"),
        ({"append_system_prompt": None}, "appendSystemPrompt: |\n  one\n\n  two\n", ""),
        ({"provider": "p"}, "# the end\n", "# the end\nprovider: p\n"),
        ({"api_key": Secret("007")}, "'sk-very-secret-key'", '"007"'),
        ({"system_prompt": "New."}, "\nBody with a rule\n\n---\n\nbelow.\n", "\nNew.\n"),
        ({"system_prompt": None}, "\nBody with a rule\n\n---\n\nbelow.\n", ""),
    ],
)
def test_a_change_touches_only_its_own_lines(desk: Desk, changes: dict[str, Any], old: str, new: str) -> None:
    desk.write(COMMENTED)
    assert desk.edit(**changes) == COMMENTED.replace(old, new)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("---\nname: x\nmodel:\n---\n", "---\nname: x\nmodel: m2\n---\n"),
        ("---\nname: x\nmodel: # later\n---\n", "---\nname: x\nmodel: m2 # later\n---\n"),
        ("---\nmodel: >-\n  a\n  b\n\nname: x\n---\n", "---\nmodel: m2\n\nname: x\n---\n"),
        ("---\nmodel: a\n  b\nname: x\n---\n", "---\nmodel: m2\nname: x\n---\n"),
        ("---\nname: x\nmodel: a\n---", "---\nname: x\nmodel: m2\n---\n"),
        (
            "\ufeff---\r\nname: x\r\nmodel: a\r\n---\r\n\r\nB\r\n",
            "\ufeff---\r\nname: x\r\nmodel: m2\r\n---\r\n\r\nB\r\n",
        ),
        ("---\nname: x\nmodel:\ta\n---\n", "---\nname: x\nmodel: m2\n---\n"),
        ("---\nname: x\nkeep: &k a\nmodel: *k\n---\n", "---\nname: x\nkeep: &k a\nmodel: m2\n---\n"),
    ],
)
def test_unusual_but_valid_files_can_be_edited(desk: Desk, before: str, after: str) -> None:
    desk.write(before)
    assert desk.edit(model="m2") == after


@pytest.mark.parametrize("text", ["---\n{name: x, model: a}\n---\n", "---\nmodel: &m a\nname: x\nprovider: *m\n---\n"])
def test_a_file_that_cannot_be_edited_safely_is_left_alone(desk: Desk, text: str) -> None:
    desk.write(text)
    with pytest.raises(ProfileError, match=r"x\.md"):
        desk.edit(model="m2")
    assert desk.file.read_text() == text


@pytest.mark.parametrize(
    ("there", "profile", "words"),
    [
        ("---\nname: x\nnoTools: maybe\n---\nprecious", Profile(name="x"), r'x\.md:3: "noTools"'),
        ("---\nname: other\n---\n", Profile(name="x"), 'already contains the profile "other"'),
        ("---\nname: x\n---\n", Profile(name="x", model="\ud800"), "cannot be written"),
        *(("precious", Profile(name=name), "may only contain letters") for name in ("", "a b", "../x", "a.b")),
    ],
)
def test_what_cannot_be_saved_is_refused_and_overwrites_nothing(
    desk: Desk, there: str, profile: Profile, words: str
) -> None:
    desk.write(there)
    with pytest.raises(ProfileError, match=words):
        desk.save(profile)
    assert desk.file.read_text() == there
    assert list(desk.file.parent.iterdir()) == [desk.file]


def test_a_profile_in_a_file_of_another_name_is_changed_there(desk: Desk) -> None:
    desk.write("---\nname: y\n---\n")
    assert desk.save(Profile(name="y", model="m")) == desk.file
    assert desk.file.read_text() == "---\nname: y\nmodel: m\n---\n"


def test_a_file_keeps_its_mode_until_it_has_a_key_and_then_it_and_its_directory_are_private(desk: Desk) -> None:
    desk.save(Profile(name="x"))
    desk.file.chmod(0o640)
    desk.file.parent.chmod(0o755)
    desk.save(Profile(name="x", model="m"))
    assert (mode(desk.file), mode(desk.file.parent)) == (0o640, 0o755)
    desk.save(Profile(name="x", api_key=Secret("sk-1")))
    assert (mode(desk.file), mode(desk.file.parent)) == (0o600, 0o700)


def test_a_linked_file_stays_a_link(desk: Desk, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.md"
    real.write_text("---\nname: x\n---\n")
    desk.file.parent.mkdir(parents=True)
    desk.file.symlink_to(real)
    desk.save(Profile(name="x", model="m"))
    assert desk.file.is_symlink()
    assert real.read_text() == "---\nname: x\nmodel: m\n---\n"


def test_nothing_is_left_behind_when_writing_fails(desk: Desk) -> None:
    desk.place.agent_dir.mkdir()
    desk.file.parent.write_text("not a directory")
    with pytest.raises(ProfileError, match="agent-profiles is not a directory; move it away"):
        desk.save(Profile(name="x"))
    desk.save(Profile(name="x"), "project")
    assert [path.name for path in (desk.place.cwd / ".pi" / "agent-profiles").iterdir()] == ["x.md"]


def test_saving_and_deleting_show_at_once(desk: Desk) -> None:
    assert desk.names() == []
    desk.save(Profile(name="x"))
    assert desk.names() == ["x"]
    assert desk.delete("x") == desk.file
    assert desk.names() == []


def test_deleting_concerns_one_scope(desk: Desk) -> None:
    desk.save(Profile(name="x"))
    desk.save(Profile(name="x"), "project")
    desk.delete("x", "project")
    assert desk.file.exists()
    with pytest.raises(UnknownProfile, match='There is no project profile "x"'):
        desk.delete("x", "project")


def test_a_broken_file_can_be_deleted_by_its_name(desk: Desk) -> None:
    desk.write("nonsense")
    assert desk.delete("x") == desk.file


_WORDS = st.text().filter(lambda text: text.strip() and "\0" not in text)
_LISTS = st.none() | st.lists(_WORDS.map(str.strip), min_size=1).map(tuple)
_TOOLS = st.none() | st.lists(_WORDS.map(str.strip).filter(lambda name: "," not in name), min_size=1).map(tuple)


@settings(max_examples=settings().max_examples // 3)  # each is written three times
@given(
    profile=st.builds(
        Profile,
        name=st.just("x"),
        model=st.none() | _WORDS.map(str.strip),
        append_system_prompt=st.none() | _WORDS,
        tools=_TOOLS,
        extra_args=_LISTS,
        no_tools=st.booleans(),
        api_key=st.none() | _WORDS.map(lambda text: Secret(text.strip())),
    ),
    other=st.builds(Profile, name=st.just("x"), model=st.none() | _WORDS.map(str.strip), tools=_TOOLS),
)
def test_whatever_is_saved_reads_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, profile: Profile, other: Profile
) -> None:
    desk = Desk(Place(tmp_path_factory.mktemp("place")))
    for saved in (profile, other, profile):
        path = desk.save(saved)
        assert read_profile(path)[0] == msgspec.structs.replace(saved, path=path)
    assert profile_to_markdown(profile).startswith("---\nname: x\n")


def test_fields_of_other_agents_are_written_as_they_are_read(place: Place) -> None:
    profile = Profile(
        name="x",
        agent="acp",
        program=("npx", "my agent,2", "--acp=true"),
        mode="plan",
        approvals="deny",
        inherit=True,
        max_turns=12,
        max_cost=0.0004,
    )
    path = save_profile(profile, "global", cwd=place.cwd, agent_dir=place.agent_dir)
    written, _ = read_profile(path)
    assert msgspec.structs.replace(written, path=None, scope=None) == profile
    changed = msgspec.structs.replace(profile, max_turns=None, max_cost=2.0)
    save_profile(changed, "global", cwd=place.cwd, agent_dir=place.agent_dir)
    assert "maxTurns" not in path.read_text()
    assert "maxCost: 2\n" in path.read_text()
