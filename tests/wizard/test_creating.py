"""Creating a profile: ten steps, each of which can be skipped, and nothing on disk before the last one."""

from __future__ import annotations

from typing import Any

import pytest

from pi_subagents.errors import ProfileError
from pi_subagents.models import Secret
from pi_subagents.wizard import Cancelled, Host, create
from tests.wizard.person import Desk, Person

EVERYTHING: dict[str, Any] = {
    "Scope": "Project",
    "2 of 10": "anthropic",
    "3 of 10": "claude-sonnet-4-5",
    "4 of 10": [True, "\nYou review.\n\nThoroughly.\n"],
    "5 of 10": [True, "Be brief."],
    "6 of 10": [True, "high"],
    "7 of 10": [True, "Allowlist", "read, bash,grep"],
    "8 of 10": [True, "Enter paths", "one.ts, two.ts"],
    "9 of 10": [True, "web-search", "code-review,git"],
}


def body(desk: Desk, name: str = "x") -> str:
    return desk.path(name).read_text()


async def test_the_ten_steps_come_in_the_documented_order_and_their_answers_are_the_file(desk: Desk) -> None:
    person = Person(EVERYTHING)
    await create("x", person, desk.host)
    assert list(dict.fromkeys(title.partition(":")[0] for title in person.titles)) == [
        f"Step {number} of 10" for number in range(1, 11)
    ]
    assert body(desk) == (
        "---\nname: x\nprovider: anthropic\nmodel: claude-sonnet-4-5\nthinkingLevel: high\ntools: read,bash,grep\n"
        "extensions: one.ts,two.ts\nsuggestedSkills: web-search\nloadSkills: code-review,git\n"
        'appendSystemPrompt: "Be brief."\n---\n\nYou review.\n\nThoroughly.\n'
    )
    assert person.messages("info") == [f'Saved the profile "x": {desk.path("x")}']


async def test_the_choices_are_the_documented_ones(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(desk.agent_dir.parent))
    person = Person(EVERYTHING)
    await create("x", person, desk.host)
    assert {question.title: question.options for question in person.asked if question.kind == "select"} == {
        "Step 1 of 10: Scope": ["Global (~/agent/agent-profiles/)", "Project (.pi/agent-profiles/)"],
        "Step 6 of 10: Thinking level": ["off", "minimal", "low", "medium", "high", "xhigh"],
        "Step 7 of 10: Tools": ["Disable all tools", "Allowlist", "Blacklist"],
        "Step 8 of 10: Extensions": ["Disable all extensions", "Enter paths"],
    }


async def test_whoever_skips_everything_gets_a_profile_with_a_name(desk: Desk) -> None:
    await create("x", Person({"Scope": "Project"}), desk.host)
    assert body(desk) == "---\nname: x\n---\n"


@pytest.mark.parametrize(
    ("answers", "line"),
    [
        ({"7 of 10": [True, "Disable all tools"]}, "noTools: true"),
        ({"7 of 10": [True, "Blacklist", "write,edit"]}, "excludeTools: write,edit"),
        ({"8 of 10": [True, "Disable all extensions"]}, "noExtensions: true"),
        ({"9 of 10": [True, None, "git"]}, "loadSkills: git"),
        ({"4 of 10": [True, None], "5 of 10": [True, None], "6 of 10": [True, None], "3 of 10": "m"}, "model: m"),
        ({"7 of 10": [True, "Allowlist", None], "8 of 10": [True, None], "3 of 10": " m "}, "model: m"),
    ],
)
async def test_every_answer_is_a_field_and_what_is_dismissed_is_none(
    desk: Desk, answers: dict[str, Any], line: str
) -> None:
    await create("x", Person({"Scope": "Project", **answers}), desk.host)
    assert body(desk) == f"---\nname: x\n{line}\n---\n"


async def test_leaving_at_any_question_writes_nothing(desk: Desk) -> None:
    full = Person(EVERYTHING)
    await create("full", full, desk.host)
    before = desk.files()
    for number in range(len(full.asked)):
        with pytest.raises(Cancelled):
            await create("x", Person(EVERYTHING, leaves_at=number), desk.host)
        assert desk.files() == before


async def test_no_scope_and_a_no_to_the_review_write_nothing(desk: Desk) -> None:
    for answers in ({"Scope": [None]}, {"Scope": "Project", "Review": False}):
        with pytest.raises(Cancelled):
            await create("x", Person(answers), desk.host)
    assert desk.files() == {}


