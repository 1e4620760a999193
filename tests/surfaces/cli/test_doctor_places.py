"""`pi-subagents doctor`: what it finds of directories, records, settings, profiles, trust and containment."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi_subagents.models.event import Created, Ended, Event
from pi_subagents.models.run import Reason, Status
from pi_subagents.store import JOURNAL_FILE, Journal
from tests.kit.sessions import take_lease
from tests.surfaces.cli.machine import Machine, diagnose

KEY = "sk-in-a-profile-0123456789"
PROFILE = f"---\nname: paid\napiKey: {KEY}\n---\n"


@pytest.fixture
def ready(machine: Machine) -> Machine:
    """A machine on which everything needed is there, in a project of its own."""
    machine.add_pi()
    (machine.project / ".git").mkdir()
    return machine


def write_run(machine: Machine, name: str, *later: Event) -> Path:
    run = machine.project / ".pi" / "subagents" / "runs" / name
    run.mkdir(parents=True)
    journal = Journal(run / JOURNAL_FILE)
    journal.append([Created(at=1, run_id=name, session_id="s", name="t", prompt="p", cwd="/", harness="pi"), *later])
    journal.close()
    return run


def test_a_run_that_lost_its_holder_is_named(ready: Machine) -> None:
    write_run(ready, "20260101T000000000-deaddeaddeaddead")
    diagnosis = diagnose(ready)
    assert diagnosis.exit_code == 0
    assert not diagnosis.one("runs")["ok"]
    assert "20260101T000000000-deaddeaddeaddead" in diagnosis.one("runs")["detail"]


def test_a_run_that_ended_or_is_held_is_not_called_dead(ready: Machine) -> None:
    write_run(
        ready,
        "20260101T000000000-0000000000000001",
        Ended(at=2, status=Status.FAILED, reason=Reason.SPAWN, message=None),
    )
    lease = take_lease(write_run(ready, "20260101T000000000-0000000000000002"))
    assert lease is not None
    try:
        assert diagnose(ready).one("runs")["ok"]
    finally:
        lease.release()


def test_a_place_where_no_run_can_be_recorded_is_a_failure(ready: Machine) -> None:
    ready.write(ready.project / ".pi" / "subagents", "a file where the directory should be")
    diagnosis = diagnose(ready)
    assert diagnosis.exit_code == 1
    assert not diagnosis.one("records")["ok"]
    assert str(ready.project / ".pi" / "subagents") in diagnosis.one("records")["detail"]


@pytest.mark.parametrize(
    ("file", "text", "check", "says"),
    [
        (
            ".pi/settings.json",
            '{"subagents": {\n"looping_tool_count": 99}}',
            "settings",
            "{path}:2: subagents.looping_tool_count",
        ),
        (".pi/agent-profiles/odd.md", "---\nname: odd\nthinkingLevel: deep\n---\n", "profiles", "{path}:3"),
        (".pi/subagents/odd.md", "---\nname: odd\n---\n", "presets", "cannot be used: {path}:1: has no description"),
        (
            ".pi/subagents/paid.md",
            "---\nname: paid\ndescription: Paid.\napiKey: sk-test-abc123\n---\n",
            "keys",
            "{path} contains a key, and other users can read it",
        ),
    ],
    ids=["setting", "profile", "preset", "key"],
)
def test_a_file_that_is_not_as_it_should_be_is_shown_with_its_line(
    file: str, text: str, check: str, says: str, ready: Machine
) -> None:
    path = ready.write(ready.project / file, text)
    finding = diagnose(ready).one(check)
    assert not finding["ok"]
    assert says.format(path=path) in finding["detail"]


@pytest.mark.parametrize(("mode", "private"), [(0o644, False), (0o640, False), (0o600, True)])
def test_a_profile_with_a_key_must_be_private_or_in_a_directory_that_others_cannot_enter(
    mode: int, private: bool, ready: Machine
) -> None:
    path = ready.write(ready.agent_dir / "agent-profiles" / "paid.md", PROFILE, mode)
    diagnosis = diagnose(ready)
    assert diagnosis.one("keys")["ok"] is private
    assert KEY not in diagnosis.text
    if not private:
        assert diagnosis.one("keys")["hint"] == f"run: chmod 600 ~/{path.relative_to(ready.home)}"
        path.parent.chmod(0o700)
        assert diagnose(ready).one("keys")["ok"]


def test_pis_own_credentials_must_be_private_too_but_not_files_without_a_key(ready: Machine) -> None:
    ready.write(ready.agent_dir / "agent-profiles" / "free.md", "---\nname: free\n---\n")
    files = {
        "auth.json": '{"anthropic": {"type": "api_key", "key": "k"}}',
        "models.json": '{"providers": {"own": {"apiKey": "k"}}}',
    }
    for name, text in files.items():
        ready.write(ready.agent_dir / name, text)
    details = [finding["detail"] for finding in diagnose(ready).all("keys")]
    assert [name for name in files if any(name in detail for detail in details)] == list(files)
    ready.write(ready.agent_dir / "auth.json", "{}")
    ready.write(ready.agent_dir / "models.json", '{"providers": {}}')
    assert diagnose(ready).one("keys")["ok"]


def test_profiles_are_counted_by_scope(ready: Machine) -> None:
    ready.write(ready.agent_dir / "agent-profiles" / "a.md", "---\nname: a\n---\n")
    ready.write(ready.project / ".pi" / "agent-profiles" / "b.md", "---\nname: b\n---\n")
    assert diagnose(ready).one("profiles")["detail"] == "1 global, 1 in this project"


@pytest.mark.parametrize(
    ("choice", "ok", "says", "code"),
    [
        ("auto", True, "guard (setting: auto)", 0),
        ("guard", True, "guard (setting: guard)", 0),
        ("none", False, "none (setting: none)", 0),
        ("namespace", False, "", 1),  # there is no `unshare` on this machine's PATH
    ],
)
def test_the_mechanism_in_use_is_named_and_one_that_cannot_be_used_is_a_failure(
    choice: str, ok: bool, says: str, code: int, ready: Machine
) -> None:
    ready.write(ready.agent_dir / "settings.json", f'{{"subagents": {{"containment": "{choice}"}}}}')
    diagnosis = diagnose(ready)
    finding = diagnosis.one("containment")
    assert (finding["ok"], diagnosis.exit_code) == (ok, code)
    assert finding["detail"].startswith(says)


@pytest.mark.parametrize("resource", [".pi/extensions/x.ts", ".pi/settings.json", ".agents/skills/s/SKILL.md"])
def test_what_agents_do_not_load_for_want_of_trust_is_named(resource: str, ready: Machine) -> None:
    ready.write(ready.project / resource, "{}")
    finding = diagnose(ready).one("trust")
    assert not finding["ok"]
    assert finding["hint"] == "if you trust it, run `pi-subagents pi` here and type `/trust`"
    ready.write(ready.agent_dir / "settings.json", '{"defaultProjectTrust": "always"}')
    assert diagnose(ready).one("trust")["ok"]


def test_a_directory_that_brings_nothing_needs_no_trust_and_can_be_locked(ready: Machine) -> None:
    diagnosis = diagnose(ready)
    assert diagnosis.one("trust")["ok"]
    assert diagnosis.one("power")["detail"] == "no setting, profile or preset needs more trust than it has"
    assert diagnosis.one("locks")["ok"]


@pytest.mark.parametrize(
    ("decisions", "trusted"),
    [
        ({"project": True}, True),
        ({"": True}, True),
        ({"": True, "project": False}, False),
        ({"": False, "project": True}, True),
        ({"project": None}, False),
    ],
)
def test_the_decision_nearest_to_the_directory_counts(
    decisions: dict[str, bool | None], trusted: bool, ready: Machine
) -> None:
    (ready.project / ".pi" / "extensions").mkdir(parents=True)
    saved = {str((ready.root / name).resolve()): decision for name, decision in decisions.items()}
    ready.write(ready.agent_dir / "trust.json", json.dumps(saved))
    assert diagnose(ready).one("trust")["ok"] is trusted
