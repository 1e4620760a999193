"""An agent that does what it likes: the truth about its run is told all the same, and about all others."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pi_subagents.runners import namespace_works
from pi_subagents.testing import SCRIPTED_AGENT
from tests.kit.processes import open_files
from tests.kit.waiting import PATIENCE_S, until
from tests.security.hostile_agent import ATTACKS
from tests.security.kit import Victim, files_with
from tests.security.things import GIT, NEIGHBOUR, NEIGHBOUR_SESSION

KEY = "sk-victims-own-0123456789abcdef"
PROFILE_KEY = "sk-of-the-profile-0123456789"
_PROGRAM = Path(__file__).with_name("hostile_agent.py")
NAMESPACE = pytest.param("namespace", marks=pytest.mark.skipif(not namespace_works(), reason="needs root"))
LEASE_ATTACKS = [name for name in ATTACKS if "lease" in name]
PROCESS_ATTACKS = ["kills its parent", "stops its parent", "kills everybody above", "leaves a daemon"]
OTHERS = [name for name in ATTACKS if name not in (*PROCESS_ATTACKS, "answers")]


@pytest.fixture
def employer(victim: Victim) -> Victim:
    """Somebody who has chosen the hostile agent for their own, innocent project."""
    victim.environ_more[SCRIPTED_AGENT[0]] = shlex.join([sys.executable, "-I", "-S", str(_PROGRAM)])
    victim.receives(GIT)
    victim.has_run_before()
    (victim.agent_dir / "agent-profiles" / "keyed.md").write_text(
        f"---\nname: keyed\nprovider: acme\napiKey: {PROFILE_KEY}\n---\nBe brief.\n"
    )
    victim.arm(victim.runs / NEIGHBOUR)
    return victim


def task(victim: Victim, attack: str, *, waits: bool = False) -> str:
    """What the agent is told."""
    order = {"attack": attack}
    if waits:
        order |= {"ready": str(victim.scratch / "ready"), "go": str(victim.scratch / "go")}
    return json.dumps(order)


def own_runs(victim: Victim) -> list[Path]:
    """The records that there are of the hostile agent's runs."""
    return [path for path in sorted(victim.runs.iterdir()) if path.name[0] != "." and path.name != NEIGHBOUR]


def ends_in(journal: Path) -> list[dict[str, Any]]:
    """Every end that a journal tells."""
    records = [json.loads(line) for line in journal.read_bytes().splitlines()]
    return [record for record in records if record["type"] == "ended"]


def use_containment(victim: Victim, mechanism: str) -> None:
    (victim.agent_dir / "settings.json").write_text(json.dumps({"subagents": {"containment": mechanism}}))
    victim.arm(victim.runs / NEIGHBOUR)


# --- what it prints, and what it does to its record -------------------------


@pytest.mark.parametrize("attack", OTHERS)
def test_whatever_an_agent_does_its_run_ends_and_the_others_are_as_they_were(attack: str, employer: Victim) -> None:
    employer.environ_more["ACME_API_KEY"] = KEY
    (done,) = employer.survives(("run", "--json", "--timeout", "15", task(employer, attack)))
    assert done.json()[0]["status"] in ("completed", "failed"), str(done)
    employer.survives(("sessions", "list"), ("sessions", "show", done.json()[0]["sessionId"]), ("doctor",))
    listed = {row["sessionId"]: row for row in employer.run("sessions", "list", "--json").json()}
    assert listed[NEIGHBOUR_SESSION]["status"] == "completed"
    assert {row["status"] for row in listed.values()} <= {"completed", "failed", "aborted"}
    assert files_with(KEY, employer.clone, employer.agent_dir) == []
    employer.until_alone()


