"""What an event costs on its way from an agent's output to the windows: `./scripts/bench pipeline [--quick]`.

Once for the parts alone, with 1 KB for each event, and once for whole runs of real processes with 50 events each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.subjects import own_cpu_s
from pi_subagents.clock import now_ms
from pi_subagents.delegation.delegation import Delegation
from pi_subagents.fold import RunState, fold
from pi_subagents.harness import Invocation, harness_named
from pi_subagents.models import Task
from pi_subagents.models.event import Created, Event
from pi_subagents.place import Place
from pi_subagents.progress import Window
from pi_subagents.redaction import Redactor
from pi_subagents.store import RunRecord, publish
from pi_subagents.supervisor import Limits
from pi_subagents.supervisor.recorder import AgentOutput, Log, Recorder
from pi_subagents.testing import SCRIPTED_AGENT, answer, assistant, prints, script, tool_call, tool_result

EVENT_BYTES = 1000
EVENTS_PER_AGENT = 50
GOAL_EVENTS_A_SECOND = 100_000
GOAL_AGENT_CPU_MS = 15.0
_CHUNK_BYTES = 65_536
_SECRETS = {"KEY": "a-secret-that-never-occurs"}
_REPEATS = 3
_AT_ONCE = 4


def measure(events: int, agents: int) -> dict[str, float]:
    """Events for a second of CPU through ever more of the parts, and CPU for each agent."""
    data = b"".join(json.dumps(record).encode() + b"\n" for record in turns(events))
    chunks = [data[start : start + _CHUNK_BYTES] for start in range(0, len(data), _CHUNK_BYTES)]
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        runs = Path(scratch) / "project" / ".pi" / "subagents" / "runs"
        rates = {
            name: events / min(_seconds(way, chunks, runs / f"{name}-{turn}") for turn in range(_REPEATS))
            for name, way in WAYS.items()
        }
        cpu = {f"{name}_cpu_ms": _agent_cpu_ms(Path(scratch) / name, agents, name == "warm") for name in _KINDS}
    return {"events": events, "event_bytes": len(data) / events, "agents": agents, **rates, **cpu}


_KINDS = ("cold", "warm")


def turns(events: int) -> list[dict[str, Any]]:
    """Calls with what they returned, 1 KB each as the agent prints them."""
    records = []
    for number in range(events // 2):
        call = tool_call("bash", f"call-{number}", command=f"make part-{number}")
        records.append(assistant(_filling(assistant("", call)), call))
        records.append(tool_result("bash", _filling(tool_result("bash", "", call["id"])), call["id"]))
    return records


def _filling(empty: dict[str, Any]) -> str:
    missing = EVENT_BYTES - len(json.dumps(empty))
    return ("All work and no play. " * (EVENT_BYTES // 20))[:missing]


# --- the parts alone ----------------------------------------------------------------------------------------


def _output(stdout: Log, stderr: Log) -> AgentOutput:
    return AgentOutput(
        harness_named("pi-json").dialogue(Invocation(("pi",), {}, Path("/"), b"")),
        Redactor(_SECRETS),
        now_ms,
        stdout,
        stderr,
    )


def _decode(chunks: Sequence[bytes], _record: RunRecord) -> None:
    output = _output(BytesIO(), BytesIO())
    for chunk in chunks:
        output.feed("stdout", chunk)


def _decode_journal_fold(chunks: Sequence[bytes], record: RunRecord) -> None:
    output, state = _output(BytesIO(), BytesIO()), RunState()
    for chunk in chunks:
        events = output.feed("stdout", chunk)
        record.append(events)
        fold(state, events)


def _everything(chunks: Sequence[bytes], record: RunRecord) -> None:
    """As a run has it that somebody watches: with its logs and its transcript, too."""
    state = RunState()
    window = Window(state)

    def show(_state: RunState, events: Sequence[Event]) -> None:
        for event in events:
            window.apply(event)

    recorder = Recorder(record, state, show, Limits().journal_bytes)
    output = _output(record.stdout, record.stderr)
    for chunk in chunks:
        recorder.happened(output.feed("stdout", chunk))


WAYS = {"decode": _decode, "decode_journal_fold": _decode_journal_fold, "everything": _everything}


def _seconds(way: Callable[[Sequence[bytes], RunRecord], None], chunks: Sequence[bytes], run_dir: Path) -> float:
    created = Created(at=0, run_id=run_dir.name, session_id="0" * 16, name="n", prompt="p", cwd="/", harness="pi-json")
    record = publish(run_dir, {}, created)
    try:
        # CPU, not wall: the parts wait for nobody, and on a busy machine they would be charged for the neighbours.
        start = time.process_time()
        way(chunks, record)
        return time.process_time() - start
    finally:
        record.close()


# --- whole runs ---------------------------------------------------------------------------------------------


def _agent_cpu_ms(folder: Path, agents: int, warm: bool) -> float:
    """CPU of this process for each run, as long as nobody watches."""
    (folder / ".git").mkdir(parents=True)
    (folder / "agent").mkdir()
    settings = {"subagents": {"warmAgents": warm}}
    (folder / "agent" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    place = Place(folder, folder / "agent", {**os.environ, SCRIPTED_AGENT[0]: SCRIPTED_AGENT[1]})
    records = turns(EVENTS_PER_AGENT - 4)
    prompt = script(prints(*records, *answer("Done.")))

    async def work(count: int) -> None:
        tasks = [Task(f"task {number}", prompt) for number in range(count)]
        results = await Delegation(tasks, place=place, concurrency=_AT_ONCE)
        if not all(result.ok for result in results):
            raise SystemExit(f"an agent failed: {next(result for result in results if not result.ok)}")

    asyncio.run(work(_AT_ONCE))  # loads what is loaded late
    before = own_cpu_s()
    asyncio.run(work(agents))
    return 1000 * (own_cpu_s() - before) / agents


def figures(found: Mapping[str, float]) -> list[Figure]:
    """What was measured, for people."""
    size = f"events of {found['event_bytes'] / 1000:.1f} KB"
    return [
        Figure(f"decode, {size}", found["decode"], "/s"),
        Figure(
            f"decode → journal → fold, {size}", found["decode_journal_fold"], "/s", GOAL_EVENTS_A_SECOND, at_least=True
        ),
        Figure("the same with logs, transcript and window", found["everything"], "/s"),
        *(
            Figure(
                f"engine CPU for an agent of {EVENTS_PER_AGENT} events, {kind}",
                found[f"{kind}_cpu_ms"],
                "ms",
                GOAL_AGENT_CPU_MS,
            )
            for kind in _KINDS
        ),
    ]


def measure_as_told(quick: bool) -> dict[str, float]:
    """Little or much of it."""
    return measure(10_000, 16) if quick else measure(50_000, 64)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description="What an event costs on its way from an agent's output to the windows."
    )
    parser.add_argument("--quick", action="store_true")
    found = measure_as_told(parser.parse_args().quick)
    sys.stdout.write("\n".join(figure.line() for figure in figures(found)) + "\n")


if __name__ == "__main__":
    main()
