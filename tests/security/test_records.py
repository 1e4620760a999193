"""Records that a stranger made: they may be looked at, and that is all that happens."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.kit.waiting import until
from tests.security.commands import Attempt, attempts, carry_out, name_of
from tests.security.kit import Victim
from tests.security.records import (
    FOREIGN,
    IMPOSTORS,
    LISTS,
    NEWER,
    ODD,
    OWNED_BY_OTHERS,
    RUN,
    SESSION,
    HostileRecord,
    many,
    plain_record,
)
from tests.security.things import (
    ENDED,
    GIT,
    NEIGHBOUR,
    NEIGHBOUR_SESSION,
    OTHER_RUN,
    OTHER_SESSION,
    RUNS,
    STARTED,
    Link,
    Pipe,
    Text,
    below,
    created,
    finished,
    lay_out,
    lines,
    state_of,
    unfinished,
)

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="not run, because only root can make files of somebody else's"
)
WITH_ID = [attempt for attempt in attempts() if attempt.takes_id]
WITHOUT_ID = [
    attempt for attempt in attempts() if not attempt.takes_id and attempt.argv[0] not in ("install-pi", "tools")
]
SHOW, RESUME = (("sessions", word) for word in ("show", "resume"))
CLEAN = ("sessions", "clean", "--keep", "0", "--yes")


def some_with_id(number: int) -> list[Attempt]:
    """Showing and resuming, and a fourth of the other commands that take an id: all of them have a turn."""
    always = [attempt for attempt in WITH_ID if attempt.argv[:2] in (SHOW, RESUME)]
    return [*(attempt for attempt in WITH_ID[number % 4 :: 4] if attempt not in always), *always]


def name_of_record(record: HostileRecord) -> str:
    return record.name


def receive(victim: Victim, record: HostileRecord) -> Path:
    """Put the record beside a run of the victim's own; its directory."""
    victim.receives({**GIT, "src/main.py": "pass\n"})
    victim.has_run_before()
    victim.receives(record.table)
    run_dir = victim.runs / record.run
    if record.owner is not None:
        for path in (run_dir, *run_dir.iterdir()):
            os.chown(path, record.owner, record.owner)
    return run_dir


def receive_list(victim: Victim, content: bytes) -> None:
    """Put a good run there with a list of its session's runs that names others; what it names looks like runs."""
    receive(victim, plain_record())
    for word, path in {**victim.places, "name": victim.clone.name}.items():
        content = content.replace(f"{{{word}}}".encode(), path.encode())
    victim.receives({f"{RUNS}/.sessions/{SESSION}": content})
    for folder in ("", "src/", ".pi/subagents/", f"{RUNS}/", f"{RUNS}/.sessions/"):
        victim.receives(below(f"{folder}.", finished(RUN)))


def neighbour_of(victim: Victim, session: str = NEIGHBOUR_SESSION, *where: str) -> dict[str, Any]:
    """How a session is listed."""
    done = victim.run("sessions", "list", "--json", "--limit", "1000", *where)
    found = [row for row in done.json() if row["sessionId"] == session]
    assert len(found) == 1, f"{session} is listed {len(found)} times\n{done}"
    return dict(found[0])


# --- foreign records ---------------------------------------------------------


@pytest.mark.parametrize(
    "record", [*FOREIGN, *(pytest.param(record, marks=needs_root) for record in OWNED_BY_OTHERS)], ids=name_of_record
)
def test_nothing_that_is_done_with_a_foreign_record_changes_it_or_what_it_leads_to(
    record: HostileRecord, victim: Victim
) -> None:
    run_dir = receive(victim, record)
    victim.arm(run_dir, victim.runs / NEIGHBOUR)
    for attempt in some_with_id((*FOREIGN, *OWNED_BY_OTHERS).index(record)):
        victim.is_unharmed_by(carry_out(victim, attempt, SESSION, record.run))


