"""What a stranger's project says counts as data until the user trusts it; then it works."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.kit.waiting import PATIENCE_S
from tests.security.kit import Done, Victim
from tests.security.projects import POWERFUL_FIELDS, POWERFUL_SETTINGS, TRIPWIRE, agent_file
from tests.security.things import GIT, NEIGHBOUR_SESSION, Text

WAY_OUT = "pi-subagents trust"
EVIL = {"evil": Text(TRIPWIRE, 0o755)}

ENTRANCES: dict[str, tuple[str, ...]] = {
    "run": ("run", "Say hello"),
    "call": ("call", "delegate_to_subagents", json.dumps({"tasks": [{"name": "hello", "prompt": "Say hello"}]})),
    "background start": ("background", "start", "steady", "Say hello"),
    "sessions resume": ("sessions", "resume", "--cwd", ".", NEIGHBOUR_SESSION, "Go on"),
}
"""Every command that takes --trust."""


def settings(**subagents: Any) -> dict[str, str]:
    return {".pi/settings.json": json.dumps({"subagents": subagents})}


def clone_with_program(victim: Victim, command: Any = "{clone}/evil") -> None:
    """A project that wants its own program to be the agent."""
    victim.receives({**GIT, **EVIL, **settings(piCommand=command)})
    victim.has_run_before()
    victim.arm()


def was_executed(victim: Victim) -> bool:
    victim.until_alone()
    return any(victim.tripwire.iterdir())


def with_option(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The same command with --trust, which stands after the name of the command."""
    names = 2 if argv[0] in ("background", "sessions") else 1
    return (*argv[:names], "--trust", *argv[names:])


# --- settings ---------------------------------------------------------------


@pytest.mark.parametrize("key", POWERFUL_SETTINGS)
def test_a_setting_with_power_is_ignored_with_one_warning_that_says_what_to_do(key: str, victim: Victim) -> None:
    victim.receives({**GIT, **EVIL, **settings(**{key: POWERFUL_SETTINGS[key]})})
    victim.arm()
    (done,) = victim.survives(("run", "Say hello"))
    assert done.exit_code == 0, str(done)
    about = [line for line in done.err.splitlines() if key in line]
    assert len(about) == 1, str(done)
    assert "settings.json" in about[0], str(done)
    assert WAY_OUT in about[0], str(done)


@pytest.mark.parametrize(
    "command",
    [
        "{clone}/evil",
        "./evil",
        "evil",
        "{clone}/evil --with 'arguments'",
        ["{clone}/evil", "--quietly"],
        ["/bin/sh", "-c", ": > {tripwire}/shell"],
        "sh -c ': > {tripwire}/shell'",
        "~/../clone/evil",
        "/proc/self/cwd/evil",
        "'an open quote",
        "\u0000",
        "",
        [],
    ],
    ids=repr,
)
def test_no_form_of_a_command_is_executed(command: Any, victim: Victim) -> None:
    clone_with_program(victim, command)
    victim.survives(("run", "Say hello"), ("doctor",), ("preset", "list"), ("init", "--model", "acme/large"))
    assert not was_executed(victim)


def test_harmless_settings_of_an_untrusted_project_apply_without_a_word(victim: Victim) -> None:
    harmless = {
        "maxLinesPerWindow": 7,
        "commandPreviewWidth": 50,
        "extend_timeout_debounce": 3,
        "looping_tool_count": 9,
    }
    victim.receives({**GIT, **settings(**harmless)})
    call = json.dumps({"tasks": [{"name": "hello", "prompt": "Say hello"}]})
    done = victim.run("call", "delegate_to_subagents", call)
    assert done.json()["details"]["maxLinesPerWindow"] == 7, str(done)
    assert "warning" not in victim.run("run", "Say hello").err


def test_the_diagnosis_says_what_was_ignored(victim: Victim) -> None:
    clone_with_program(victim)
    victim.receives({".pi/agent-profiles/strong.md": agent_file("strong", POWERFUL_FIELDS["extensions"])})
    done = victim.run("doctor")
    for word in ("piCommand", "extensions", "strong.md", WAY_OUT):
        assert word in done.out, str(done)


# --- profiles and presets ---------------------------------------------------


def delegated(victim: Victim, profile: str) -> Done:
    tasks = [{"name": "one", "prompt": "Say hello", "profile": profile}, {"name": "two", "prompt": "Say hello"}]
    return victim.run("call", "delegate_to_subagents", json.dumps({"tasks": tasks}))


