"""Skills named by a profile, as the model gets to know them."""

from __future__ import annotations

import pytest

from pi_subagents import Task
from pi_subagents.offline import Request, Say, Script
from tests.pi.stage import Play, Stage


def project_skill(stage: Stage, name: str, body: str) -> str:
    """A skill of the project; an agent that works elsewhere does not get to know it by itself."""
    text = f"---\nname: {name}\ndescription: About {name}.\n---\n{body}\n"
    return str(stage.write(f".pi/skills/{name}/SKILL.md", text))


def by_prompt(stage: Stage) -> dict[str, Request]:
    return {request.first_user_text: request for request in stage.model.requests}


async def test_a_loaded_skill_is_told_and_a_suggested_one_is_only_listed(play: Play) -> None:
    stage = play(Script().otherwise([Say("Ok.")]))
    project_skill(stage, "tea", "Boil water first.\n\nThen wait.")
    coffee = project_skill(stage, "coffee", "Grind beans.")
    stage.write_profile("plain")
    stage.write_profile("drinks", "loadSkills: tea", "suggestedSkills: coffee", "appendSystemPrompt: Serve it hot.")
    elsewhere = stage.root / "elsewhere"
    elsewhere.mkdir()
    tasks = [Task(name, name, cwd=str(elsewhere), profile=name) for name in ("plain", "drinks")]
    await stage.delegate(*tasks)
    plain, drinks = (by_prompt(stage)[name].system_text for name in ("plain", "drinks"))
    loaded = 'Serve it hot.\n\n<loaded_skill name="tea">\nBoil water first.\n\nThen wait.\n</loaded_skill>'
    assert loaded in drinks
    assert (coffee in drinks, "About coffee." in drinks) == (True, True)
    assert "Grind beans." not in drinks
    assert not any(word in plain for word in ("Boil water", "About coffee.", "<loaded_skill"))


async def test_no_skills_hides_those_that_pi_would_show(play: Play) -> None:
    stage = play(Script().otherwise([Say("Ok.")]))
    stage.write_skill("tea", "Boil water first.")
    stage.write_profile("none", "noSkills: true")
    await stage.delegate(Task("plain", "plain"), Task("none", "none", profile="none"))
    plain, none = (by_prompt(stage)[name].system_text for name in ("plain", "none"))
    assert "About tea." in plain
    assert "About tea." not in none


async def test_an_unknown_skill_fails_its_task_alone_and_lists_what_there_is(play: Play) -> None:
    stage = play(Script().otherwise([Say("Ok.")]))
    project_skill(stage, "tea", "Boil water first.")
    stage.write_skill("coffee", "Grind beans.")
    stage.write_profile("bad", "suggestedSkills: tea,bad-name", "loadSkills: worse")
    answer = await stage.call({"name": "bad", "prompt": "x", "profile": "bad"}, {"name": "good", "prompt": "y"})
    bad, good = answer.details["sessionIds"]
    assert answer.text.splitlines() == [
        '✗ bad: error — Unknown skills: "bad-name", "worse". Available skills: coffee, tea '
        f"(session: {bad}) (profile: bad, suggestedSkills=[tea,bad-name], loadSkills=[worse])",
        f"✓ good: completed (session: {good})",
    ]
    assert not answer.is_error
    assert len(stage.model.requests) == 1


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            ("suggestedSkills: tea", "noSkills: true"),
            'Profile "bad" has both "suggestedSkills" and "noSkills" set. '
            "These are mutually exclusive — --no-skills would override --skill flags.",
        ),
        (
            ("loadSkills: tea", "noSkills: true"),
            'Profile "bad" has both "loadSkills" and "noSkills" set. '
            "These are mutually exclusive — --no-skills disables skill discovery.",
        ),
        (
            ("tools: read", "excludeTools: bash"),
            'Profile "bad" has both "tools" (allowlist) and "excludeTools" (blacklist) set. '
            "These are mutually exclusive — choose one or the other.",
        ),
        (
            ("tools: read", "extraArgs: [--tools=bash]"),
            'Refusing extraArg "--tools=bash" which would override profile tool restrictions. '
            "Use the dedicated profile fields instead.",
        ),
    ],
)
async def test_a_profile_that_contradicts_itself_fails_the_call_before_anything_starts(
    play: Play, fields: tuple[str, ...], message: str
) -> None:
    stage = play(Script().otherwise([Say("Ok.")]))
    stage.write_profile("bad", *fields)
    answer = await stage.call({"name": "good", "prompt": "y"}, {"name": "bad", "prompt": "x", "profile": "bad"})
    assert (answer.text, answer.details, answer.is_error) == (message, {}, True)
    assert stage.run_dirs == []
    assert stage.model.requests == []
