"""Editing and deleting: only what was changed differs afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi_subagents.errors import ProfileError
from pi_subagents.wizard import Cancelled, Host, delete, edit
from pi_subagents.wizard.questions import BACK
from tests.wizard.person import AS_IT_STANDS, ESC, Desk, Person

KEY = "sk-very-secret-key"
COMMENTED = f"""---
# the careful one
name: x  # never renamed
provider: anthropic
model: "gpt-4.10" # pinned
tools:
  - read
  - "odd,name"
# house rule
thinkingLevel: high
colour: red
apiKey: '{KEY}'
extraArgs: ['--a=1,2']
extensions: ["./a,b.ts"]
loadSkills: git
appendSystemPrompt: |
  one

  two
noContextFiles: true
---

Body with a rule

---

below."""

TOUCH_EVERYTHING: dict[str, Any] = {
    "2 of 10": AS_IT_STANDS,
    "3 of 10": AS_IT_STANDS,
    "4 of 10": [True, AS_IT_STANDS],
    "5 of 10": [True, AS_IT_STANDS],
    "6 of 10": [True, "high"],
    "7 of 10": [True, "Allowlist", AS_IT_STANDS],
    "8 of 10": [True, "Enter paths", AS_IT_STANDS],
    "9 of 10": ["Change it", None, AS_IT_STANDS],
}


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        (COMMENTED, {}),
        (COMMENTED, TOUCH_EVERYTHING),
        (COMMENTED.replace("\n", "\r\n"), TOUCH_EVERYTHING),
        ("---\nname: x\n---", {}),
    ],
)
async def test_whoever_changes_nothing_leaves_every_byte(desk: Desk, text: str, answers: dict[str, Any]) -> None:
    desk.write("x", text)
    before = desk.files()
    person = Person(answers)
    await edit("x", person, desk.host)
    assert desk.files() == before
    assert person.messages("info") == ['Nothing was changed in the profile "x".']
    assert "Review" in person.titles[-1]


@pytest.mark.parametrize(
    ("answers", "old", "new"),
    [
        ({"3 of 10": "m2"}, 'model: "gpt-4.10" # pinned', "model: m2 # pinned"),
        ({"3 of 10": ""}, 'model: "gpt-4.10" # pinned\n', ""),
        ({"4 of 10": [True, "New."]}, "Body with a rule\n\n---\n\nbelow.", "New.\n"),
        ({"5 of 10": [True, ""]}, "appendSystemPrompt: |\n  one\n\n  two\n", ""),
        ({"6 of 10": [True, "low"]}, "thinkingLevel: high", "thinkingLevel: low"),
        ({"6 of 10": [True, "Remove it"]}, "thinkingLevel: high\n", ""),
        ({"7 of 10": [True, "Remove it"]}, 'tools:\n  - read\n  - "odd,name"\n', ""),
        ({"7 of 10": [True, "Allowlist", "ls"]}, 'tools:\n  - read\n  - "odd,name"\n', "tools: ls\n"),
        ({"8 of 10": [True, "Remove it"]}, 'extensions: ["./a,b.ts"]\n', ""),
        ({"9 of 10": "Remove it"}, "loadSkills: git\n", ""),
        ({"9 of 10": ["Change it", None, "git,web"]}, "loadSkills: git\n", "loadSkills: git,web\n"),
    ],
)
async def test_a_change_leaves_comments_key_and_all_other_fields(
    desk: Desk, answers: dict[str, Any], old: str, new: str
) -> None:
    path = desk.write("x", COMMENTED)
    person = Person(answers)
    await edit("x", person, desk.host)
    assert old in COMMENTED
    assert path.read_text() == COMMENTED.replace(old, new)
    assert KEY not in person.words
    assert path.stat().st_mode & 0o777 == 0o600


async def test_what_there_is_stands_in_the_fields(desk: Desk) -> None:
    desk.write("x", COMMENTED)
    person = Person(TOUCH_EVERYTHING)
    await edit("x", person, desk.host)
    shown = {question.title[5:12]: question.initial for question in person.asked if question.kind != "confirm"}
    assert shown["2 of 10"] == "anthropic"
    assert shown["3 of 10"] == "gpt-4.10"
    assert shown["4 of 10"] == "Body with a rule\n\n---\n\nbelow."
    assert shown["5 of 10"] == "one\n\ntwo\n"
    assert shown["7 of 10"] == "read,odd,name"
    assert shown["8 of 10"] == "./a,b.ts"
    assert shown["9 of 10"] == "git"


async def test_offered_models_do_not_push_out_what_there_is(desk: Desk) -> None:
    path = desk.write("x", COMMENTED)
    host = Host(desk.place, models=("anthropic/large", "zai/glm"))
    person = Person()
    await edit("x", person, host)
    assert person.question("3 of 10").options == ["Keep it: gpt-4.10", "large", "Another one…", "Remove it", BACK]
    assert path.read_text() == COMMENTED


async def test_leaving_at_any_question_writes_nothing(desk: Desk) -> None:
    desk.write("x", COMMENTED)
    changes = {**TOUCH_EVERYTHING, "3 of 10": "m2", "6 of 10": [True, "low"]}
    before = desk.files()
    full = Person({**changes, "Review": "Do not save it"})
    with pytest.raises(Cancelled):
        await edit("x", full, desk.host)
    for number in range(len(full.asked)):
        with pytest.raises(Cancelled):
            await edit("x", Person(changes, leaves_at=number), desk.host)
    assert desk.files() == before


async def test_a_changed_mind_about_the_scope_keeps_the_answers(desk: Desk) -> None:
    desk.write("x", "---\nname: x\nmodel: p\n---\n")
    path = desk.write("x", "---\nname: x\nmodel: g\nprovider: q\n---\n", "global")
    person = Person({"Scope": ["Project", "Global"], "3 of 10": "m2", "4 of 10": BACK, "5 of 10": [True, "Be brief."]})
    person.answers("3 of 10", ESC, "m3")
    person.answers("Leave", BACK)
    person.answers("2 of 10", AS_IT_STANDS, ESC)
    person.answers("Leave", BACK)
    await edit("x", person, desk.host)
    assert path.read_text() == '---\nname: x\nmodel: m3\nprovider: q\nappendSystemPrompt: "Be brief."\n---\n'
    assert desk.path("x").read_text() == "---\nname: x\nmodel: p\n---\n"


async def test_an_empty_list_does_not_lift_a_ban(desk: Desk) -> None:
    path = desk.write("x", "---\nname: x\nnoTools: true\n---\n")
    await edit("x", Person({"7 of 10": [True, "Allowlist", " "]}), desk.host)
    assert "noTools: true" in path.read_text()
    await edit("x", Person({"7 of 10": [True, "Allowlist", "read"]}), desk.host)
    assert path.read_text() == "---\nname: x\ntools: read\n---\n"


async def test_naming_skills_takes_back_that_there_are_none(desk: Desk) -> None:
    path = desk.write("x", "---\nname: x\nnoSkills: true\n---\n")
    await edit("x", Person({"9 of 10": [True, "git", None]}), desk.host)
    assert path.read_text() == "---\nname: x\nsuggestedSkills: git\n---\n"


async def test_only_names_that_are_new_are_doubted(desk: Desk) -> None:
    path = desk.write("x", "---\nname: x\nloadSkills: gone\n---\n")
    host = Host(desk.place, skills=("git",))
    person = Person({"9 of 10": ["Change it", None, "gone, gti"]})
    await edit("x", person, host)
    assert person.question("Not known here").title.endswith('Not known here: "gti". Did you mean "git"?')
    assert path.read_text() == "---\nname: x\nloadSkills: gone,git\n---\n"


async def test_what_would_fail_every_task_is_told_before_it_is_saved(desk: Desk) -> None:
    desk.write("x", "---\nname: x\nextraArgs: --tools=read\n---\n")
    person = Person({"7 of 10": [True, "Disable all tools"]})
    await edit("x", person, desk.host)
    assert "override profile tool restrictions" in person.messages("warning")[0]


OTHER = """---
name: x
agent: claude
program: /opt/claude --fast # ours
approvals: allow
maxTurns: 12
maxCost: 0.50
---
"""


async def test_fields_of_another_agent_stay_and_are_shown_before_it_is_saved(desk: Desk) -> None:
    path = desk.write("x", OTHER)
    person = Person({"3 of 10": "opus"})
    await edit("x", person, Host(desk.place, models=("anthropic/large",)))
    shown = person.question("Review").title.splitlines()
    assert {"agent: claude", "program: /opt/claude --fast", "approvals: allow", "maxTurns: 12"} <= set(shown)
    assert path.read_text() == OTHER.replace("0.50\n", "0.50\nmodel: opus\n")
    assert not any("Not known here" in question.title for question in person.asked), "its models are not those of pi"


async def test_the_tools_of_another_agent_are_its_own(desk: Desk) -> None:
    path = desk.write("x", "---\nname: x\nagent: claude\n---\n")
    person = Person({"7 of 10": [True, "Allowlist", "read, WebFetch"]})
    await edit("x", person, Host(desk.place, tools=("read", "bash")))
    assert "tools: read,WebFetch\n" in path.read_text()
    assert not any("Not known here" in question.title for question in person.asked)
    assert "available" not in person.question("7 of 10: Tools to allow").title
    person = Person({"7 of 10": [True, "Allowlist", "codemode", "Type it again", "Bash"]})
    await edit("x", person, Host(desk.place, tools=("read", "bash")))
    assert "tools: Bash\n" in path.read_text()


async def test_what_another_agent_cannot_be_given_is_told_before_it_is_saved(desk: Desk) -> None:
    desk.write("x", "---\nname: x\nagent: codex\nmaxCost: 1\n---\n")
    person = Person({"Review": "Do not save it"})
    with pytest.raises(Cancelled):
        await edit("x", person, desk.host)
    refused = 'Profile "x" sets "maxCost", which the agent "codex" does not support. Leave it out'
    assert [warning for warning in person.messages("warning") if warning.startswith(refused)]


async def test_what_somebody_else_changed_meanwhile_stays(desk: Desk) -> None:
    path = desk.write("x", "---\nname: x\nmodel: a\nprovider: p\n---\n")

    def agree() -> str:
        desk.write("x", "---\nname: x\nmodel: a\nprovider: q\n---\n\nNew body.\n")
        return "Save it"

    await edit("x", Person({"3 of 10": "b", "Review": agree}), desk.host)
    assert path.read_text() == "---\nname: x\nmodel: b\nprovider: q\n---\n\nNew body.\n"


async def test_of_two_scopes_the_one_in_force_comes_first_and_the_other_can_be_chosen(desk: Desk) -> None:
    desk.write("x", "---\nname: x\nmodel: p\n---\n")
    path = desk.write("x", "---\nname: x\nmodel: g\n---\n", "global")
    person = Person({"Scope": "Global", "3 of 10": "g2"})
    await edit("x", person, desk.host)
    assert [option.split()[0] for option in person.question("Scope").options] == ["Project", "Global"]
    assert person.question("3 of 10").initial == "g"
    assert "g2" in path.read_text()
    assert "model: p" in desk.path("x").read_text()


async def test_a_scope_without_the_profile_gets_a_copy_with_its_comments(desk: Desk) -> None:
    path = desk.write("x", COMMENTED, "global")
    person = Person({"Scope": "Project", "3 of 10": "m2"})
    await edit("x", person, desk.host)
    assert desk.path("x").read_text() == COMMENTED.replace('"gpt-4.10"', "m2")
    assert path.read_text() == COMMENTED
    assert f"{path} is not changed" in person.words
    assert desk.path("x").stat().st_mode & 0o777 == 0o600


async def test_a_copy_is_made_though_nothing_is_changed_in_it(desk: Desk) -> None:
    desk.write("x", COMMENTED, "global")
    await edit("x", Person({"Scope": "Project"}), desk.host)
    assert desk.path("x").read_text() == COMMENTED


async def test_what_is_not_there_or_broken_is_refused_with_a_reason(desk: Desk) -> None:
    desk.write("broken", "---\nname: broken\nnoTools: maybe\n---\n")
    with pytest.raises(ProfileError, match='Unknown profile: "x"'):
        await edit("x", Person(), desk.host)
    with pytest.raises(ProfileError, match=r'broken\.md:3: "noTools"'):
        await edit("broken", Person(), desk.host)


async def test_a_profile_is_deleted_after_a_yes_and_only_then(desk: Desk) -> None:
    path = desk.write("x", "---\nname: x\n---\n")
    for person in (Person(), Person(leaves_at=0)):
        with pytest.raises(Cancelled):
            await delete("x", person, desk.host)
        assert path.exists()
        assert str(path) in person.question('Delete the profile "x"?').message
    person = Person({"Delete": True})
    await delete("x", person, desk.host)
    assert not path.exists()
    assert person.messages("info") == [f'Deleted the profile "x": {path}']


@pytest.mark.parametrize(("choice", "kept"), [("Global", "project"), ("Project", "global")])
async def test_of_two_with_the_name_one_is_asked_for_and_deleted(desk: Desk, choice: str, kept: Any) -> None:
    paths: list[Path] = [desk.write("x", "---\nname: x\n---\n", scope) for scope in ("global", "project")]
    with pytest.raises(Cancelled):
        await delete("x", Person({"Which": ESC, "Delete": True}), desk.host)
    assert all(path.exists() for path in paths)
    person = Person({"Which": choice, "Delete": True})
    await delete("x", person, desk.host)
    assert ("will apply instead" in person.question("Delete").message) == (kept == "global")
    assert [path for path in paths if path.exists()] == [desk.path("x", kept)]


async def test_a_broken_file_can_be_deleted(desk: Desk) -> None:
    path = desk.write("broken", "nonsense")
    await delete("broken", Person({"Delete": True}), desk.host)
    assert not path.exists()