@pytest.mark.parametrize("key", POWERFUL_FIELDS)
def test_a_profile_with_power_fails_its_task_alone_and_says_what_to_do(key: str, victim: Victim) -> None:
    victim.receives({**GIT, **EVIL, ".pi/agent-profiles/strong.md": agent_file("strong", POWERFUL_FIELDS[key])})
    victim.arm()
    done = delegated(victim, "strong")
    victim.is_unharmed_by(done)
    bad, good = done.json()["details"]["windows"]
    assert (bad["status"], good["status"]) == ("error", "completed"), str(done)
    for word in ("strong.md", key, WAY_OUT):
        assert word in bad["errorMessage"], str(done)
    shown = victim.run("profile", "show", "strong")
    assert WAY_OUT in shown.said, str(shown)
    assert "sk-of-a-stranger" not in shown.said


@pytest.mark.parametrize("key", POWERFUL_FIELDS)
@pytest.mark.parametrize("way", ["subagent", "background_agent"])
def test_a_preset_with_power_fails_and_says_what_to_do(way: str, key: str, victim: Victim) -> None:
    victim.receives({**GIT, **EVIL, ".pi/subagents/strong.md": agent_file("strong", POWERFUL_FIELDS[key])})
    victim.arm()
    done = victim.run("call", way, json.dumps({"preset": "strong", "task": "Say hello"}))
    victim.until_alone()
    victim.is_unharmed_by(done)
    said = done.said
    if way == "background_agent" and done.exit_code == 0:
        run_id = done.json()["details"]["run"]["runId"]
        said += victim.run("call", "background_agent_status", json.dumps({"runId": run_id, "wait_s": PATIENCE_S})).said
    for word in ("strong.md", key, WAY_OUT):
        assert word in said, said


@pytest.mark.parametrize(
    "line", ["extraArgs: [--approve]", "extraArgs: --approve", "extraArgs: [-e, ./evil.ts]", "extraArgs: []"]
)
def test_a_profile_cannot_approve_itself(line: str, victim: Victim) -> None:
    victim.receives({**GIT, ".pi/agent-profiles/strong.md": agent_file("strong", line)})
    done = victim.run("run", "--json", "-p", "strong", "Say hello")
    argv = "".join(path.read_text() for path in victim.runs.glob("*/meta.json"))
    assert "--approve" not in argv, str(done)
    assert "evil.ts" not in argv, str(done)
    assert done.exit_code == (0 if line.endswith("[]") else 2), str(done)


def test_an_untrusted_profile_takes_the_place_of_a_global_one_and_does_not_fall_back_to_it(victim: Victim) -> None:
    victim.receives({**GIT, ".pi/agent-profiles/safe.md": agent_file("safe", POWERFUL_FIELDS["extensions"])})
    done = victim.run("run", "-p", "safe", "Say hello")
    assert done.exit_code == 2, str(done)
    assert WAY_OUT in done.said, str(done)


def test_what_only_describes_or_restricts_works_without_trust(victim: Victim) -> None:
    harmless = (
        "thinkingLevel: high",
        "tools: [read, grep]",
        "noExtensions: true",
        "noContextFiles: true",
        "noSkills: true",
    )
    victim.receives({**GIT, ".pi/agent-profiles/plain.md": agent_file("plain", *harmless)})
    done = victim.run("run", "--json", "-p", "plain", "Say hello")
    assert done.exit_code == 0, str(done)
    argv = json.loads(next(victim.runs.glob("*/meta.json")).read_text())["argv"]
    for word in ("acme/large", "high", "--no-extensions"):
        assert word in " ".join(argv)


@pytest.mark.parametrize("where", ["{home}/private", "../../{up}/private", "/etc"])
def test_skills_from_outside_the_project_are_not_given_to_a_strangers_profile(where: str, victim: Victim) -> None:
    (victim.home / "private" / "SKILL.md").write_text("---\nname: diary\ndescription: Private.\n---\nDear diary.\n")
    victim.receives({**GIT, ".pi/settings.json": json.dumps({"skills": [where]})})
    victim.receives({".pi/agent-profiles/curious.md": agent_file("curious", "loadSkills: [diary]")})
    victim.arm()
    done = victim.run("run", "-p", "curious", "Say hello")
    assert done.exit_code == 2, str(done)
    assert "Dear diary" not in done.said
    assert not [path for path in victim.runs.rglob("*.md") if "Dear diary" in path.read_text()]


