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


def test_locks_are_tried_where_runs_are_recorded(ready: Machine) -> None:
    assert diagnose(ready).one("locks")["ok"]


@pytest.mark.parametrize(("mode", "private"), [(0o644, False), (0o640, False), (0o600, True)])
def test_a_profile_with_a_key_must_be_private(mode: int, private: bool, ready: Machine) -> None:
    path = ready.write(ready.agent_dir / "agent-profiles" / "paid.md", PROFILE, mode)
    diagnosis = diagnose(ready)
    assert diagnosis.one("keys")["ok"] is private
    assert KEY not in diagnosis.text
    if not private:
        assert diagnosis.one("keys")["hint"] == f"run: chmod 600 ~/{path.relative_to(ready.home)}"


def test_a_directory_that_others_cannot_enter_protects_its_files(ready: Machine) -> None:
    path = ready.write(ready.agent_dir / "agent-profiles" / "paid.md", PROFILE)
    path.parent.chmod(0o700)
    assert diagnose(ready).one("keys")["ok"]


def test_pis_own_credentials_must_be_private_too(ready: Machine) -> None:
    ready.write(ready.agent_dir / "auth.json", '{"anthropic": {"type": "api_key", "key": "k"}}')
    ready.write(ready.agent_dir / "models.json", '{"providers": {"own": {"apiKey": "k"}}}')
    details = [finding["detail"] for finding in diagnose(ready).all("keys")]
    assert [name for name in ("auth.json", "models.json") if any(name in detail for detail in details)] == [
        "auth.json",
        "models.json",
    ]


def test_files_without_a_key_may_be_read_by_anyone(ready: Machine) -> None:
    ready.write(ready.agent_dir / "auth.json", "{}")
    ready.write(ready.agent_dir / "models.json", '{"providers": {}}')
    ready.write(ready.agent_dir / "agent-profiles" / "free.md", "---\nname: free\n---\n")
    assert diagnose(ready).one("keys")["ok"]


def test_a_settings_value_that_does_not_apply_is_shown_with_file_and_line(ready: Machine) -> None:
    path = ready.write(ready.project / ".pi" / "settings.json", '{"subagents": {\n"looping_tool_count": 99}}')
    finding = diagnose(ready).one("settings")
    assert not finding["ok"]
    assert f"{path}:2: subagents.looping_tool_count" in finding["detail"]


def test_a_broken_profile_is_shown_with_file_and_line(ready: Machine) -> None:
    path = ready.write(
        ready.project / ".pi" / "agent-profiles" / "odd.md", "---\nname: odd\nthinkingLevel: deep\n---\n"
    )
    finding = diagnose(ready).one("profiles")
    assert not finding["ok"]
    assert f"{path}:3" in finding["detail"]


def test_a_broken_preset_is_named_with_its_line(ready: Machine) -> None:
    path = ready.write(ready.project / ".pi" / "subagents" / "odd.md", "---\nname: odd\n---\n")
    finding = diagnose(ready).one("presets")
    assert not finding["ok"]
    assert finding["detail"].startswith(f"cannot be used: {path}:1: has no description")


def test_a_preset_with_a_key_that_others_can_read_is_found(ready: Machine) -> None:
    text = "---\nname: paid\ndescription: Paid.\napiKey: sk-test-abc123\n---\n"
    path = ready.write(ready.project / ".pi" / "subagents" / "paid.md", text)
    assert diagnose(ready).one("keys")["detail"] == f"{path} contains a key, and other users can read it"


def test_profiles_are_counted_by_scope(ready: Machine) -> None:
    ready.write(ready.agent_dir / "agent-profiles" / "a.md", "---\nname: a\n---\n")
    ready.write(ready.project / ".pi" / "agent-profiles" / "b.md", "---\nname: b\n---\n")
    assert diagnose(ready).one("profiles")["detail"] == "1 global, 1 in this project"


def test_containment_that_this_machine_cannot_do_is_a_failure(ready: Machine) -> None:
    # There is no `unshare` on this machine's PATH.
    ready.write(ready.agent_dir / "settings.json", '{"subagents": {"containment": "namespace"}}')
    diagnosis = diagnose(ready)
    assert diagnosis.exit_code == 1
    assert not diagnosis.one("containment")["ok"]


@pytest.mark.parametrize(("choice", "ok"), [("auto", True), ("guard", True), ("none", False)])
def test_the_mechanism_in_use_is_named(choice: str, ok: bool, ready: Machine) -> None:
    ready.write(ready.agent_dir / "settings.json", f'{{"subagents": {{"containment": "{choice}"}}}}')
    finding = diagnose(ready).one("containment")
    assert finding["ok"] is ok
    assert finding["detail"].startswith(f"{'guard' if ok else 'none'} (setting: {choice})")


def test_a_directory_that_brings_nothing_needs_no_trust(ready: Machine) -> None:
    diagnosis = diagnose(ready)
    assert diagnosis.one("trust")["ok"]
    assert diagnosis.one("power")["detail"] == "no setting, profile or preset needs more trust than it has"


@pytest.mark.parametrize("resource", [".pi/extensions/x.ts", ".pi/settings.json", ".agents/skills/s/SKILL.md"])
def test_what_agents_do_not_load_for_want_of_trust_is_named(resource: str, ready: Machine) -> None:
    ready.write(ready.project / resource, "{}")
    finding = diagnose(ready).one("trust")
    assert not finding["ok"]
    assert finding["hint"] == "if you trust it, run `pi-subagents pi` here and type `/trust`"


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


def test_a_user_who_trusts_every_project_is_not_warned(ready: Machine) -> None:
    (ready.project / ".pi" / "extensions").mkdir(parents=True)
    ready.write(ready.agent_dir / "settings.json", '{"defaultProjectTrust": "always"}')
    assert diagnose(ready).one("trust")["ok"]
