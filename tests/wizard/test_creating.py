"""Creating a profile: ten steps, each of which can be skipped, and nothing on disk before the last one."""

from __future__ import annotations

from typing import Any

import pytest

from pi_subagents.errors import ProfileError
from pi_subagents.models import Secret
from pi_subagents.wizard import Cancelled, Host, create
from pi_subagents.wizard.questions import BACK
from tests.wizard.person import ESC, Desk, Person

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
    lists = [question for question in person.asked if question.kind == "select" and "\n" not in question.title]
    skip = "Skip: leave it to the agent"
    assert {question.title: question.options for question in lists} == {
        "Step 1 of 10: Scope": ["Global (~/agent/agent-profiles/)", "Project (.pi/agent-profiles/)"],
        "Step 6 of 10: Thinking level": [skip, "off", "minimal", "low", "medium", "high", "xhigh", BACK],
        "Step 7 of 10: Tools": ["Skip: all tools", "Disable all tools", "Allowlist", "Blacklist", BACK],
        "Step 8 of 10: Extensions": [skip, "Disable all extensions", "Enter paths", BACK],
    }
    assert person.question("Review").options == ["Save it", "Edit the description", "Do not save it", BACK]


async def test_enter_at_every_question_restricts_nothing(desk: Desk) -> None:
    host = Host(desk.place, models=("anthropic/large",), tools=("read",), skills=("git",))
    yes = {f"{number} of 10": True for number in range(4, 10)}
    for number, answers in enumerate(({}, yes, *({title: True} for title in yes))):
        await create(f"x{number}", Person({"Scope": "Project", **answers}), host)
        assert body(desk, f"x{number}") == f"---\nname: x{number}\n---\n"


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
    with pytest.raises(Cancelled):
        await create("x", Person({**EVERYTHING, "Review": "Do not save it"}), desk.host)
    assert desk.files() == before


async def test_the_review_shows_everything_but_the_key(desk: Desk) -> None:
    person = Person({**EVERYTHING, "4 of 10": [True, "\n".join(map(str, range(50)))]})
    await create("x", person, desk.host, api_key=Secret("sk-test-abc123"))
    review = person.question("Review").title
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
    skip, other = "Skip: leave it to the agent", "Another one…"
    assert person.question("2 of 10").options == [skip, "anthropic", "zai", other, BACK]
    assert person.question("3 of 10").options == [skip, "large", "small", other, BACK]
    assert "provider: anthropic\nmodel: small\n" in body(desk)
    await create("y", Person({"Scope": "Project", "3 of 10": "zai"}), host)
    assert body(desk, "y") == "---\nname: y\nmodel: zai/glm\n---\n", "without a provider it is chosen in full"


PROVIDER, MODEL, TOOLS, SKILLS = "2 of 10", "3 of 10", "7 of 10", "9 of 10"


@pytest.mark.parametrize(
    ("title", "typed", "answers", "saved"),
    [
        (PROVIDER, ["Another", "antropic"], [None], "provider: anthropic"),
        (PROVIDER, ["Another", "antropic"], ["Keep"], "provider: antropic"),
        (PROVIDER, ["Another", "nonsense"], ["Type it again", "zai"], "provider: zai"),
        (PROVIDER, ["Another", "zai"], [], "provider: zai"),
        (MODEL, ["Another", "lareg"], [None], "model: anthropic/large"),
        (MODEL, ["Another", "lareg"], ['Keep "lareg"'], "model: lareg"),
        (MODEL, ["Another", "lareg"], ["Type it again", "Another", "zai/glm"], "model: zai/glm"),
        (MODEL, ["Another", "LARGE:high"], [], "model: LARGE:high"),
        (MODEL, ["Another", "larg"], [], "model: larg"),
        (MODEL, ["Another", "nothing-like-it"], ['Keep "nothing-like-it"'], "model: nothing-like-it"),
        (TOOLS, [True, "Allowlist", "read,bsh"], [None], "tools: read,bash"),
        (TOOLS, [True, "Allowlist", "read,bsh"], ['Keep "bsh"'], "tools: read,bsh"),
        (TOOLS, [True, "Allowlist", "read,bsh"], ["Type it again", "read"], "tools: read"),
        (TOOLS, [True, "Allowlist", "read,bsh,xyzzy"], ['Use "bash"'], "tools: read,bash,xyzzy"),
        (TOOLS, [True, "Allowlist", "xyzzy"], [None, "bash"], "tools: bash"),
        (TOOLS, [True, "Allowlist", "codemode,mcp__notes__write"], [], "tools: codemode,mcp__notes__write"),
        (TOOLS, [True, "Allowlist", "read,web_*"], [], 'tools: ["read", "web_*"]'),
        (SKILLS, [True, "gti"], [None], "suggestedSkills: git"),
    ],
)
async def test_a_word_that_is_not_known_here_is_asked_about_once_more(
    desk: Desk, title: str, typed: list[Any], answers: list[Any], saved: str
) -> None:
    host = Host(desk.place, models=("anthropic/large", "zai/glm"), tools=("read", "bash"), skills=("git",))
    person = Person({"Scope": "Project", title: [*typed, *answers]})
    await create("x", person, host)
    assert body(desk) == f"---\nname: x\n{saved}\n---\n"
    doubts = [question for question in person.titles if "Not known here" in question]
    assert len(doubts) == bool(answers)
    has_hint = any(word in str(typed[-1]) for word in ("antropic", "lareg", "bsh", "gti"))
    assert all(("Did you mean" in doubt) == has_hint for doubt in doubts)