# --- trusting ---------------------------------------------------------------


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_trusted_project_works_until_the_trust_is_revoked(entrance: str, victim: Victim) -> None:
    clone_with_program(victim)
    argv = ENTRANCES[entrance]
    assert victim.run("trust").exit_code == 0
    assert str(victim.clone) in victim.run("trust", "--list", cwd=victim.home).out
    done = victim.run(*argv)
    assert was_executed(victim), f"the tripwire works\n{done}"
    assert WAY_OUT not in done.err
    for path in victim.tripwire.iterdir():
        path.unlink()
    assert victim.run("trust", "--revoke").exit_code == 0
    assert str(victim.clone) not in victim.run("trust", "--list", cwd=victim.home).out
    victim.run(*argv)
    assert not was_executed(victim)


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_trust_for_one_call_is_for_one_call(entrance: str, victim: Victim) -> None:
    clone_with_program(victim)
    argv = ENTRANCES[entrance]
    done = victim.run(*with_option(argv))
    assert was_executed(victim), f"the tripwire works\n{done}"
    for path in victim.tripwire.iterdir():
        path.unlink()
    victim.run(*argv)
    assert not was_executed(victim)
    assert str(victim.clone) not in victim.run("trust", "--list").out


def test_the_decision_is_kept_for_its_owner_alone(victim: Victim) -> None:
    clone_with_program(victim)
    before = {path for path in victim.agent_dir.rglob("*") if path.is_file()}
    assert victim.run("trust", str(victim.clone), cwd=victim.home).exit_code == 0
    made = [
        path
        for path in victim.agent_dir.rglob("*")
        if path.is_file() and str(victim.clone) in path.read_text("utf-8", "replace")
    ]
    assert [path for path in made if path not in before or "trust" in path.name], (
        "it is somewhere in the agent directory"
    )
    assert [oct(path.stat().st_mode & 0o777) for path in made if "trust" in path.name] == ["0o600"]


@pytest.mark.parametrize("is_link", [False, True])
def test_trust_is_in_a_directory_and_not_in_what_has_its_name_or_what_it_leads_to_later(
    is_link: bool, victim: Victim
) -> None:
    clone_with_program(victim)
    assert victim.run("trust").exit_code == 0
    victim.clone.rename(victim.root / "the first clone")
    stranger = victim.root / "stranger" if is_link else victim.clone
    stranger.mkdir()
    if is_link:
        victim.clone.symlink_to(stranger)
    clone_with_program(victim)
    victim.run("run", "Say hello")
    assert not was_executed(victim)


@pytest.mark.parametrize(("decision", "executed"), [(True, True), (False, False)])
def test_what_pi_was_told_about_a_project_holds_here_too(decision: bool, executed: bool, victim: Victim) -> None:
    (victim.agent_dir / "trust.json").write_text(json.dumps({str(victim.clone): decision}))
    clone_with_program(victim)
    victim.run("run", "Say hello")
    assert was_executed(victim) is executed


@pytest.mark.parametrize(("trusted", "executed"), [(True, True), (False, False), (None, False)])
def test_what_the_parent_session_decided_holds_for_its_agents(
    trusted: bool | None, executed: bool, victim: Victim
) -> None:
    clone_with_program(victim)
    hello = {"protocol": 1, "extension": "0", "pi": "0.87.1", "path": "", "mode": "rpc"}
    session = {"reason": "startup", "sessionId": "01990000-0000-7000-8000-000000000001", "cwd": str(victim.clone)}
    tasks = {"tasks": [{"name": "hello", "prompt": "Say hello"}]}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "hello", "params": hello},
        {"method": "session/start", "params": {**session, "trusted": trusted, "entries": [], "told": []}},
        {"id": 2, "method": "tool/call", "params": {"call": "1", "name": "delegate_to_subagents", "arguments": tasks}},
    ]
    talk = victim.converse("bridge", messages)
    assert was_executed(victim) is executed, talk


@pytest.mark.parametrize("path", [".pi/trust.json", ".pi/agent/trust.json", "trust.json", ".pi/subagents/trust.json"])
def test_a_project_cannot_trust_itself(path: str, victim: Victim) -> None:
    clone_with_program(victim)
    victim.receives({path: json.dumps({"{clone}": True, "/": True, "*": True})})
    victim.run("run", "Say hello")
    assert not was_executed(victim)


# --- files of the user's own ------------------------------------------------


@pytest.mark.parametrize("mode", [0o644, 0o666, 0o622, 0o777])
def test_settings_of_the_users_own_have_all_power_unless_others_can_write_them(mode: int, victim: Victim) -> None:
    victim.receives({**GIT, **EVIL})
    path = victim.agent_dir / "settings.json"
    path.write_text(json.dumps({"subagents": {"piCommand": str(victim.clone / "evil")}}))
    path.chmod(mode)
    done = victim.run("run", "Say hello")
    assert was_executed(victim) is (mode == 0o644), str(done)
    assert ("settings.json" in done.err) is (mode != 0o644), str(done)
