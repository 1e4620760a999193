"""What a task says arrives at the model as it was meant, whatever it looks like."""

from __future__ import annotations

import pytest

from pi_subagents import FileSlice, Reason, Task
from pi_subagents.outcome import NOT_STARTED_SENTENCE
from pi_subagents.supervisor import supervisor
from tests.pi.stage import Stage, prompts

MEGABYTE = 1024 * 1024


async def test_every_form_of_files_stands_before_the_prompt(stage: Stage) -> None:
    stage.write("src/ten.txt", "".join(f"line {n}\n" for n in range(1, 11)))
    outside = stage.root / "outside.txt"
    outside.write_text("from elsewhere\n")
    stage.write("large.txt", "x" * (MEGABYTE + 1024))
    stage.project.joinpath("binary.bin").write_bytes(b"\xff\xfe\x00")
    files = [
        "src/ten.txt",
        {"path": "src/ten.txt", "start": 3, "end": 4},
        {"path": "src/ten.txt", "start": 9},
        {"path": "src/ten.txt", "end": 2},
        {"path": "src/ten.txt", "head": 1},
        {"path": "src/ten.txt", "tail": 2},
        str(outside),
        "missing.txt",
        "binary.bin",
        "large.txt",
    ]
    answer = await stage.call({"name": "t", "prompt": "Read all this.", "files": files})
    ten = "=== src/ten.txt ===\n"
    assert prompts(stage) == [
        "\n\n".join(
            [
                ten + "\n".join(f"line {n}" for n in range(1, 11)),
                ten + "line 3\nline 4",
                ten + "line 9\nline 10",
                ten + "line 1\nline 2",
                ten + "line 1",
                ten + "line 9\nline 10",
                f"=== {outside} ===\nfrom elsewhere",
                "[file not found: missing.txt]",
                "[could not read file: binary.bin]",
                "[file too large: large.txt (1025KB, limit 1024KB)]",
                "Read all this.",
            ]
        )
    ]
    assert answer.details["windows"][0]["fileCount"] == 10


async def test_files_are_looked_for_where_the_task_works(stage: Stage) -> None:
    stage.write("note.txt", "of the project")
    stage.write("below/note.txt", "of the task")
    task = Task("t", "Go.", cwd=str(stage.project / "below"), files=("note.txt", FileSlice(path="../note.txt", head=1)))
    await stage.delegate(task)
    assert prompts(stage) == ["=== note.txt ===\nof the task\n\n=== ../note.txt ===\nof the project\n\nGo."]
    assert f"<cwd>\n{stage.project / 'below'}\n</cwd>" in stage.model.requests[0].system_text


ODD_BEGINNINGS = {
    "command": "/help me with this",
    "template": "/review the code",
    "file": "@README.md is what I mean",
    "option": "--version",
    "dash": "- one\n- two",
    "end of options": "-- and so on",
    "shell": "!ls -la",
    "silent shell": "!!ls",
    "quotes": "\"'`$HOME\\n %s {}",
    "lines": "first\r\nsecond\u2028third\x85fourth",
    "scripts": "\u00fcber \u4e2d\u6587 \U0001f375 e\u0301",
}


async def test_a_prompt_may_begin_with_what_means_something_to_pi(stage: Stage) -> None:
    stage.write("README.md", "Not these words.")
    template = stage.agent_dir / "prompts" / "review.md"
    template.parent.mkdir()
    template.write_text("---\ndescription: A template\n---\nExpanded from a template.\n")
    results = await stage.delegate(*(Task(name, prompt) for name, prompt in ODD_BEGINNINGS.items()))
    assert [result.error for result in results] == [None] * len(results)
    assert sorted(prompts(stage)) == sorted(ODD_BEGINNINGS.values())


async def test_a_prompt_that_names_a_command_of_an_extension_ends_in_the_truth(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The command is carried out, but no model has seen the task; in JSON mode pi exits with code 0.
    extension = stage.write("ship.ts", "export default (pi: any) => pi.registerCommand('ship', { handler() {} });\n")
    stage.write_profile("p", f"extensions: {extension}")
    stage.write_profile("q", f"extensions: {extension}", "harness: pi-json")
    monkeypatch.setattr(supervisor, "START_GRACE_S", 1.0)  # it takes its prompt, and then nothing will come
    results = await stage.delegate(Task("t", "/ship it", profile="p"), Task("u", "/ship it", profile="q"))
    assert [(result.reason, result.error) for result in results] == [
        (Reason.AGENT_ERROR, NOT_STARTED_SENTENCE),
        (Reason.EXIT, "Sub-agent exited with code 0 before it finished"),
    ]
    assert stage.model.requests == []


@pytest.mark.parametrize(
    ("prompt", "arrives"),
    [("before\0after", "before\0after"), ("before\ud800after", "before?after"), ("\udcff", "?")],
    ids=["null", "lone surrogate", "undecodable byte"],
)
async def test_text_that_is_no_proper_text_is_no_reason_to_fail(stage: Stage, prompt: str, arrives: str) -> None:
    answer = await stage.call({"name": prompt, "prompt": prompt})
    assert answer.text.startswith("✓")
    assert prompts(stage) == [arrives]