async def test_a_model_is_doubted_beside_those_of_its_provider_known_or_not(desk: Desk) -> None:
    host = Host(desk.place, models=("anthropic/large", "zai/glm"))
    person = Person({"Scope": "Project", PROVIDER: "anthropic", MODEL: ["Another", "lareg", 'Use "large"']})
    await create("x", person, host)
    assert body(desk) == "---\nname: x\nprovider: anthropic\nmodel: large\n---\n"
    person = Person({"Scope": "Project", PROVIDER: ["Another", "nonsense", "Keep"], MODEL: ["wrongmodel", "Keep"]})
    await create("y", person, host)
    assert 'Not known here: "wrongmodel". Use it anyway?' in person.titles[5]
    assert body(desk, "y") == "---\nname: y\nprovider: nonsense\nmodel: wrongmodel\n---\n"


async def test_a_list_that_would_not_fit_on_the_screen_is_not_shown(desk: Desk) -> None:
    host = Host(desk.place, models=tuple(f"router/m{number}" for number in range(300)))
    person = Person({"Scope": "Project", "2 of 10": "router", "3 of 10": "m7"})
    await create("x", person, host)
    assert person.question("3 of 10").kind == "input"
    assert not person.messages("warning")


async def test_back_leads_to_the_question_before_and_keeps_the_answers(desk: Desk) -> None:
    person = Person(
        {"Scope": ["Global", "Project"], "2 of 10": "anthropic", "3 of 10": "m", "7 of 10": [True, BACK, BACK]}
    )
    person.answers("6 of 10", False, BACK)
    person.answers("5 of 10", False, False)
    await create("x", person, desk.host)
    numbers = [int(title.split()[1]) for title in person.titles]
    assert numbers == [1, 2, 3, 4, 5, 6, 7, 7, 7, 6, 5, 6, 7, 8, 9, 10]
    assert "provider: anthropic\nmodel: m\n" in desk.path("x", "global").read_text()


async def test_escape_leaves_at_once_before_there_is_an_answer_and_later_after_one_question(desk: Desk) -> None:
    for answers, count in (({"Scope": ESC}, 1), ({"4 of 10": ESC}, 5), ({"4 of 10": ESC, "Leave": ESC}, 5)):
        person = Person(answers)
        with pytest.raises(Cancelled):
            await create("x", person, desk.host)
        assert len(person.asked) == count
        assert ("Leave without saving?" in person.titles) == (count > 1)
    assert desk.files() == {}


@pytest.mark.parametrize("way", ["Skip this step", BACK])
async def test_escape_also_offers_to_skip_the_step_and_to_go_back(desk: Desk, way: str) -> None:
    person = Person({"Scope": "Project", "3 of 10": [ESC, "m"], "Leave": way})
    await create("x", person, desk.host)
    assert person.question("Leave").options == ["Leave: nothing is saved", "Skip this step", BACK]
    assert body(desk) == ("---\nname: x\n---\n" if way != BACK else "---\nname: x\nmodel: m\n---\n")


@pytest.mark.parametrize(
    ("answers", "ways"),
    [({"Scope": ["Project", ESC], "2 of 10": ESC, "Leave": BACK}, []), ({"Scope": "Project", "Review": ESC}, [BACK])],
)
async def test_neither_the_scope_nor_the_review_can_be_skipped(
    desk: Desk, answers: dict[str, Any], ways: list[str]
) -> None:
    person = Person(answers)
    with pytest.raises(Cancelled):
        await create("x", person, desk.host)
    assert person.question("Leave").options == ["Leave: nothing is saved", *ways]
    assert desk.files() == {}


async def test_a_description_is_said_beforehand_or_at_the_review_and_shown_there(desk: Desk) -> None:
    person = Person({"Scope": "Project", "Review": ["Edit", "Save it"], "Description": "Reviews: all of it."})
    await create("x", person, desk.host, description="Reviews.")
    reviews = [title for title in person.titles if "Review." in title]
    assert ["description: Reviews.\n" in reviews[0], "description: Reviews: all of it.\n" in reviews[1]] == [True, True]
    assert body(desk) == '---\nname: x\ndescription: "Reviews: all of it."\n---\n'


@pytest.mark.parametrize("name", ["", "a b", "../x", "a.b", "ü"])
async def test_what_cannot_be_a_name_is_refused_before_anything_is_asked(desk: Desk, name: str) -> None:
    person = Person()
    with pytest.raises(ProfileError, match="letters, digits"):
        await create(name, person, desk.host)
    assert not person.asked


async def test_a_name_that_is_taken_in_the_scope_is_refused_and_in_the_other_it_is_not(desk: Desk) -> None:
    desk.write("x", "---\nname: x\n---\n", "global")
    person = Person({"Scope": "Global"})
    with pytest.raises(ProfileError, match=r"already exists in .*x\.md"):
        await create("x", person, desk.host)
    assert len(person.asked) == 1
    await create("x", Person({"Scope": "Project"}), desk.host)
    assert desk.path("x").exists()


async def test_a_file_of_the_name_with_another_profile_is_not_touched(desk: Desk) -> None:
    desk.write("x", "---\nname: other\n---\n")
    with pytest.raises(ProfileError, match="contains another profile"):
        await create("x", Person({"Scope": "Project"}), desk.host)
    assert body(desk) == "---\nname: other\n---\n"
