"""The full screen: runs on one side, the conversation of the chosen one on the other."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Resize
from textual.widgets import Footer, Input, Static

from pi_subagents.paths import home_dir
from pi_subagents.place import Place
from pi_subagents.progress import FATES, fate, status_segments
from pi_subagents.runs.idle_agents import idle_agent_lines
from pi_subagents.runs.live import POLL_S
from pi_subagents.runs.roster import Roster, WatchedRun
from pi_subagents.surfaces.watch.actions import RunActions
from pi_subagents.surfaces.watch.blocks import painted
from pi_subagents.surfaces.watch.conversation import ConversationView
from pi_subagents.surfaces.watch.dialogs import Help
from pi_subagents.surfaces.watch.run_list import FLAT, TALL, RunList
from pi_subagents.text import Line, Style, clean, money, shorten_path

IDLE_S = 1.0
"""How long a new run may stay unseen while no other is active."""
WIDE_FROM = 110
"""Columns from which list and conversation stand side by side."""

_NOTHING_YET = """No runs yet.

Press n to start one. Runs that you start elsewhere appear here too:

  pi-subagents run "Explain what this project does"

Or watch three agents work without a key or a network:

  pi-subagents demo"""
_SEARCH = "name, agent, model, project, session … (esc: show all)"
_NOTHING_MATCHES = "No run matches.\n\nPress esc to show all."
_STATUSES = ("", *FATES)
KEYS = (
    Binding("question_mark", "help", "Help", key_display="?", tooltip="this help"),
    Binding("n", "start", "New", tooltip="start a new agent: choose one, type the task"),
    Binding("s", "with_chosen('steer')", "Steer", tooltip="send the selected agent a message while it runs"),
    Binding("r", "with_chosen('resume')", "Resume", tooltip="continue the selected session with a new prompt"),
    Binding("x", "with_chosen('stop')", "Stop", tooltip="stop the selected run; asks first"),
    Binding("slash", "search", "Search", key_display="/", tooltip="search in names, agents, models, projects"),
    Binding("f", "next_status", "Filter", tooltip="only running, completed, failed or aborted runs"),
    Binding("p", "toggle_project", "Project", show=False, tooltip="only the selected run's project; again: all"),
    Binding("enter", "enter", "Read", show=False, tooltip="go to the conversation; on a tool call: expand it"),
    Binding("t", "toggle_folds", "Tools", show=False, tooltip="expand all tool calls; again: collapse them"),
    Binding("y", "with_chosen('copy')", "Copy", tooltip="copy the final output to the clipboard"),
    Binding(
        "o", "with_chosen('open')", "Open", show=False, tooltip="copy the run directory's path; on a desktop: open"
    ),
    Binding("e", "with_chosen('export')", "Export", show=False, tooltip="write the session as an HTML page"),
    Binding("d", "toggle_theme", "Light/dark", show=False, tooltip="light or dark"),
    Binding("escape", "back", "Back", show=False, key_display="esc", tooltip="back to the list; there: show all runs"),
    Binding("ctrl+z", "suspend_process", "Suspend", show=False, priority=True, tooltip="suspend; fg returns"),
    Binding("q", "quit", "Quit", tooltip="quit (also ctrl+c); all runs continue"),
)
ALSO = (Binding("ctrl+c", "quit", show=False),)
"""Keys that the help names beside another one."""

HELP = [
    ("↑ ↓", "select a run, or scroll (also j k g G PgUp PgDn Home End)"),
    ("tab", "move to the conversation and its tool calls"),
    *((binding.key_display or binding.key, binding.tooltip) for binding in KEYS),
]


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions that a run has to meet, all of them; empty ones are met by every run."""

    status: str = ""
    text: str = ""
    project: Path | None = None

    @property
    def is_empty(self) -> bool:
        return self == Selection()

    def of(self, runs: Sequence[WatchedRun]) -> list[WatchedRun]:
        """The runs that are wanted, in their order."""
        words = self.text.casefold().split()
        return [run for run in runs if self._accepts(run) and all(word in run.searched for word in words)]

    def _accepts(self, run: WatchedRun) -> bool:
        return self.status in ("", fate(run.window.state.status)) and self.project in (None, run.project)

    def with_next_status(self) -> Selection:
        """All, running, completed, failed, aborted, and all again."""
        return replace(self, status=_STATUSES[(_STATUSES.index(self.status) + 1) % len(_STATUSES)])

    def with_project(self, project: Path | None) -> Selection:
        """Only that project; all again if it was only that one."""
        return replace(self, project=None if self.project is not None else project)

    @property
    def description(self) -> str:
        """What the list is limited to, in words; nothing if it is not."""
        parts = [self.status, clean(self.project.name) if self.project else ""]
        text = " ".join(self.text.split())
        return " · ".join(part for part in (*parts, f'"{clean(text)}"' if text else "") if part)


