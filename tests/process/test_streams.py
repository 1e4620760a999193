"""Whatever a process prints or does not read, its run goes on, memory stays bounded and the journal says what came."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.harness import harness_named
from pi_subagents.models import Task
from pi_subagents.models import event as ev
from pi_subagents.place import Place
from pi_subagents.runs.run import RunResult
from pi_subagents.store import JOURNAL_FILE, Journal, read_journal
from pi_subagents.testing import SCRIPT_VARIABLE, Action, prints, script
from pi_subagents.testing.agent import closes_output, complains, counts_input, exits, pauses, writes
from pi_subagents.testing.records import AGENT_SETTLED, AGENT_START, agent_end, assistant
from tests.background.kit import KEEPER_MARK, make_yard
from tests.kit.waiting import PATIENCE_S
from tests.process.kit import DONE, Stage, make_stage

JUNK = {
    "text": b"npm warn something\n",
    "no JSON": b'{"type": "message_end", "message": \n',
    "another JSON": b'[1, 2]\n"text"\nnull\n',
    "NUL bytes": b"\0\0\0\n",
    "invalid UTF-8": b"\xff\xfe\xfd\n",
    "half a character": "é".encode()[:1] + b"\n",
    "CR alone": b"one\rtwo\n",
    "blank lines": b"\n\r\n  \n\t\n",
    "a new kind of event": b'{"type":"novelty","x":1}\n',
    "a known kind in a new shape": b'{"type":"message_end","message":"text"}\n',
    "nested too deep": b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "a terminal's escapes": b"\x1b[31mred\x1b[0m\x07\n",
}


async def test_junk_before_and_between_records_does_not_disturb_a_run(plain_stage: Stage) -> None:
    scripts = [[writes(junk), prints(AGENT_START), writes(junk), DONE] for junk in JUNK.values()]
    delegation = plain_stage.delegation(*scripts)
    for junk, result in zip(JUNK, await delegation, strict=True):
        assert (result.status, result.output) == ("completed", "Done."), junk
        journal = read_journal(result.run_dir / JOURNAL_FILE)
        kept = [event for event in journal if isinstance(event, ev.Output | ev.Unknown)]
        assert len(kept) >= 2 or junk == "blank lines", junk


def _line(text: str) -> bytes:
    return json.dumps(assistant(text), ensure_ascii=False).encode() + b"\n"


REST = prints(agent_end(), AGENT_SETTLED)
REPLACED = "\N{REPLACEMENT CHARACTER}"


ODD_TEXT = [
    (_line("windows")[:-1] + b"\r\n", "windows"),
    (_line("a line\u2028and\u2029another\x85"), "a line\u2028and\u2029another\x85"),
    (_line("bad X byte").replace(b"X", b"\xff"), f"bad {REPLACED} byte"),
    (_line("half X emoji").replace(b"X", rb"\ud83d"), f"half {REPLACED} emoji"),
    (_line("other half X").replace(b"X", rb"\ude00"), f"other half {REPLACED}"),
    (_line("whole X").replace(b"X", rb"\ud83d\ude00"), "whole 😀"),
    (_line("NUL X").replace(b"X", rb"\u0000"), "NUL \0"),
]


async def test_odd_text_in_a_record_does_not_lose_its_message(plain_stage: Stage) -> None:
    result = await plain_stage.run(*(writes(record) for record, _ in ODD_TEXT), REST)
    assert result.status == "completed"
    said = [event.text for event in plain_stage.events() if isinstance(event, ev.Message)]
    assert said == [text for _, text in ODD_TEXT]


@pytest.mark.usefixtures("unhurried")
async def test_an_agent_that_closes_its_output_and_works_on_is_waited_for(plain_stage: Stage) -> None:
    result = await plain_stage.run(DONE, closes_output(), pauses(0.3))
    assert (result.status, result.output, result.exit_code) == ("completed", "Done.", 0)


async def test_a_flood_of_stderr_neither_stops_the_agent_nor_fills_the_disk(plain_stage: Stage) -> None:
    result = await plain_stage.run(complains("warning: x\n" * 1000, times=3000), complains("at last\n"), DONE)
    assert result.status == "completed"
    assert (result.run_dir / "stderr.log").stat().st_size < 17 * 1024 * 1024
    said = [event.text for event in plain_stage.events() if isinstance(event, ev.Stderr)]
    assert said[-1].endswith("at last\n")


MEASURE = """
import asyncio, os, resource, sys
from pi_subagents import Task, delegate

