"""Skills named by a profile, as the model gets to know them."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from pi_subagents import Task
from pi_subagents.offline import Request
from tests.pi.stage import Stage

SKILLS = "tea,coffee,milk"
KINDS = ("plain", "suggests", "loads")


def project_skill(stage: Stage, name: str, body: str) -> str:
    """A skill of the project; an agent that works elsewhere does not get to know it by itself."""
    text = f"---\nname: {name}\ndescription: About {name}.\n---\n{body}\n"
    return str(stage.write(f".pi/skills/{name}/SKILL.md", text))


def by_prompt(stage: Stage) -> dict[str, Request]:
    return {request.first_user_text: request for request in stage.model.requests}


async def test_a_loaded_skill_is_told_and_a_suggested_one_is_only_listed(stage: Stage) -> None:
    project_skill(stage, "tea", "Boil water first.\n\nThen wait.")
    coffee = project_skill(stage, "coffee", "Grind beans.")
    stage.write_profile("plain")
    stage.write_profile("drinks", "loadSkills: tea", "suggestedSkills: coffee", "appendSystemPrompt: Serve it hot.")
    elsewhere = stage.root / "elsewhere"
    elsewhere.mkdir()
    await stage.delegate(*(Task(name, name, cwd=str(elsewhere), profile=name) for name in ("plain", "drinks")))
    plain, drinks = (by_prompt(stage)[name].system_text for name in ("plain", "drinks"))
    loaded = 'Serve it hot.\n\n<loaded_skill name="tea">\nBoil water first.\n\nThen wait.\n</loaded_skill>'
    assert loaded in drinks
    assert (coffee in drinks, "About coffee." in drinks) == (True, True)
    assert "Grind beans." not in drinks
    assert not any(word in plain for word in ("Boil water", "About coffee.", "<loaded_skill"))


@pytest.mark.parametrize("where", ["project", "elsewhere"])
@pytest.mark.parametrize("pi_trusts", [True, False])
async def test_of_several_skills_with_one_name_both_fields_mean_the_one_that_pi_takes_itself(
    stage: Stage, where: str, pi_trusts: bool
) -> None:
    cwd = stage.root / where
    places = {
        stage.project / ".pi": "tea",
        cwd / ".pi": "tea",
        stage.agent_dir: "tea,coffee",
        stage.root / "package": SKILLS,
    }
    bodies = {
        write_skill(folder / "skills", name): f"{name} of {folder}"
        for folder, names in places.items()
        for name in names.split(",")
    }
    merge(stage.agent_dir / "settings.json", {"packages": [str(stage.root / "package")]})
    merge(stage.agent_dir / "trust.json", {str(cwd): pi_trusts})
    stage.write_profile("plain")
    stage.write_profile("suggests", f"suggestedSkills: {SKILLS}")
    stage.write_profile("loads", f"loadSkills: {SKILLS}")
    results = await stage.delegate(*(Task(name, name, cwd=str(cwd), profile=name) for name in KINDS))
    assert all(result.ok for result in results)
    plain, suggests, loads = (by_prompt(stage)[name].system_text for name in KINDS)
    taken = dict(re.findall(r"<name>(.*)</name>[^/]*</description>\s*<location>(.*)</location>", plain))
    assert set(taken) == set(SKILLS.split(","))
    assert (taken["tea"] == str(cwd / ".pi/skills/tea/SKILL.md")) == pi_trusts
    assert set(re.findall("<location>(.*)</location>", suggests)) == set(taken.values())
    argv = json.loads((results[1].run_dir / "meta.json").read_text())["argv"]
    assert [value for flag, value in pairwise(argv) if flag == "--skill"] == [taken[name] for name in SKILLS.split(",")]
    loaded = re.findall(r'<loaded_skill name="(.*)">\n(.*)\n', loads)
    assert loaded == [(name, bodies[taken[name]]) for name in SKILLS.split(",")]


def write_skill(folder: Path, name: str) -> str:
    """A skill whose body says where it is; its path."""
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\nname: {name}\ndescription: About {name}.\n---\n{name} of {folder.parent}\n")
    return str(file)


def merge(path: Path, members: dict[str, object]) -> None:
    """Add members to a file that may have some."""
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | members))


async def test_no_skills_hides_those_that_pi_would_show(stage: Stage) -> None:
    stage.write_skill("tea", "Boil water first.")
    stage.write_profile("none", "noSkills: true")
    await stage.delegate(Task("plain", "plain"), Task("none", "none", profile="none"))
    plain, none = (by_prompt(stage)[name].system_text for name in ("plain", "none"))
    assert "About tea." in plain
    assert "About tea." not in none


async def test_an_unknown_skill_fails_its_task_alone_and_lists_what_there_is(stage: Stage) -> None:
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
