"""The extension in pi's terminal: what a person sees and does."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable

import pytest

from pi_subagents.offline import Call, Fail, Hang, Request, Say, Script, Turn
from tests.extension.conftest import PlayWithExtension
from tests.extension.rpc import WAIT_S
from tests.extension.terminal import PiTerminal, open_pi
from tests.kit.waiting import until
from tests.pi.stage import Stage, processes_below
from tests.surfaces.live.watching import needs_tmux

pytestmark = needs_tmux

_LONG = "This is the beginning of a line that no window can show as a whole, " + "because it goes on " * 8 + "END"
_TASKS = [
    {"name": "alpha", "prompt": "Work."},
    {"name": "a-task-with-a-very-long-name-indeed", "prompt": "Work.", "profile": "writer"},
    {"name": "gamma", "prompt": "Fail."},
]


class Pause:
    """Agents that wait for the test, so that it sees them at work on however slow a machine."""

    def __init__(self) -> None:
        self._is_over = threading.Event()

    def end(self) -> None:
        self._is_over.set()

    def then(self, text: str) -> Callable[[Request], Say]:
        """An answer after the pause."""

        def answer(_request: Request) -> Say:
            assert self._is_over.wait(2 * WAIT_S)  # longer than the test waits for anything
            return Say(text)

        return answer


def _script(working: Pause, looking: Pause) -> Script:
    return (
        Script()
        .when(
            "Delegate.",
            [
                Call("delegate_to_subagents", {"tasks": _TASKS}),
                Say("Parent done."),
                Call("background_agent", {"preset": "scout", "task": "Look around."}),
                Say("Launched."),
            ],
        )
        .when("Fail.", [Fail(400, "no such thing")])
        .when("Look around.", [looking.then("Nothing found.")])
        .when(
            "Work.",
            [
                Turn(text=_LONG, calls=(Call("bash", {"command": "expr 1000 + 234"}),)),
                working.then("It is done.\x1b[2J\x07"),
            ],
        )
    )


@pytest.mark.parametrize(("columns", "rows", "mode"), [(80, 24, "fullscreen"), (160, 50, "regular")])
def test_windows_while_agents_work_their_ends_and_what_goes_on_behind(
    play_with_extension: PlayWithExtension, columns: int, rows: int, mode: str
) -> None:
    working, looking = Pause(), Pause()
    stage = play_with_extension(_script(working, looking))
    with open_pi(stage, columns, rows, "--tui-mode", mode) as pi:
        pi.say("Delegate.")
        pi.until_shown("⏳ alpha • (offline/scripted")
        pi.until_shown("Sub-agents: 2 running, 1 error")
        assert "END" not in pi.until_shown("→ bash → expr 1000 + 234")
        working.end()
        pi.until_shown("Parent done.")
        _until_ends(pi, columns)
        pi.press("C-o")
        pi.until_shown("END", "Tool output: expanded", "    1234")
        pi.press("C-o")
        pi.until_gone("END")
        pi.until_gone("    1234")
        if rows > 24:  # otherwise what is looked at has scrolled away
            pi.say("/reload")
            pi.until_shown("Reloaded")
            _until_ends(pi, columns)
        pi.say("And now?")
        _check_background(pi, looking)
    with open_pi(stage, columns, rows, "--tui-mode", mode, "--continue") as again:
        # Painted from the session file alone, also what has scrolled away by now.
        again.terminal.resize(columns, 100)
        again.until_shown("Sub-agents: 2 done, 1 error", 'Background agent "scout" completed: Look around.')
        again.until_shown("✓ scout • Look around. • completed • ")
        _until_ends(again, columns)
    until(lambda: not processes_below(stage.root))


def test_a_window_names_its_task_in_full_and_says_how_long_a_tool_has_been_running(
    play_with_extension: PlayWithExtension,
) -> None:
    name = "Find out why the nightly build has failed since the new compiler"
    wait = Call("bash", {"command": "until [ -e go ]; do sleep 0.1; done"})
    delegate = Call("delegate_to_subagents", {"tasks": [{"name": name, "prompt": "Work."}]})
    script = Script().when("Delegate.", [delegate, Say("Parent done.")]).when("Work.", [wait, Say("It is done.")])
    stage = play_with_extension(script)
    with open_pi(stage, 120, 30) as pi:
        pi.say("Delegate.")
        clock = re.compile(r"→ bash → until \[ -e go \]; do sleep 0.1; done \(\d+s\)")
        pi.terminal.until_screen(lambda screen: clock.search(screen) is not None, "the tool's clock goes")
        pi.until_shown(f"⏳ {name} • ")
        (stage.project / "go").touch()
        screen = pi.until_shown("Parent done.", f"✓ {name} • ")
        assert not clock.search(screen)


def _until_ends(pi: PiTerminal, columns: int) -> None:
    name = "✓ a-task-with-a-very-long-name-indeed"
    screen = pi.until_shown("It is done.", "no such thing", "Sessions: alpha ", name)
    long_name = next(line for line in screen.splitlines() if name in line)
    # What is missed least is left out where there is no room, and the time never is.
    assert ("offline/scripted" in long_name) == (columns > 80)
    assert "s/600s" in long_name or long_name.endswith("s")
    assert any(line.rstrip().endswith("…") for line in screen.splitlines())


def _check_background(pi: PiTerminal, looking: Pause) -> None:
    pi.until_shown("Launched.")
    pi.until_shown("bg: 1 running / 1 total", "⏳ scout • Look around. • in the background")
    looking.end()
    pi.until_shown("bg: 0 running / 1 total", "✓ scout • Look around. • completed • ")
    pi.until_gone("⏳ scout")
    screen = pi.until_shown('Background agent "scout" completed: Look around.', "pi-subagents", "Nothing found.")
    notice, message = [line for line in screen.splitlines() if 'Background agent "scout" completed' in line]
    assert notice.strip() == 'Background agent "scout" completed: Look around.'
    assert message.startswith(" ✓ ")


@pytest.mark.parametrize("mode", ["fullscreen", "regular"])
def test_a_profile_is_made_by_the_wizard_and_agents_are_read_and_stopped_in_the_list(
    play_with_extension: PlayWithExtension, mode: str
) -> None:
    launch = Call("background_agent", {"preset": "scout", "task": "Wait."})
    script = Script().when("Launch.", [launch, Say("Launched.")]).otherwise([Hang("Still thinking.")])
    stage = play_with_extension(script)
    with open_pi(stage, 80, 24, "--tui-mode", mode) as pi:
        _make_profile(pi)
        assert (stage.project / ".pi" / "agent-profiles" / "tester.md").read_text() == (
            "---\nname: tester\nmodel: offline/scripted\nthinkingLevel: low\ntools: read,bash\n---\n"
        )
        pi.type("/profile show tes")
        pi.until_shown("→ tester ")
        pi.press("C-c")
        pi.say("Launch.")
        pi.until_shown("bg: 1 running / 1 total")
        _look_at_list_and_leave(pi)
        _use_list(pi, stage)


def _make_profile(pi: PiTerminal) -> None:
    pi.say("/profile create tester")
    pi.answer("Step 1 of 10: Scope", "Down", "Enter")
    pi.answer("Step 2 of 10: Provider", "Enter")
    pi.answer("Step 3 of 10: Model", "Down", "Enter")
    for step in ("4 of 10: System prompt", "5 of 10: Append system prompt"):
        pi.answer(f"Step {step}", "Enter")
    pi.answer("Set how much the model thinks?", "Down", "Enter")
    pi.answer("→ Skip: leave it to the agent", "Down", "Down", "Down", "Enter")
    pi.answer("Restrict the tools", "Down", "Enter")
    pi.answer("→ Skip: all tools", "Down", "Down", "Enter")
    pi.answer("grep, find, ls", "-l", "red,bash")
    pi.until_shown("red,bash")
    pi.press("Escape")
    pi.answer("Leave without saving?", "Down", "Down", "Enter")
    pi.answer("Restrict the tools", "Down", "Enter")
    pi.answer("→ Skip: all tools", "Down", "Down", "Enter")
    pi.answer("grep, find, ls", "-l", "red,bash")
    pi.answer("red,bash", "Enter")
    pi.answer('Did you mean "read"?', "Enter")
    for question in ("Configure the extensions", "Configure skills"):
        pi.answer(question, "Enter")
    pi.until_shown("Step 10 of 10: Review", "tools: read, bash", "→ Save it")
    pi.press("Enter")
    pi.until_shown('Saved the profile "tester"')


def _look_at_list_and_leave(pi: PiTerminal) -> None:
    chat = pi.until_shown("Launched.").partition("Launched.")[0].strip()
    pi.say("/subagents")
    pi.answer("▸ ⏳ Wait. ", "Enter")
    pi.answer("Still thinking.", "Escape")
    pi.answer("▸ ⏳ Wait. ", "Escape")
    pi.until_gone("▸")
    pi.until_shown(chat, "Launched.")


def _use_list(pi: PiTerminal, stage: Stage) -> None:
    pi.say("/subagents")
    pi.until_shown("▸ ⏳ Wait. ")
    pi.press("Enter")
    pi.until_gone("▸")
    pi.until_shown("Still thinking.")
    pi.press("Escape")
    pi.until_shown("▸")
    # A question takes the place of the list, which is there again afterwards.
    pi.press("x")
    pi.answer("→ Yes", "Enter")
    pi.until_shown("bg: 0 running / 1 total")
    pi.until_shown("▸ ✗ Wait. ")
    pi.press("Escape")
    pi.until_gone("▸")
    until(lambda: not [command for command in processes_below(stage.project) if "--no-prompt-templates" in command])
