"""`sessions show`, `output` and `export`: the whole transcript, the final text alone, a file to show around."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from typing import Any

import pytest

from pi_subagents.models import Reason
from pi_subagents.models import event as ev
from pi_subagents.outcome import LOST_SENTENCE, ending
from tests.kit.sessions import call, returns, says, was_told
from tests.surfaces.cli.desk import TIMEOUT_S, Desk

SESSION = "a3f7b9c2d1e8f4a1"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def test_all_runs_are_shown_whole_as_markdown(desk: Desk) -> None:
    long = "\n".join(f"line {number}" for number in range(3000))
    desk.shelf.add(
        says(call("1", "bash", command="make")), returns("1", "bash", long), prompt="Build", session_id=SESSION, age_s=9
    )
    desk.shelf.add(says("# Done\n\nAll **good**."), prompt="Go on", session_id=SESSION, age_s=8)
    done = desk.run("show", SESSION)
    assert done.exit_code == 0
    assert done.out.startswith("# task\n\n- Status: ✓ completed\n")
    for text in ("## Run 1 of 2\n\n> Build", long, "## Run 2 of 2\n\n> Go on", "# Done\n\nAll **good**."):
        assert text in done.out
    assert "\x1b" not in done.out


def test_more_runs_and_messages_than_memory_keeps_are_shown(desk: Desk) -> None:
    for number in range(12):
        desk.shelf.add(says(f"answer {number}"), session_id=SESSION, age_s=100 - number)
    desk.shelf.add(*(says(f"message {number}") for number in range(600)), session_id=SESSION, age_s=10)
    out = desk.run("show", SESSION).out
    assert [number for number in range(12) if f"\nanswer {number}\n" not in out] == []
    assert [number for number in range(600) if f"\nmessage {number}\n" not in out] == []


def test_one_run_of_several_can_be_picked(desk: Desk) -> None:
    for number in (1, 2):
        desk.shelf.add(says(f"answer {number}"), session_id=SESSION, age_s=10 - number)
    out = desk.run("show", SESSION, "--run", "1").out
    assert "answer 1" in out
    assert "answer 2" not in out
    wrong = desk.run("show", SESSION, "--run", "3")
    assert (wrong.exit_code, wrong.err) == (1, f"error: Session {SESSION[:8]} has 2 runs; there is no run 3.\n")


def test_at_a_terminal_markdown_is_rendered_and_markup_is_not_lost(desk: Desk) -> None:
    desk.shelf.add(
        says("# Heading\n\nSome **bold** words, <b>tags</b> and\n\n<div>a block</div>\n\n- item"), session_id=SESSION
    )
    text = desk.at_terminal("show", SESSION).out
    assert "\x1b[1mbold\x1b[0m" in text
    plain = _COLOURS.sub("", text)
    assert "**" not in plain
    for words in ("Heading", "<b>tags</b>", "<div>a block</div>", "• item"):
        assert words in plain


def test_programs_get_every_event_as_it_was_recorded(desk: Desk) -> None:
    kept = desk.shelf.add(says("a\x9b\u2028b"), ev.Delta(kind="text", text="x"), session_id=SESSION)
    out = desk.run("show", SESSION, "--json").out
    recorded = [json.loads(line) for line in (kept.run_dir / "events.jsonl").read_text().split("\n") if line]
    assert [json.loads(line) for line in out.split("\n") if line] == recorded
    assert "\x9b" not in out


def test_what_was_given_with_the_task_is_named_but_not_repeated(desk: Desk) -> None:
    kept = desk.shelf.add(was_told("Previously:\n\nSECRETLY LONG\n\nInstructions:\n\nDo it"), session_id=SESSION)
    out = desk.run("show", SESSION).out
    assert "SECRETLY LONG" not in out
    assert str(kept.run_dir / "prompt.md") in out


def test_a_running_session_is_shown_as_far_as_it_is(desk: Desk) -> None:
    desk.shelf.add(says("First."), ev.Delta(kind="text", text="And now"), session_id=SESSION, ends=None)
    done = desk.run("show", SESSION)
    assert "And now\n\n*(unfinished)*" in done.out
    assert "⏳ running" in done.out
    assert done.err == "Still running; use --follow to see the rest.\n"


def test_a_lost_run_is_shown_with_its_end(desk: Desk) -> None:
    desk.shelf.add(says("First."), ev.Delta(kind="text", text="And now"), session_id=SESSION, ends=None).let_go()
    out = desk.run("show", SESSION).out
    assert "And now\n\n*(unfinished)*" in out
    assert f"> ✗ {LOST_SENTENCE}" in out
    assert "✗ failed (lost)" in out
    last = json.loads(desk.run("show", SESSION, "--json").out.splitlines()[-1])
    assert (last["type"], last["reason"]) == ("ended", "lost")


def follow(desk: Desk, *options: str) -> subprocess.Popen[str]:
    return desk.start_command("sessions", "show", "--follow", *options, SESSION)


def read_until(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    text = ""
    for line in process.stdout:  # bounded by the test's own time-out
        text += line
        if words in line:
            return text
    raise AssertionError(f"{words!r} never came: {text}")


def test_following_shows_what_comes_until_the_run_is_over(desk: Desk) -> None:
    kept = desk.shelf.add(says("First."), session_id=SESSION, ends=None)
    process = follow(desk)
    read_until(process, "First.")
    kept.append(says("Second."))
    read_until(process, "Second.")
    kept.append(says("Third."), ending(Reason.SETTLED, None, 5))
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert "Third." in out
    assert "✓ completed" in out
    assert process.returncode == 0


def test_following_notices_that_the_holder_died(desk: Desk) -> None:
    kept = desk.shelf.add(says("First."), session_id=SESSION, ends=None)
    process = follow(desk)
    read_until(process, "First.")
    kept.let_go()
    out, _ = process.communicate(timeout=TIMEOUT_S)
    assert LOST_SENTENCE in out
    assert process.returncode == 0


def test_following_for_programs_is_a_line_per_event(desk: Desk) -> None:
    kept = desk.shelf.add(says("First."), session_id=SESSION, ends=None)
    process = follow(desk, "--json")
    first = read_until(process, "First.")
    kept.append(ending(Reason.SETTLED, None, 5))
    rest, _ = process.communicate(timeout=TIMEOUT_S)
    assert [json.loads(line)["type"] for line in (first + rest).splitlines()] == [
        "created",
        "started",
        "message",
        "ended",
    ]


def test_following_ends_with_ctrl_c_and_the_run_goes_on(desk: Desk) -> None:
    kept = desk.shelf.add(says("First."), session_id=SESSION, ends=None)
    process = follow(desk)
    read_until(process, "First.")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, err) == (130, "Stopped following.\n")
    kept.append(says("Second."))


def test_the_final_text_of_the_latest_run_stands_alone(desk: Desk) -> None:
    desk.shelf.add(says("First."), session_id=SESSION, age_s=9)
    desk.shelf.add(says("Looking.", call("1", "ls")), says("def f():\n\treturn 1\n"), session_id=SESSION, age_s=8)
    done = desk.run("output", SESSION[:6])
    assert (done.exit_code, done.out, done.err) == (0, "def f():\n\treturn 1\n", "")


@pytest.mark.parametrize(
    ("events", "fields", "end"),
    [
        (
            [says("Half")],
            {"ends": Reason.TIMEOUT, "message": "Timed out after 7s."},
            (1, "Half\n", "✗ failed: Timed out after 7s. (ran for 1.0s)\n"),
        ),
        ([], {}, (0, "", "(no text output from sub-agent)\n")),
        (
            [says("Before."), ev.Delta(kind="text", text="So far")],
            {"ends": None},
            (3, "So far\n", "Still running: this is the text so far.\n"),
        ),
    ],
    ids=["failed", "silent", "running"],
)
def test_the_exit_code_says_how_it_ended_and_standard_error_why(
    desk: Desk, events: list[ev.Event], fields: dict[str, Any], end: tuple[int, str, str]
) -> None:
    desk.shelf.add(*events, session_id=SESSION, **fields)
    done = desk.run("output", SESSION)
    assert (done.exit_code, done.out, done.err) == end


def test_programs_get_the_text_with_its_circumstances(desk: Desk) -> None:
    kept = desk.shelf.add(
        says("Half\x1b[2J"), name="n", session_id=SESSION, ends=Reason.CANCELLED, message="Cancelled", profile="p"
    )
    done = desk.run("output", SESSION, "--json")
    document = done.json()
    assert done.exit_code == 1
    assert document["usage"]["totalTokens"] == 120
    expected = {
        "status": "aborted",
        "reason": "cancelled",
        "error": "Cancelled",
        "output": "Half\x1b[2J",
        "profile": "p",
    }
    assert expected.items() <= document.items()
    assert (document["runCount"], document["runDir"]) == (1, str(kept.run_dir))


@pytest.fixture
def session(desk: Desk) -> str:
    desk.shelf.add(
        was_told("=== a.py ===\nx = 1\n\nDo it"),
        says("Looking.", call("1", "bash", command="ls")),
        returns("1", "bash", "a.py"),
        says("Found *it*."),
        session_id=SESSION,
        age_s=9,
    )
    desk.shelf.add(says("And <b>more</b>."), session_id=SESSION, age_s=8)
    return SESSION


def test_markdown_goes_to_standard_output(desk: Desk, session: str) -> None:
    done = desk.run("export", session[:4])
    assert (done.exit_code, done.err) == (0, "")
    assert done.out.startswith("# task\n\n- Status: ✓ completed\n")
    for text in ("=== a.py ===\nx = 1", "→ `bash → ls`", "Found *it*.", "## Run 2 of 2", "And \\<b>more\\</b>."):
        assert text in done.out
    assert done.out.endswith("\n")
    assert not done.out.endswith("\n\n")


@pytest.mark.parametrize("arguments", [("-o", "out.html"), ("--format", "html", "-o", "page.txt")])
def test_a_page_is_one_file(desk: Desk, session: str, arguments: tuple[str, ...]) -> None:
    done = desk.run("export", session, *arguments)
    file = desk.project / arguments[-1]
    text = file.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "And &lt;b&gt;more&lt;/b&gt;." in text
    assert (done.exit_code, done.out) == (0, "")
    assert done.err.startswith(f"Wrote {arguments[-1]} (")
    assert desk.run("export", session, "--format", "html", "-o", "-").out.endswith("</html>\n")
    assert not (desk.project / "-").exists()


def test_a_directory_gets_a_file_with_the_sessions_name(desk: Desk, session: str) -> None:
    desk.run("export", session, "--format", "html", "-o", str(desk.root))
    assert (desk.root / f"{SESSION}.html").exists()
    (desk.project / "notes.d").mkdir()  # which is no format
    assert desk.run("export", session, "-o", "notes.d").exit_code == 0
    assert (desk.project / "notes.d" / f"{SESSION}.md").exists()


def test_a_format_that_is_not_written_is_refused_before_anything_is(desk: Desk, session: str) -> None:
    done = desk.run("export", session, "-o", "x.pdf")
    assert (done.exit_code, done.out) == (2, "")
    assert "-o x.pdf: cannot write .pdf files; use a name that ends in .md or .html" in done.err
    assert not (desk.project / "x.pdf").exists()


def test_a_file_that_cannot_be_written_is_an_error_in_words(desk: Desk, session: str) -> None:
    done = desk.run("export", session, "-o", "nowhere/file.md")
    assert (done.exit_code, done.out) == (1, "")
    assert done.err == "error: cannot write nowhere/file.md: No such file or directory; choose another file with -o\n"


@pytest.mark.parametrize("device", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_can_be_named_as_a_device(desk: Desk, session: str, device: str) -> None:
    done = desk.run("export", session, "-o", device)
    assert (done.exit_code, done.out) == (0, desk.run("export", session).out)


def test_a_running_session_is_exported_as_far_as_it_is(desk: Desk) -> None:
    desk.shelf.add(says("So far."), session_id=SESSION, ends=None)
    out = desk.run("export", SESSION, "--format", "html").out
    assert "So far." in out
    assert "⏳ running" in out


@pytest.mark.parametrize(
    "command", [("show",), ("output",), ("export", "-o", "x.md"), ("stop",), ("resume", "Go on"), ("delete", "-y")]
)
def test_a_session_that_is_not_there_is_an_error_that_says_what_to_do(desk: Desk, command: tuple[str, ...]) -> None:
    done = desk.run(command[0], "feedfeedfeedfeed", *command[1:])
    assert (done.exit_code, done.out) == (1, "")
    whose = "Cannot resume: session" if command[0] == "resume" else "Session"
    assert done.err == (
        f'error: {whose} "feedfeedfeedfeed" not found. The session may have expired or the ID is incorrect.\n'
        "hint: 'pi-subagents sessions list --all' lists all sessions\n"
    )
    assert not (desk.project / "x.md").exists()