@pytest.mark.parametrize("record", [FOREIGN[0], FOREIGN[4], FOREIGN[22]], ids=name_of_record)
def test_every_command_that_takes_an_id_leaves_a_foreign_record_alone(record: HostileRecord, victim: Victim) -> None:
    run_dir = receive(victim, record)
    victim.arm(run_dir, victim.runs / NEIGHBOUR)
    for attempt in WITH_ID:
        victim.is_unharmed_by(carry_out(victim, attempt, SESSION, record.run))


@pytest.mark.parametrize("attempt", WITHOUT_ID, ids=name_of)
def test_no_command_touches_any_of_many_foreign_records(attempt: Attempt, victim: Victim) -> None:
    victim.receives({**GIT, ".pi/agent-profiles/linked.md": "---\nname: linked\n---\n"})
    victim.receives(many(FOREIGN))
    victim.arm(*victim.runs.iterdir())
    done = carry_out(victim, attempt, SESSION, RUN)
    victim.is_unharmed_by(done, writes=attempt.writes)


@pytest.mark.parametrize(
    "record", [*FOREIGN, *(pytest.param(record, marks=needs_root) for record in OWNED_BY_OTHERS)], ids=name_of_record
)
def test_a_foreign_record_is_listed_as_that_beside_the_victims_own(record: HostileRecord, victim: Victim) -> None:
    receive(victim, record)
    done = victim.run("sessions", "list")
    assert done.exit_code == 0, str(done)
    assert "foreign record" in done.out, str(done)
    assert "neighbour" in done.out, str(done)
    assert neighbour_of(victim)["status"] == "completed"


def test_a_foreign_record_is_neither_resumed_nor_stopped_nor_deleted(victim: Victim) -> None:
    run_dir = receive(victim, FOREIGN[0])
    victim.arm(run_dir)
    for argv in (("resume", SESSION, "Go on"), ("stop", SESSION)):
        done = victim.run("sessions", *argv)
        assert argv[0] == "stop" or done.exit_code != 0, str(done)  # it is over already
        assert "foreign" in done.said, str(done)
    victim.run(*CLEAN)
    assert not (victim.runs / NEIGHBOUR).exists(), "what is the victim's own is deleted"
    assert victim.damage() == []


# --- where names are taken from the disk ---------------------------------------------------------


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_runs_leads_to_no_deletion_but_of_the_sessions_own(name: str, victim: Victim) -> None:
    receive_list(victim, LISTS[name])
    victim.arm()
    (done,) = victim.survives(CLEAN)
    for path in ("src/main.py", "src/events.jsonl", "events.jsonl", ".git/HEAD", ".pi/subagents/events.jsonl"):
        assert (victim.clone / path).exists(), f"{path} is gone\n{done}"


@pytest.mark.parametrize("name", [name for name in LISTS if "another session" in name or "long way" in name])
def test_what_a_list_names_is_not_deleted_with_the_session(name: str, victim: Victim) -> None:
    receive(victim, plain_record())
    young = f"20270301T000000000-{'ce' * 8}"
    victim.receives(below(f"{RUNS}/{young}", finished(young, name="young")))
    content = LISTS[name].replace(NEIGHBOUR.encode(), young.encode())
    victim.receives({f"{RUNS}/.sessions/{SESSION}": content})
    victim.arm(victim.runs / young)
    victim.survives(("sessions", "clean", "--keep", "1", "--yes"))


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_runs_leads_to_no_other_run_when_its_session_is_read(name: str, victim: Victim) -> None:
    receive_list(victim, LISTS[name])
    victim.arm(victim.runs / NEIGHBOUR)
    words = (("show", SESSION), ("output", SESSION), ("export", SESSION), ("resume", SESSION, "Go on"))
    for done in victim.survives(*(("sessions", *argv) for argv in words)):
        assert "Of the other project." not in done.said, str(done)


@pytest.mark.parametrize(
    "thing", [Pipe(), Link("/dev/zero"), Link("{home}/.bashrc"), Link("{home}/.ssh/made")], ids=str
)
def test_a_list_that_is_no_file_of_ours_is_neither_waited_for_nor_written(thing: Any, victim: Victim) -> None:
    receive(victim, plain_record())
    victim.receives({f"{RUNS}/.sessions/{SESSION}": thing})
    victim.arm()
    victim.survives((*SHOW, SESSION), (*RESUME, SESSION, "Go on"), ("sessions", "list"), CLEAN)