async def main():
    # Everything is loaded, and warm, before the measurement begins.
    await delegate([Task("warm", sys.argv[1])])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (result,) = await delegate([Task("flood", sys.argv[2])])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(result.status, grown // 1024, result.run_dir)

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("flood", "kept", "most_mb"),
    [
        (writes(b"x" * 1024, times=200 * 1024), {b"dropped": 1}, 100),
        (writes(b"tiny\n", times=200_000), {b"output": 200_000}, 16),
    ],
    ids=["one line of 200 MB", "many lines"],
)
def test_a_flood_of_output_does_not_cost_memory(
    flood: Action, kept: dict[bytes, int], most_mb: int, plain_stage: Stage
) -> None:
    scripts = [script(DONE), script(flood, writes(b"\n"), DONE)]
    status, grown_mb, run_dir = plain_stage.program(MEASURE, *scripts).stdout.split()
    assert status == "completed"
    assert int(grown_mb) < most_mb
    journal = (Path(run_dir) / JOURNAL_FILE).read_bytes()
    assert {tag: journal.count(b'{"type":"%s"' % tag) for tag in kept} == kept


# --- the setting `maxJournalMb` holds for every run, whoever holds it --------------------------------------------

FLOOD = writes(b"x" * 999 + b"\n", times=4000)


def check(journal: Path) -> None:
    assert 1_000_000 < journal.stat().st_size < 1_500_000
    dropped = [event for event in read_journal(journal) if isinstance(event, ev.DetailsDropped)]
    assert [event.bound for event in dropped] == [1_000_000]


async def test_a_run_in_the_foreground_keeps_to_the_setting(tmp_path: Path) -> None:
    stage = make_stage(tmp_path, "guard", maxJournalMb=1)
    result = await stage.run(FLOOD, DONE)
    assert (result.status, result.output) == ("completed", "Done.")
    check(stage.run_dirs[0] / JOURNAL_FILE)


async def test_a_run_in_the_background_keeps_to_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    yard = make_yard(tmp_path, maxJournalMb=1)
    monkeypatch.setenv(KEEPER_MARK, yard.keeper_mark)
    try:
        run_dir = await yard.launch(FLOOD, DONE)
        row = await yard.see_the_end(run_dir)
    finally:
        yard.kill_everybody()
    assert (row["status"], row["finalText"]) == ("completed", "Done.")
    check(run_dir / JOURNAL_FILE)


def test_who_goes_on_with_a_journal_counts_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / JOURNAL_FILE
    for _ in range(2):
        journal = Journal(path)
        journal.append([ev.Output(text="x" * 1000), ev.Exited(exit_code=0)])
        assert journal.size == path.stat().st_size
        journal.close()


# --- the prompt goes to standard input, whether the agent reads it gladly, slowly or not at all ------------------

TEN_MB = 10 * 1024 * 1024


async def told(stage: Stage, *actions: Action, size: int = TEN_MB) -> RunResult:
    """See an agent through that is told `size` bytes and does `actions` meanwhile."""
    environ = stage.full_environ({SCRIPT_VARIABLE: script(*actions)})
    place = Place.here(stage.project, environ)
    (result,) = await Delegation([Task("task", "x" * size)], place=place, harness=harness_named("pi-json"))
    return result


async def test_ten_megabytes_arrive_at_an_agent_that_reads_slowly(stage: Stage) -> None:
    result = await told(stage, counts_input(chunk_bytes=1 << 16, pause_s=0.001), DONE)
    assert result.status == "completed"
    outputs = [event.text for event in stage.events() if isinstance(event, ev.Output)]
    assert outputs == [f"read {TEN_MB} bytes"]


async def test_an_agent_that_never_reads_its_prompt_is_not_in_the_way(stage: Stage) -> None:
    result = await told(stage, pauses(0.2), DONE)
    assert (result.status, result.output) == ("completed", "Done.")


async def test_an_agent_that_exits_at_once_does_not_make_the_holder_fail(stage: Stage) -> None:
    result = await asyncio.wait_for(told(stage, exits(3)), PATIENCE_S)
    assert (result.status, result.reason, result.exit_code) == ("failed", "exit", 3)


async def test_the_prompt_ends_so_that_an_agent_that_waits_for_its_end_goes_on(plain_stage: Stage) -> None:
    result = await told(plain_stage, counts_input(), DONE, size=5)
    assert result.status == "completed"
    assert [event.text for event in plain_stage.events() if isinstance(event, ev.Output)] == ["read 5 bytes"]
