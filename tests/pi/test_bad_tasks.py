"""Tasks that cannot be run: each fails alone, in the documented words, while the others go on."""

from __future__ import annotations

from typing import Any

import pytest

from pi_subagents.offline import Call, Say, Script
from tests.kit.waiting import PATIENCE_S
from tests.pi.stage import Play, Stage

WINDOW_KEYS = {
    *("name", "sessionId", "status", "lines", "allMessages", "exitCode", "model", "stopReason", "errorMessage"),
    *("profileName", "provider", "thinkingLevel", "timeout", "todoTotal", "todoCompleted", "toolCount", "fileCount"),
    *("startedAt", "completedAt", "runId", "runDir", "usage", "reason"),
}


def task(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "prompt": "Go.", **fields}


async def test_an_unknown_profile_fails_its_task_and_the_summary_says_how_each_ended(stage: Stage) -> None:
    stage.write_profile("researcher", "model: offline/scripted", "thinkingLevel: low", "tools: read", body="Look.")
    stage.write_profile("writer", "provider: offline", "excludeTools: bash", "appendSystemPrompt: Write.")
    answer = await stage.call(
        task("plain"),
        task("bad", profile="code-reviewer"),
        task("reads", profile="researcher"),
        task("writes", profile="writer"),
    )
    plain, bad, reads, writes = answer.details["sessionIds"]
    assert answer.text.splitlines() == [
        f"✓ plain: completed (session: {plain})",
        '✗ bad: error — Unknown profile: "code-reviewer". Available profiles: researcher, writer '
        f"(session: {bad}) (code-reviewer)",
        f"✓ reads: completed (session: {reads}) "
        "(profile: researcher, model=offline/scripted, thinking=low, custom-system-prompt, tools=[read])",
        f"✓ writes: completed (session: {writes}) "
        "(profile: writer, provider=offline, appended-system-prompt, excludeTools=[bash])",
    ]
    assert not answer.is_error
    assert len(stage.model.requests) == 3


async def test_a_task_without_a_possible_profile_leaves_a_record_of_its_failure(play: Play) -> None:
    stage = play(Script())
    answer = await stage.call(task("bad", profile="code-reviewer"))
    assert 'error — Unknown profile: "code-reviewer". Available profiles: (none) (session: ' in answer.text
    (window,) = answer.details["windows"]
    shown = [window[key] for key in ("status", "reason", "exitCode", "startedAt")]
    assert shown == ["error", "invalid", None, None]
    (run_dir,) = stage.run_dirs
    assert b'"status": "failed"' in (run_dir / "result.json").read_bytes()


async def test_a_task_is_one_line_of_the_summary_whatever_its_name_and_its_error_look_like(stage: Stage) -> None:
    answer = await stage.call(task("two\nlines\x1b[31m"), task("bad", profile="a\nb"), task("blank", prompt=" \n "))
    one, bad, blank = answer.details["sessionIds"]
    assert answer.text.splitlines() == [
        f"✓ two lines: completed (session: {one})",
        f'✗ bad: error — Unknown profile: "a b". Available profiles: (none) (session: {bad}) (a b)',
        f"✗ blank: error — prompt is empty (session: {blank})",
    ]


async def test_details_have_the_ruled_keys_and_nothing_else(play: Play) -> None:
    stage = play(Script().otherwise([Call("ls", {"path": "."}), Say("Two\nlines.")]))
    stage.write("a.txt", "a")
    stage.write_profile("lister", "tools: ls")
    answer = await stage.call(task("t", profile="lister", timeout=77, files=["a.txt"]))
    assert set(answer.details) == {"windows", "maxLinesPerWindow", "globalStatus", "sessionIds"}
    assert (answer.details["maxLinesPerWindow"], answer.details["globalStatus"]) == (15, "done")
    (window,) = answer.details["windows"]
    assert set(window) == WINDOW_KEYS
    assert (
        window["lines"]
        == window["allMessages"]
        == [
            {"text": "→ ls → .", "kind": "tool"},
            {"text": "  1 file, 1 dir", "kind": "tool"},
            {"text": "Two", "kind": "text"},
            {"text": "lines.", "kind": "text"},
        ]
    )
    assert window | {"lines": 0, "allMessages": 0, "usage": 0, "runId": 0, "runDir": 0} == {
        **{"name": "t", "sessionId": answer.details["sessionIds"][0], "status": "completed"},
        **{"lines": 0, "allMessages": 0, "exitCode": 0, "model": "scripted", "stopReason": "stop"},
        **{"errorMessage": None, "profileName": "lister", "provider": "offline", "thinkingLevel": None},
        **{"timeout": 77, "todoTotal": 0, "todoCompleted": 0, "toolCount": 1, "fileCount": 1},
        **{"startedAt": window["startedAt"], "completedAt": window["completedAt"], "reason": "settled"},
        **{"runId": 0, "runDir": 0, "usage": 0},
    }
    assert 0 < window["completedAt"] - window["startedAt"] < 1000 * PATIENCE_S
    assert set(window["usage"]) == {"input", "output", "cacheRead", "cacheWrite", "totalTokens", "cost"}
    assert window["runDir"] == str(stage.run_dirs[0])


BAD_DIRECTORIES = {
    "project": "cwd must be an absolute path",
    "./project": "cwd must be an absolute path",
    "{root}/project/../project": "cwd must not contain '..' path segments",
    "{root}/missing": "cwd does not exist: {root}/missing",
    "{root}/project/file.txt": "cwd is not a directory: {root}/project/file.txt",
    "{root}/project/file.txt/below": "cwd does not exist: {root}/project/file.txt/below",
    "{root}/\udcff": "cwd does not exist: {root}/?",
    "{root}/" + "a" * 300: "cwd cannot be used (File name too long): {root}/" + "a" * 300,
    "{root}/null\0byte": "cwd does not exist: {root}/nullbyte",
    "{root}/circle": "cwd cannot be used (Too many levels of symbolic links): {root}/circle",
}


async def test_a_bad_directory_fails_its_task_alone_in_the_documented_words(stage: Stage) -> None:
    stage.write("file.txt", "not a directory")
    (stage.root / "circle").symlink_to("circle")
    tasks = [task("t", cwd=cwd.format(root=stage.root)) for cwd in BAD_DIRECTORIES]
    answer = await stage.call(*tasks, task("good", cwd=str(stage.project)), task("default", cwd=""))
    *errors, good, default = [window["errorMessage"] for window in answer.details["windows"]]
    assert errors == [sentence.format(root=stage.root) for sentence in BAD_DIRECTORIES.values()]
    assert (good, default) == (None, None)
    assert len(stage.model.requests) == 2


@pytest.mark.parametrize("program", ["/nowhere/pi", "{root}/not-executable", "{root}/no-interpreter"])
async def test_a_program_that_cannot_be_started_is_a_spawn_failure(play: Play, program: str) -> None:
    stage = play(Script())
    (stage.root / "not-executable").write_text("#!/bin/sh\n")
    (stage.root / "no-interpreter").write_text("#!/nowhere/interpreter\n")
    (stage.root / "no-interpreter").chmod(0o755)
    stage.write_settings(piCommand=program.format(root=stage.root))
    (window,) = (await stage.call(task("t"))).details["windows"]
    assert (window["reason"], window["errorMessage"]) == ("spawn", "Failed to spawn sub-agent process")