@pytest.mark.parametrize(
    "session", ["../../../..", "/", "..", ".", "~", "*", " ", "-", "a/b", "x\0y", "%2e%2e", "\ud800"]
)
def test_an_id_that_is_no_id_is_refused_in_a_sentence(session: str, victim: Victim) -> None:
    receive(victim, plain_record())
    victim.arm(victim.runs / NEIGHBOUR, victim.runs / RUN)
    calls = [
        ("get_subagent_output", {"sessionId": session}),
        ("get_subagent_session", {"sessionId": session}),
        ("background_agent_status", {"runId": session}),
        ("delegate_to_subagents", {"tasks": [{"name": "a", "prompt": "b", "resume": session}]}),
    ]
    for tool, arguments in calls:
        done = victim.run("call", tool, "-", stdin=json.dumps(arguments))
        victim.is_unharmed_by(done)
        assert done.exit_code == 1, str(done)


# --- odd journals ---------------------------------------------------------


@pytest.mark.parametrize("record", ODD, ids=name_of_record)
def test_an_odd_journal_ends_in_a_state_for_its_run_alone(record: HostileRecord, victim: Victim) -> None:
    receive(victim, record)
    victim.arm(victim.runs / NEIGHBOUR)
    listed = victim.run("sessions", "list", "--json")
    victim.is_unharmed_by(listed)
    assert [row for row in listed.json() if row["runDir"].endswith(RUN)], "it is listed too"
    for attempt in some_with_id(ODD.index(record)):
        victim.is_unharmed_by(carry_out(victim, attempt, SESSION, record.run))
    assert neighbour_of(victim)["status"] == "completed"


def test_many_odd_journals_hide_no_run_from_any_listing(victim: Victim) -> None:
    victim.receives(many(ODD))
    victim.has_run_before(background=True, owner="cli")
    victim.arm(victim.runs / NEIGHBOUR)
    listed = victim.survives(
        ("sessions", "list", "--limit", "1000"),
        ("sessions", "reindex"),
        ("sessions", "list", "--limit", "1000", "--all"),
        ("background", "list", "--all", "--limit", "1000"),
        (*SHOW, NEIGHBOUR_SESSION),
        ("doctor",),
    )
    for done in listed:
        assert "list" not in done.argv or "neighbour" in done.out, str(done)
    done = victim.run_at_terminal("watch", shown=b"neighbour", typed=b"q")
    victim.is_unharmed_by(done)
    assert b"neighbour" in done.stdout


@pytest.mark.parametrize(("record", "word"), NEWER, ids=lambda value: getattr(value, "name", ""))
def test_what_another_version_ended_is_ended_and_shown_in_its_own_words(
    record: HostileRecord, word: str, victim: Victim
) -> None:
    run_dir = receive(victim, record)
    victim.arm(run_dir / "events.jsonl")
    words = (("list",), ("show", SESSION), ("list", "--json"), ("reindex",), ("list", "--all"))
    for done in victim.survives(*(("sessions", *argv) for argv in words)):
        if {"--json", "show"} & {*done.argv}:  # the table has no room for reasons
            assert word in done.said, str(done)
    assert victim.run("sessions", "stop", SESSION).exit_code is not None
    assert victim.damage() == []


# --- impostors ---------------------------------------------------------


@pytest.mark.parametrize("record", IMPOSTORS, ids=name_of_record)
def test_a_record_that_claims_to_be_another_run_changes_nothing_about_it(record: HostileRecord, victim: Victim) -> None:
    other = victim.home / "other"
    assert victim.run("sessions", "list", cwd=other).exit_code == 0  # from now on the index knows its runs
    receive(victim, record)
    victim.arm(victim.runs / NEIGHBOUR)
    victim.survives(("sessions", "list"), (*SHOW, SESSION), ("sessions", "reindex"), ("sessions", "list", "--all"))
    here, there = neighbour_of(victim), neighbour_of(victim, OTHER_SESSION, "--project", str(other))
    assert (here["name"], here["runCount"], here["runDir"]) == ("neighbour", 1, str(victim.runs / NEIGHBOUR))
    assert (there["name"], there["runCount"], there["runDir"]) == ("other", 1, str(other / RUNS / OTHER_RUN))
    assert victim.run("sessions", "output", NEIGHBOUR_SESSION).out == "Well done.\n"
    assert victim.run("sessions", "output", OTHER_SESSION, cwd=other).out == "Of the other project.\n"


