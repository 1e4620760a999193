"""`/profile …`: every word does what it is documented to do, and what goes wrong is told."""

from __future__ import annotations

import pytest

from pi_subagents.wizard import completions, profile_command
from tests.wizard.person import Desk, Person

KEY = "sk-test-abc123"


@pytest.fixture
def stocked(desk: Desk) -> Desk:
    """A desk with two profiles and a broken one."""
    desk.write("reader", f"---\nname: reader\nmodel: m\napiKey: {KEY}\n---\n\nRead.\nTwice.\n")
    desk.write("writer", "---\nname: writer\n---\n", "global")
    desk.write("broken", "---\nname: broken\nnoTools: maybe\n---\n")
    return desk


async def say(desk: Desk, arguments: str, person: Person | None = None) -> Person:
    person = person or Person()
    await profile_command(arguments, person, desk.host)
    return person


@pytest.mark.parametrize("arguments", ["list", "ls", "", "  "])
async def test_the_list_has_a_line_for_each_and_names_what_is_broken(stocked: Desk, arguments: str) -> None:
    person = await say(stocked, arguments)
    assert person.messages("info") == [
        "profile: reader, model=m, custom-system-prompt  [project]\nprofile: writer  [global]"
    ]
    assert person.messages("warning")[0].startswith(f"✗ {stocked.path('broken')}:3: ")


async def test_without_profiles_the_list_says_where_to_put_them(desk: Desk) -> None:
    assert (await say(desk, "list")).told == [
        ("info", "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/.")
    ]


@pytest.mark.parametrize("arguments", ["show reader", "reader"])
async def test_a_profile_is_shown_with_its_key_masked(stocked: Desk, arguments: str) -> None:
    person = await say(stocked, arguments)
    assert person.messages("info") == [
        "name: reader\nmodel: m\napiKey: sk-t****bc123\nsystemPrompt:\n  Read.\n  Twice.\nscope: project\n"
        f"path: {stocked.path('reader')}"
    ]


async def test_a_profile_is_created_edited_and_deleted_by_every_word_for_it(desk: Desk) -> None:
    for creates, deletes in (("create", "delete"), ("new", "rm"), ("new", "remove")):
        await say(desk, f"{creates} fresh", Person({"Scope": "Project"}))
        assert desk.path("fresh").read_text() == "---\nname: fresh\n---\n"
        await say(desk, "edit fresh", Person({"3 of 10": "m"}))
        assert desk.path("fresh").read_text() == "---\nname: fresh\nmodel: m\n---\n"
        await say(desk, f"{deletes} fresh", Person({"Delete": True}))
        assert not desk.path("fresh").exists()


async def test_a_name_that_was_not_said_is_asked_for(stocked: Desk) -> None:
    person = await say(stocked, "show", Person({"Which": "reader"}))
    assert person.asked[0].options == ["reader", "writer"]
    assert person.messages("info")[0].startswith("name: reader\n")
    await say(stocked, "create", Person({"Name": "fresh", "Scope": "Project"}))
    assert stocked.path("fresh").exists()


async def test_a_name_that_cannot_be_one_is_asked_for_again_with_the_reason(desk: Desk) -> None:
    person = await say(desk, "create", Person({"Name": ["a b", " fresh "], "Scope": "Project"}))
    assert person.titles[1] == (
        'The name "a b" may only contain letters, digits, "-" and "_".\nName of the new profile'
    )
    assert desk.path("fresh").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("nobody", 'Unknown profile: "nobody". Available profiles: reader, writer\nUsage: /profile list'),
        ("show nobody", 'Unknown profile: "nobody". Available profiles: reader, writer'),
        ("edit nobody", 'Unknown profile: "nobody"'),
        ("delete nobody", 'Unknown profile: "nobody"'),
        ("show broken", 'Profile "broken" cannot be used: '),
        ("create a.b", 'The name "a.b" may only contain letters, digits'),
        ("crate fresh", "Usage: /profile list | show <name> | create <name> | edit <name> | delete <name>"),
        ("list all", "Usage: "),
    ],
)
async def test_what_goes_wrong_is_one_message(stocked: Desk, arguments: str, words: str) -> None:
    before = stocked.files()
    ((level, text),) = (await say(stocked, arguments)).told
    assert level == "error"
    assert text.startswith(words)
    assert stocked.files() == before


@pytest.mark.parametrize("arguments", ["create fresh", "edit reader", "delete reader", "create", "show"])
async def test_whoever_leaves_is_told_that_nothing_was_changed(stocked: Desk, arguments: str) -> None:
    before = stocked.files()
    assert (await say(stocked, arguments, Person(leaves_at=0))).told == [("info", "Cancelled. Nothing was changed.")]
    assert stocked.files() == before


@pytest.mark.parametrize(
    ("prefix", "values"),
    [
        ("", ["list", "show ", "create ", "edit ", "delete ", "reader", "writer"]),
        ("re", ["reader"]),
        ("e", ["edit "]),
        ("show ", ["show reader", "show writer"]),
        ("edit w", ["edit writer"]),
        ("rm ", ["rm broken", "rm reader", "rm writer"]),
        ("create w", []),
        ("list ", []),
        ("nobody ", []),
    ],
)
def test_what_was_begun_is_completed(stocked: Desk, prefix: str, values: list[str]) -> None:
    assert [found.value for found in completions(prefix, stocked.place)] == values


def test_a_completion_says_what_it_is(stocked: Desk) -> None:
    (found,) = completions("show r", stocked.place)
    assert (found.label, found.description) == ("reader", "profile: reader, model=m, custom-system-prompt")
