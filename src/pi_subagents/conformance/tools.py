"""What an agent does: its tools, what they return, and the files that they change."""

from __future__ import annotations

from pi_subagents.conformance.stage import Broken, Outcome, Stage, expect
from pi_subagents.models import event as ev
from pi_subagents.offline import Call, Say, Script, Turn

_EARLY_MS = 300
_MAX_RECORD_BYTES = 6_000_000
"""For a megabyte of output, kept three times: as the agent printed it, in our events, in its conversation."""


async def one_tool(stage: Stage) -> None:
    """A tool call is reported under our name for the tool, and its result is kept"""
    run = (await stage.run("Go.", stage.agent.tools.bash("printf 'seen-%s' 42"), Say("Done."))).completed("Done.")
    starts = run.of(ev.ToolStarted)
    expect(len(starts) == 1, f"{len(starts)} calls were reported")
    started = starts[0]
    expect(started.name == "bash", f"the tool is called {started.name!r}")
    expect("seen-%s" in str(started.arguments.get("command")), f"its arguments are {started.arguments}")
    expect([ended.is_error for ended in run.of(ev.ToolEnded)] == [False], f"it ended {run.of(ev.ToolEnded)}")
    expect("seen-42" in "".join(result.text for result in run.results), f"the results are {run.results}")
    expect(
        "seen-42" in "".join(result.text for result in run.asked[-1].tool_results), "the model did not get the output"
    )


async def parallel_tools(stage: Stage) -> None:
    """Each of several parallel calls starts and ends"""
    calls = tuple(stage.agent.tools.bash(f"echo number-{number}") for number in range(3))
    run = (await stage.run("Go.", Turn("I run three.", calls), Say("Done."))).completed("Done.")
    starts, ends = [event.id for event in run.of(ev.ToolStarted)], [event.id for event in run.of(ev.ToolEnded)]
    expect(len(set(starts)) == 3, f"the calls that started are {starts}")
    expect(sorted(starts) == sorted(ends), f"{starts} started, {ends} ended")
    returned = [result.text for result in run.asked[-1].tool_results]
    expect(all(f"number-{number}" in str(returned) for number in range(3)), f"the model got {returned}")


async def failing_tools(stage: Stage) -> None:
    """A missing file and a command that exits with 3 are errors, and the run continues"""
    tools, missing = stage.agent.tools, stage.project / "not-here.txt"
    run = await stage.run("Go.", tools.read(missing), tools.bash("echo worse; exit 3"), Say("Both failed."))
    run.completed("Both failed.")
    failed = [ended.is_error for ended in run.of(ev.ToolEnded)]
    expect(failed == [True, True], f"the calls are reported as failed: {failed}")


async def unknown_tool(stage: Stage) -> None:
    """A call to an unknown tool fails visibly, and the run continues"""
    run = (await stage.run("Go.", Call("no_such_tool", {"x": 1}), Say("My mistake."))).completed("My mistake.")
    expect(any(ended.is_error for ended in run.of(ev.ToolEnded)), "no call is reported as failed")


async def edit(stage: Stage) -> None:
    """An edit changes the file and is reported with its diff"""
    file, tools = stage.write("song.txt", "la\nlo\nli\n"), stage.agent.tools
    run = await stage.run("Go.", tools.read(file), tools.edit(file, "lo", "lu"), Say("Changed."))
    run.completed("Changed.")
    expect(file.read_text() == "la\nlu\nli\n", f"the file has {file.read_text()!r}")
    _expect_change(run, "song.txt", "-lo", "+lu")


async def new_file(stage: Stage) -> None:
    """A new file is reported with its content"""
    file = stage.project / "new.txt"
    run = (await stage.run("Go.", stage.agent.tools.write(file, "brand new\n"), Say("Made."))).completed("Made.")
    expect(file.is_file() and file.read_text() == "brand new\n", "the file is missing, or has other content")
    _expect_change(run, "new.txt", "+brand new")


def _expect_change(run: Outcome, name: str, *lines: str) -> None:
    changes = [change for change in run.of(ev.FileChanged) if change.path.endswith(name)]
    expect(changes, f"no change of {name} is reported, only of {[change.path for change in run.of(ev.FileChanged)]}")
    diff = "\n".join(change.diff for change in changes).splitlines()
    expect(all(line in diff for line in lines), f"the diff is {diff}")
    expect(any(path.endswith(name) for path in run.state.changed_files), f"changed files: {run.state.changed_files}")


async def large_output(stage: Stage) -> None:
    """A megabyte of output neither stops a run nor fills the disk"""
    command = "yes 0123456789012345678901234567890123456789012345678 | head -c 1000000"
    run = (await stage.run("Go.", stage.agent.tools.bash(command), Say("Long."))).completed("Long.")
    kept = sum(path.stat().st_size for path in run.run.run_dir.rglob("*") if path.is_file() and not path.is_symlink())
    expect(kept < _MAX_RECORD_BYTES, f"the record has {kept:,} bytes")


async def slow_command(stage: Stage) -> None:
    """The output of a slow command is shown before it ends"""
    run = await stage.run(
        "Go.", stage.agent.tools.bash("echo one; sleep 0.7; echo two; sleep 0.7; echo three"), Say("Done.")
    )
    told = [(progress.at, progress.line) for progress in run.completed("Done.").of(ev.ToolProgress)]
    ended = min((event.at for event in run.of(ev.ToolEnded)), default=0)
    expect(ended, "no command was reported")
    early = [line for at, line in told if at < ended - _EARLY_MS]
    expect(any("one" in line or "two" in line for line in early), f"the progress reported in time is {early} of {told}")


async def own_sub_agent(stage: Stage) -> None:
    """What the agent's own sub-agent says is not its answer"""
    delegate = stage.agent.tools.delegate
    if delegate is None:
        raise Broken("it has no sub-agents of its own")
    script = Script().when("Count the leaves", [Say("There are 77.")])
    script = script.otherwise([*delegate("Count the leaves of the oak."), Say("The oak has many.")])
    run = await stage.run("Look at the oak.", script=script, **stage.agent.delegating)
    run.completed("The oak has many.")
    said = [message.text for message in run.of(ev.Message) if message.role == "assistant"]
    expect("There are 77." not in said, f"the run's own messages are {said}")
    expect(
        any("There are 77." in result.text for request in run.asked for result in request.tool_results),
        "the sub-agent's answer did not reach the model",
    )