def test_cleaning_away_an_impostor_leaves_the_run_that_it_claimed_to_be(victim: Victim) -> None:
    other = victim.home / "other"
    victim.run("sessions", "list", cwd=other)
    victim.receives(IMPOSTORS[0].table)
    victim.arm()
    victim.run("sessions", "list")
    victim.survives(CLEAN)
    assert neighbour_of(victim, OTHER_SESSION, "--project", str(other))["runDir"] == str(other / RUNS / OTHER_RUN)


# --- names ---------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "-rf",
        "--help",
        "...",
        "x" * 250,
        "a b\nc",
        b"\xff\xfe\x9b31m",
        "20260105T000000000-",
        "-bad0000000000001",
        "~",
        "%s%n",
    ],
    ids=repr,
)
def test_directories_with_odd_names_stay_where_they_are(name: str | bytes, victim: Victim) -> None:
    receive(victim, plain_record())
    folder = os.path.join(os.fsencode(victim.runs), os.fsencode(name))  # noqa: PTH118 - the name is no text
    os.mkdir(folder)  # noqa: PTH102
    lay_out(Path(os.fsdecode(folder)), finished(RUN), {})
    victim.arm()
    victim.survives(("sessions", "list"), ("sessions", "reindex"), ("doctor",), ("background", "list", "--all"))
    assert neighbour_of(victim)["name"] == "neighbour"


SHELL_NAMES = ("$(evil)", "`evil`", "a;evil", "a|evil", "a b", "';evil;'", '";evil;"', "$HOME", "&", "!x", "--help")


def test_the_shell_is_offered_no_words_that_it_would_obey(victim: Victim) -> None:
    receive(victim, plain_record())
    for number, name in enumerate(SHELL_NAMES):
        victim.receives(below(f"{RUNS}/20260105T{number:06d}000-{name}", finished(RUN, background=True, owner="cli")))
    victim.run("sessions", "list")  # so that the index knows them too
    for words in ("sessions show ", "sessions resume ", "background logs ", "background stop ", "steer "):
        typed = f"pi-subagents {words}"
        number_of_word = str(len(typed.split()))
        done = victim.run(_PI_SUBAGENTS_COMPLETE="bash_complete", COMP_WORDS=typed, COMP_CWORD=number_of_word)
        offered = [line.partition(",")[2].partition("\t")[0] for line in done.out.splitlines() if line]
        assert [word for word in offered if not re.fullmatch(r"[0-9A-Za-z-]+", word)] == [], f"{typed}\n{done}"
        assert "--help" not in offered
    assert (
        NEIGHBOUR_SESSION[:8]
        in victim.run(
            _PI_SUBAGENTS_COMPLETE="bash_complete", COMP_WORDS="pi-subagents sessions show ", COMP_CWORD="3"
        ).out
    )


@pytest.mark.parametrize("name", SHELL_NAMES)
def test_a_command_that_is_suggested_holds_no_words_of_a_strangers(name: str, victim: Victim) -> None:
    run = f"20260105T000000000-{name}"
    victim.receives({**GIT, **below(f"{RUNS}/{run}", unfinished(run))})
    profile = f".pi/agent-profiles/{name}.md"
    victim.receives({profile: "---\nname: keyed\napiKey: sk-0123456789abcdef\n---\n"})
    out = victim.run("doctor").out
    suggested = [line for line in out.splitlines() if "chmod" in line or "get_subagent_output" in line]
    for line in suggested:
        command = line.rpartition("→")[2]
        unquoted = command.replace(shlex.quote(name), "").replace(shlex.quote(str(victim.clone / profile)), "")
        assert name not in unquoted, line