class LastingDriver(LinuxDriver):
    """The terminal as textual drives it, but one that may go away at any moment: then writes go nowhere.

    textual writes from a thread of its own, which dies of the first write to a closed terminal; whatever the program
    writes after that waits for ever, and with it the program, deaf to the very signal that tells it to end.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._file: Any = _Lasting(self._file)


class _Lasting:
    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


async def watch(place: Place, project: Path | None = None) -> None:
    """Show all runs, or those of one project, until the user leaves."""
    await WatchApp(place, project).run_async()
    task = asyncio.current_task()
    if task is not None and task.cancelling():  # textual leaves then, but keeps quiet about why
        raise asyncio.CancelledError


class WatchApp(App[None]):
    """The program; it only reads what others write, save for what the user asks for."""

    CSS_PATH = "watch.tcss"
    TITLE = "pi-subagents watch"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS, *ALSO]

    def __init__(self, place: Place, project: Path | None = None) -> None:
        # With NO_COLOR textual makes everything grey, unless colours are the terminal's own: those it takes away.
        super().__init__(driver_class=LastingDriver, ansi_color="NO_COLOR" in os.environ or None)
        self.place = place
        self.roster = Roster(place, project)
        self.selection = Selection()
        self.list = RunList()
        self.conversation = ConversationView()
        self._title = Static(id="title", markup=False)
        # Disabled until it is asked for: textual gives the focus to whatever can have it before styles hide anything.
        self._search = Input(placeholder=_SEARCH, id="search", disabled=True)
        self._empty = Static(id="empty", markup=False)
        self._body = Container(id="body")
        self._idle = Static(id="idle", markup=False)
        self._actions = RunActions(self, place, self._show_session)
        self.has_looked = False

    def compose(self) -> ComposeResult:
        yield self._title
        with self._body:
            with Vertical(id="runs"):
                yield self._search
                yield self.list
                yield self._empty
            yield self.conversation
        yield self._idle
        yield Footer()

    def on_mount(self) -> None:
        self._lay_out(self.size.width)
        # After ctrl+z and fg textual draws only what changes from then on.
        self.app_resume_signal.subscribe(self, lambda _app: self.refresh(layout=True))
        self.run_worker(self._watch())
        self.run_worker(self._watch_idle_agents())
        self.list.focus()

    # --- keeping up -----------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        while self.is_running:
            await self.refresh_runs()
            await asyncio.sleep(POLL_S if self.roster.is_active else IDLE_S)

    async def _watch_idle_agents(self) -> None:
        """Tell of processes that belong to no run, while there are any."""
        while self.is_running:
            lines = await asyncio.to_thread(idle_agent_lines, self.place.agent_dir)
            self._idle.update(" • ".join(lines))
            self._idle.display = bool(lines)
            await asyncio.sleep(IDLE_S)

    async def refresh_runs(self) -> None:
        """Look at the disk once and show what is new there."""
        visible = [run for run in self.list.visible_runs if run.lacks_words]
        news = await asyncio.to_thread(self.roster.look, visible)
        self.roster.apply(news)
        if not self.is_running:
            return
        if self.selection.of(self.roster.runs) != self.list.runs or not self.has_looked:
            self.has_looked = True
            self._show_list()
        else:
            self.list.show_news({*visible, *(run for run, _ in news.events)})
        if news.events or news.listed is not None:
            self._paint_title()
        if self.conversation.reading is not None and not self.conversation.reading.is_over:
            self.conversation.paint_header()

    def _show_list(self) -> None:
        shown = self.selection.of(self.roster.runs)
        self.list.with_project = self.roster.project is None and self.selection.project is None
        self.list.show(shown)
        self.list.display = bool(shown)
        self._empty.display = not shown
        self._empty.update(_NOTHING_YET if self.selection.is_empty else _NOTHING_MATCHES)
        self._paint_title()
        if not shown:
            self.conversation.read(None, [])

    def _paint_title(self) -> None:
        line: Line = [(Style.TITLE, "watch"), (Style.MUTED, "  ")]
        line += status_segments([run.window for run in self.roster.runs])
        where = self.roster.project
        if where is not None:
            line.append((Style.MUTED, f" • {clean(where.name)}"))
        if limits := self.selection.description:
            line.append((Style.WARNING, f" • only {limits}"))
        if cost := sum(run.cost for run in self.list.runs):
            is_all = all(run.state.knows_cost for run in self.list.runs)
            line.append((Style.MUTED, f" • {money(cost, is_all=is_all)} in total"))
        self._title.update(painted(line), layout=False)

    def on_run_list_chosen(self, event: RunList.Chosen) -> None:
        """Show the conversation of the chosen run."""
        if event.run is None:
            self.conversation.read(None, [])
        else:
            self.conversation.read(event.run.run_dir, _origin(event.run))

    def on_resize(self, event: Resize) -> None:
        self._lay_out(event.size.width)

    def _lay_out(self, width: int) -> None:
        wide = width >= WIDE_FROM
        self._body.set_class(wide, "-wide").set_class(not wide, "-narrow")
        self.list.row_height = TALL if wide else FLAT

    # --- finding --------------------------------------------------------------------------------------------

    def _select(self, selection: Selection) -> None:
        self.selection = selection
        self._show_list()

    def action_next_status(self) -> None:
        self._select(self.selection.with_next_status())

    def action_toggle_project(self) -> None:
        run = self.list.chosen
        self._select(self.selection.with_project(run.project if run else None))

    def action_search(self) -> None:
        self._search.add_class("shown")
        self._search.disabled = False
        self._search.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._select(replace(self.selection, text=event.value))

    def on_input_submitted(self) -> None:
        self.list.focus()

    async def action_back(self) -> None:
        """From the conversation to the list; from there to the list of all runs."""
        if self.focused is not self.list and not isinstance(self.focused, Input) and self.list.display:
            self.list.focus()
            return
        self._show_all()
        self.list.focus()

    def _show_all(self) -> None:
        with self._search.prevent(Input.Changed):
            self._search.value = ""
        self._search.remove_class("shown")
        self._search.disabled = True
        self._select(Selection())

    def _show_session(self, session_id: str) -> None:
        """Choose a session as soon as it is there; no filter may hide it."""
        self.list.choose_when_listed(session_id)
        self._show_all()

    def action_enter(self) -> None:
        self.conversation.timeline.focus()

    def action_toggle_folds(self) -> None:
        self.conversation.timeline.toggle_folds()

    # --- doing ----------------------------------------------------------------------------------------------

    @property
    def _chosen(self) -> WatchedRun | None:
        return self.list.chosen if self.list.display else None

    def action_start(self) -> None:
        self._actions.start(self._chosen)

    def action_with_chosen(self, what: str) -> None:
        """Steer, stop, resume, copy, open or export the chosen run."""
        run = self._chosen
        if run is None:
            self.notify("No run is selected.", markup=False)
            return
        act: Callable[[WatchedRun], None] = getattr(self._actions, what)
        act(run)

    # --- the program itself ---------------------------------------------------------------------------------

    def action_toggle_theme(self) -> None:
        self.theme = "textual-light" if self.current_theme.dark else "textual-dark"

    def action_help(self) -> None:
        self.push_screen(Help(HELP))


def _origin(run: WatchedRun) -> Line:
    count = f"run {run.run_count} of session " if run.run_count > 1 else "session "
    project = shorten_path(str(run.project), home=str(home_dir()))
    return [(Style.MUTED, count), (Style.ACCENT, run.session_id), (Style.MUTED, f" • {clean(project)}")]