async def test_the_review_shows_everything_but_the_key(desk: Desk) -> None:
    person = Person({**EVERYTHING, "4 of 10": [True, "\n".join(map(str, range(50)))]})
    await create("x", person, desk.host, api_key=Secret("sk-test-abc123"))
    review = person.question("Review").message
    assert "apiKey: sk-t****bc123" in review
    assert "tools: read, bash, grep" in review
    assert "19\n  … 30 more lines" in review
    assert f"path: {desk.path('x')}" in review
    assert "sk-test" not in person.words
    assert any("version control" in warning for warning in person.messages("warning"))
    assert desk.path("x").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("scope", ["Project", "Global"])
async def test_a_profile_that_only_a_trusted_project_can_use_is_said_to_be_one(desk: Desk, scope: str) -> None:
    person = Person({**EVERYTHING, "Scope": scope})
    await create("x", person, desk.host, api_key=Secret("sk-test-abc123"))
    said = [warning for warning in person.messages("warning") if "run: pi-subagents trust" in warning]
    assert len(said) == (1 if scope == "Project" else 0)


async def test_providers_and_their_models_are_offered_where_they_are_known(desk: Desk) -> None:
    host = Host(desk.place, models=("anthropic/large", "anthropic/small", "zai/glm"))
    person = Person({"Scope": "Project", "2 of 10": "anthropic", "3 of 10": "small"})
    await create("x", person, host)
    skip, other = "Skip: leave it to pi", "Another one…"
    assert person.question("2 of 10").options == [skip, "anthropic", "zai", other]
    assert person.question("3 of 10").options == [skip, "large", "small", other]
    assert "provider: anthropic\nmodel: small\n" in body(desk)


async def test_without_a_provider_a_model_is_chosen_in_full(desk: Desk) -> None:
    host = Host(desk.place, models=("anthropic/large", "zai/glm"))
    await create("x", Person({"Scope": "Project", "3 of 10": "zai"}), host)
    assert body(desk) == "---\nname: x\nmodel: zai/glm\n---\n"


async def test_another_model_can_be_typed_and_a_doubt_is_told(desk: Desk) -> None:
    host = Host(desk.place, models=("anthropic/large", "zai/glm"))
    person = Person({"Scope": "Project", "3 of 10": ["Another", "larg"]})
    await create("x", person, host)
    assert 'Did you mean "anthropic/large"?' in person.messages("warning")[0]
    assert "model: larg\n" in body(desk)


async def test_a_list_that_would_not_fit_on_the_screen_is_not_shown(desk: Desk) -> None:
    host = Host(desk.place, models=tuple(f"router/m{number}" for number in range(300)))
    person = Person({"Scope": "Project", "2 of 10": "router", "3 of 10": "m7"})
    await create("x", person, host)
    assert person.question("3 of 10").kind == "input"
    assert not person.messages("warning")


async def test_a_tool_or_skill_that_nobody_knows_is_told(desk: Desk) -> None:
    host = Host(desk.place, tools=("read", "bash"), skills=("git",))
    answers = {"7 of 10": [True, "Allowlist", "read,bsh"], "9 of 10": [True, "gti", None]}
    person = Person({"Scope": "Project", **answers})
    await create("x", person, host)
    assert [warning.split(".")[0] for warning in person.messages("warning")] == [
        "Not known here: bsh",
        "Not known here: gti",
    ]


@pytest.mark.parametrize("name", ["", "a b", "../x", "a.b", "ü"])
async def test_what_cannot_be_a_name_is_refused_before_anything_is_asked(desk: Desk, name: str) -> None:
    person = Person()
    with pytest.raises(ProfileError, match="letters, digits"):
        await create(name, person, desk.host)
    assert not person.asked


async def test_a_name_that_is_taken_in_the_scope_is_refused_and_in_the_other_it_is_not(desk: Desk) -> None:
    desk.write("x", "---\nname: x\n---\n", "global")
    person = Person({"Scope": "Global"})
    with pytest.raises(ProfileError, match=r"already, in .*x\.md"):
        await create("x", person, desk.host)
    assert len(person.asked) == 1
    await create("x", Person({"Scope": "Project"}), desk.host)
    assert desk.path("x").exists()


async def test_a_file_of_the_name_with_another_profile_is_not_touched(desk: Desk) -> None:
    desk.write("x", "---\nname: other\n---\n")
    with pytest.raises(ProfileError, match="holds another profile"):
        await create("x", Person({"Scope": "Project"}), desk.host)
    assert body(desk) == "---\nname: other\n---\n"