@pytest.mark.parametrize(
    "session", ["../home/private/diary", "{home}/private/diary", "x/../../home/private/diary", "diary/."]
)
@pytest.mark.parametrize("kind", ["md", "html"])
def test_exporting_into_a_directory_writes_nowhere_else(kind: str, session: str, victim: Victim) -> None:
    session = session.replace("{home}", str(victim.home))
    victim.receives(GIT)
    victim.receives(
        below(
            f"{RUNS}/{RUN}", {**finished(RUN), "events.jsonl": lines(created(RUN, sessionId=session), STARTED, ENDED)}
        )
    )
    victim.arm()
    out = victim.scratch / "out"
    (out / "x").mkdir(parents=True)
    (done,) = victim.survives(("sessions", "export", SESSION, "--format", kind, "-o", str(out)))
    assert not list(victim.scratch.glob(f"*.{kind}")), str(done)


# --- settings that delete ---------------------------------------------------------


@pytest.mark.parametrize("setting", [{"keepSessions": 1}, {"keepRunsDays": 1}], ids=json.dumps)
def test_what_the_user_has_set_to_be_deleted_is_not_looked_for_through_links(
    setting: dict[str, int], victim: Victim
) -> None:
    (victim.agent_dir / "settings.json").write_text(json.dumps({"subagents": setting}))
    victim.receives({**GIT, RUNS: Link(f"{{home}}/other/{RUNS}")})
    victim.arm()
    victim.survives(("run", "Say hello"))


@pytest.mark.parametrize("setting", [{"keepSessions": 1}, {"keepRunsDays": 1}], ids=json.dumps)
def test_a_projects_own_settings_delete_nothing(setting: dict[str, int], victim: Victim) -> None:
    receive(victim, plain_record())
    victim.receives({".pi/settings.json": json.dumps({"subagents": setting})})
    victim.arm(victim.runs / NEIGHBOUR, victim.runs / RUN)
    (done,) = victim.survives(("run", "Say hello"))
    assert done.exit_code == 0, str(done)


def test_leftovers_of_killed_programs_are_deleted_without_following_links(victim: Victim) -> None:
    receive(victim, plain_record())
    victim.receives(
        {
            f"{RUNS}/.a.gone/out": Link("{home}/checkout"),
            f"{RUNS}/.a.gone/pipe": Pipe(),
            f"{RUNS}/.b.new/lease": Pipe(),
            f"{RUNS}/.c.new/lease": Link("{home}/made-by-link"),
            f"{RUNS}/.d.gone": Link("{home}/checkout"),
            f"{RUNS}/.e.gone": Text("a file", 0o600),
            f"{RUNS}/.sessions/{'0' * 16}": Link("{home}/checkout"),
        }
    )
    for folder in (".b.new", ".c.new"):
        os.utime(victim.runs / folder, (1, 1))
    victim.arm()
    victim.survives(CLEAN)
    assert not (victim.runs / ".a.gone").exists()


def test_looking_at_a_run_of_ours_that_was_lost_still_closes_it(victim: Victim) -> None:
    # So that the rest of this file cannot be made green by not writing at all.
    lost = "20260104T000000000-1057000000000001"
    victim.receives(below(f"{RUNS}/{lost}", unfinished(lost)))
    done = victim.run("sessions", "list", "--json")
    assert done.json()[0]["reason"] == "lost", str(done)
    until(lambda: (victim.runs / lost / "result.json").exists(), "its result is written")
    assert '"lost"' in (victim.runs / lost / "events.jsonl").read_text()


def test_the_private_key_and_everything_else_is_seen_when_it_changes(victim: Victim) -> None:
    # So that the canaries themselves are known to work.
    victim.arm()
    before = state_of(victim.home)
    (victim.home / ".bashrc").write_text("changed")
    (victim.home / "checkout" / "new").touch()
    (victim.home / "other" / "README.md").unlink()
    (victim.tripwire / "evil").touch()
    found = "\n".join(victim.damage())
    assert before != state_of(victim.home)
    for word in ("executed: evil", "changed", ".bashrc", "made", "checkout/new", "deleted", "README.md"):
        assert word in found