@pytest.mark.parametrize("attack", ["prints absurd numbers", "prints records of the wrong kind", "prints escapes"])
def test_a_model_that_calls_a_tool_is_told_of_an_absurd_agent_in_valid_json(attack: str, employer: Victim) -> None:
    call = json.dumps({"tasks": [{"name": "odd", "prompt": task(employer, attack)}]})
    (done,) = employer.survives(("call", "delegate_to_subagents", call))
    (session,) = done.json()["details"]["sessionIds"]
    asked = json.dumps({"sessionId": session})
    tools = [("call", tool, asked) for tool in ("get_subagent_output", "get_subagent_session")]
    employer.survives(*tools, ("sessions", "list"))
    employer.is_unharmed_by(employer.run_at_terminal("watch", shown=b"neighbour", typed=b"q"))


def test_an_agent_that_forges_its_journal_is_not_believed(employer: Victim) -> None:
    employer.run("run", task(employer, "forges its journal"))
    (run_dir,) = own_runs(employer)
    employer.is_unharmed_by(employer.run("sessions", "list", "--json"))
    row = next(row for row in employer.run("sessions", "list", "--json").json() if row["runDir"] == str(run_dir))
    assert row["status"] in ("completed", "failed", "damaged"), row
    assert employer.run("sessions", "show", row["sessionId"]).exit_code is not None


# --- the lease --------------------------------------------------------------


@pytest.mark.parametrize("attack", LEASE_ATTACKS)
@pytest.mark.parametrize("way", ["run", "background start"])
def test_a_live_run_without_its_lease_is_not_called_lost(way: str, attack: str, employer: Victim) -> None:
    ready, go = employer.scratch / "ready", employer.scratch / "go"
    arguments = ("run",) if way == "run" else ("background", "start", "steady")
    process = employer.start(*arguments, task(employer, attack, waits=True))
    try:
        until(ready.exists, "the agent is at work")
        (run_dir,) = own_runs(employer)
        for argv in (("list", "--json"), ("reindex",), ("list", "--json", "--all")):
            done = employer.run("sessions", *argv)
            employer.is_unharmed_by(done)
            if argv[0] == "list":
                status = {row["runDir"]: row["status"] for row in done.json()}
                assert status[str(run_dir)] == "running", str(done)
        busy = employer.run("sessions", "resume", run_dir.name.rpartition("-")[2], "Go on")
        assert busy.exit_code != 0, "a session that is running cannot be resumed"
        employer.run("sessions", "clean", "--keep", "0", "--yes")
        assert run_dir.is_dir(), "a session that is running cannot be deleted"
    finally:
        go.touch()
        process.communicate(timeout=PATIENCE_S)
    employer.until_alone()
    assert [end["status"] for end in ends_in(run_dir / "events.jsonl")] == ["completed"]
    assert process.returncode == 0


def test_a_run_whose_lease_and_holder_are_gone_is_closed_once(employer: Victim) -> None:
    process = employer.start("run", task(employer, "removes the lease", waits=True))
    until((employer.scratch / "ready").exists, "the agent is at work")
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    employer.until_alone()
    for _ in range(2):
        rows = employer.run("sessions", "list", "--json").json()
        assert {row["status"] for row in rows} == {"completed", "failed"}
    (run_dir,) = own_runs(employer)
    assert [end["reason"] for end in ends_in(run_dir / "events.jsonl")] == ["lost"]


# --- processes --------------------------------------------------------------


@pytest.mark.parametrize("containment", [NAMESPACE, "guard"])
@pytest.mark.parametrize("attack", PROCESS_ATTACKS)
def test_nothing_of_an_agent_outlives_its_run_whomever_it_kills(
    attack: str, containment: str, employer: Victim
) -> None:
    use_containment(employer, containment)
    times = 1 if attack == "stops its parent" else 3
    tasks = [task(employer, attack) for _ in range(times)]
    (done,) = employer.survives(("run", "--json", "--timeout", "8", *tasks))
    assert len(done.json()) == times
    employer.until_alone()


def test_a_background_agent_that_kills_its_guard_leaves_nothing_behind(employer: Victim) -> None:
    use_containment(employer, "guard")
    employer.survives(("background", "start", "steady", task(employer, "kills its parent")))
    employer.until_alone()
    (run_dir,) = own_runs(employer)
    assert len(ends_in(run_dir / "events.jsonl")) == 1


# --- secrets ----------------------------------------------------------------


def _secrets_left(victim: Victim) -> list[str]:
    profile = str(victim.agent_dir / "agent-profiles" / "keyed.md")
    found = files_with(KEY, victim.clone, victim.agent_dir) + files_with(PROFILE_KEY, victim.clone, victim.agent_dir)
    return [path for path in found if path != profile]


@pytest.mark.parametrize("looker_knows", [True, False], ids=["the same environment", "another environment"])
@pytest.mark.parametrize("way", ["run", "run -p keyed", "background start"])
def test_no_key_is_on_disk_after_a_kill_and_the_next_look(way: str, looker_knows: bool, employer: Victim) -> None:
    order = task(employer, "prints its environment", waits=True)
    words = ("background", "start", "steady") if way.startswith("background") else tuple(way.split())
    process = employer.start(*words, order, ACME_API_KEY=KEY)
    until((employer.scratch / "ready").exists, "the agent has printed its environment")
    (run_dir,) = own_runs(employer)
    for path in (run_dir, run_dir / "child-session.jsonl"):
        assert not path.stat().st_mode & 0o077, f"{path} can be read by others"
    _kill_holders(employer, run_dir)
    process.communicate(timeout=PATIENCE_S)
    employer.until_alone()
    done = employer.run("sessions", "list", "--json", ACME_API_KEY=KEY if looker_knows else "")
    employer.is_unharmed_by(done)
    assert _secrets_left(employer) == []
    assert not (run_dir / "agent-dir").exists(), "the stand-in of the agent directory is gone"
    shown = employer.run("sessions", "show", run_dir.name.rpartition("-")[2])
    assert KEY not in shown.said
    assert PROFILE_KEY not in shown.said


def _kill_holders(victim: Victim, run_dir: Path) -> None:
    journal = str(run_dir / "events.jsonl")
    for pid in victim.processes():
        if journal in open_files(pid):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    "argv", [("profile", "show", "leaky"), ("run", "-p", "leaky", "x"), ("profile", "list")], ids=" ".join
)
def test_a_key_among_the_arguments_of_a_profile_is_refused_and_shown_nowhere(
    argv: tuple[str, ...], employer: Victim
) -> None:
    for number, extra in enumerate((f"[--api-key, {KEY}]", f"[--api-key={KEY}]", f'"--api-key,{KEY}"')):
        profile = employer.agent_dir / "agent-profiles" / "leaky.md"
        profile.write_text(f"---\nname: leaky\nextraArgs: {extra}\n---\nBe brief.\n")
        done = employer.run(*argv)
        assert KEY not in done.said, str(done)
        assert files_with(KEY, employer.clone) == []
        assert files_with(KEY, employer.agent_dir) == [str(profile)], number
        if argv[0] == "run":
            assert done.exit_code == 2, str(done)
            assert "apiKey" in done.said, "it names the field to use"


def test_every_file_of_a_record_is_for_its_owner_alone(employer: Victim) -> None:
    process = employer.start("background", "start", "steady", task(employer, "answers", waits=True))
    until((employer.scratch / "ready").exists, "the agent is at work")
    process.communicate(timeout=PATIENCE_S)
    (run_dir,) = own_runs(employer)
    assert _open_to_others(run_dir) == []
    employer.run("sessions", "stop", run_dir.name.rpartition("-")[2])
    employer.until_alone()
    assert _open_to_others(run_dir) == []


def _open_to_others(folder: Path) -> list[str]:
    found = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # a file that has got its name by now
            found += [path.name] if path.lstat().st_mode & 0o077 else []
    return found
