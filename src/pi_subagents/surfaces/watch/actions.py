"""What can be done: start, steer, resume, stop, copy, open, export. Each says in a sentence what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import msgspec
from textual.app import App

from pi_subagents.background.launch import launch_all
from pi_subagents.delegation.missing import require_everything
from pi_subagents.delegation.offered_models import with_default_models
from pi_subagents.delegation.prompts import task_name
from pi_subagents.errors import PiSubagentsError, StoreError, with_advice
from pi_subagents.fold import RunState
from pi_subagents.models import Task, short_id
from pi_subagents.place import Place
from pi_subagents.processes.foreground import open_on_desktop
from pi_subagents.profiles import PRESET, Agent
from pi_subagents.runs.background import TERMINAL
from pi_subagents.runs.roster import WatchedRun
from pi_subagents.runs.run import Run
from pi_subagents.runs.sessions import Session, Sessions
from pi_subagents.surfaces.watch.dialogs import Confirmation, PromptDialog, StartDialog
from pi_subagents.surfaces.watch.run_list import name_of_run
from pi_subagents.text import counted, data_size, printable
from pi_subagents.trees import writing_to

Say = Callable[[str], None]


def start(place: Place, agent: Agent | None, prompt: str, say: Say) -> RunState:
    """Start an agent, or `pi` as it is, on a task; `say` is told what was chosen for it. Raises PiSubagentsError."""
    name = agent.profile.name if agent else None
    is_preset = agent is not None and agent.kind is PRESET
    return _launch(
        Task(
            task_name(prompt),
            prompt,
            timeout=None,
            profile=None if is_preset else name,
            preset=name if is_preset else None,
        ),
        place,
        say,
    )


def resume(place: Place, run: Run, prompt: str, say: Say) -> RunState:
    """Go on with the session of a run, likewise; raises PiSubagentsError."""
    # Profiles and settings are those of the project that the session belongs to; others may have one of its id.
    there = Place.here(run.project, place.environ)
    return _launch(Sessions(there).find(run.session_id).latest.resumed_task(prompt), there, say)


def _launch(task: Task, place: Place, say: Say) -> RunState:
    (task,) = with_default_models([msgspec.structs.replace(task, timeout=None)], place, say)
    (run,) = launch_all([task], place, owner=TERMINAL, check=require_everything)
    return run.state


class RunActions:
    """Does what the user asks for in `app`."""

    def __init__(self, app: App[None], place: Place, show: Callable[[str], None]) -> None:
        """`show` is told the session of a new run."""
        self._app = app
        self._place = place
        self._show = show

    def start(self, run: WatchedRun | None) -> None:
        """Ask for an agent and a task, and start it: in the project of a run, or where the program was started."""
        places = [self._place]
        if run is not None and run.project != self._place.project:
            places.insert(0, Place.here(run.project, self._place.environ))
        self._app.push_screen(StartDialog(places, self._start))

    async def _start(self, place: Place, agent: Agent | None, prompt: str) -> None:
        remarks: list[str] = []
        state = await asyncio.to_thread(start, place, agent, prompt, remarks.append)
        self._show(state.session_id)
        words = [f"Started session {short_id(state.session_id)}. It keeps running when you quit.", *remarks]
        self._say(printable(" ".join([*words, state.note or ""]).strip()))

    def steer(self, run: WatchedRun) -> None:
        """Ask for a word to the agent at work, and pass it on."""
        if not run.is_active:
            self._say(f"{_quoted(run)} has already ended; r resumes it.")
        elif problem := run.run.why_not_steered():
            self._say(printable(with_advice(problem)))
        else:
            self._app.push_screen(PromptDialog(f"Tell {_quoted(run)}:", "send", partial(self._steer, run)))

    async def _steer(self, run: WatchedRun, words: str) -> None:
        await asyncio.to_thread(run.run.steer, words)
        self._say(f"{_quoted(run)} reads it before its next turn, if there is one.")

    def stop(self, run: WatchedRun) -> None:
        """Ask whether to stop the run, and do so."""
        if not run.is_active:
            self._say(f"{_quoted(run)} has already ended.")
            return

        def answered(sure: bool | None) -> None:
            if sure:
                self._attempt(self._stop(run))

        question = f"Stop {_quoted(run)}? What it has said and done so far is kept."
        self._app.push_screen(Confirmation(question), answered)

    async def _stop(self, run: WatchedRun) -> None:
        await asyncio.to_thread(run.run.stop)
        self._say(f"{_quoted(run)} was asked to stop.")

    def resume(self, run: WatchedRun) -> None:
        """Ask for a prompt, and go on with the session."""
        if run.is_active:
            self._say(f"{_quoted(run)} is still running; you can resume it when it has ended.")
            return

        question = f"What should {_quoted(run)} do now?"
        self._app.push_screen(PromptDialog(question, "resume", partial(self._resume, run)))

    async def _resume(self, run: WatchedRun, prompt: str) -> None:
        remarks: list[str] = []
        state = await asyncio.to_thread(resume, self._place, run.run, prompt, remarks.append)
        self._show(state.session_id)
        self._say(printable(" ".join([f"{_quoted(run)} continues, even when you quit.", *remarks])))

    def copy(self, run: WatchedRun) -> None:
        """Put the run's final text, or what there is of it, on the clipboard."""
        self._attempt(self._copy(run))

    async def _copy(self, run: WatchedRun) -> None:
        now = await asyncio.to_thread(Run.load, run.run_dir)
        text = printable(now.state.text)
        if not text.strip():
            self._say(f"{_quoted(run)} has {'left no text' if now.is_over else 'said nothing yet'}.")
            return
        self._app.copy_to_clipboard(text)
        self._say(f"Copied {counted(len(text), 'character')}, if your terminal allows programs to (OSC 52).")

    def open(self, run: WatchedRun) -> None:
        """Copy the path of the run's directory, and show it where there is a desktop."""
        path = printable(str(run.run_dir))
        opened = open_on_desktop(run.run_dir, self._place.environ)
        self._app.copy_to_clipboard(path)
        self._say(f"{'Opened' if opened else 'The run directory, also on the clipboard:'} {path}")

    def export(self, run: WatchedRun) -> None:
        """Write the whole session as an HTML page into the current directory."""
        self._attempt(self._export(run))

    async def _export(self, run: WatchedRun) -> None:
        target = self._place.cwd / f"{run.session_id}.html"
        size = await asyncio.to_thread(_write_page, run, target, self._place.project)
        self._say(f"Wrote {printable(str(target))} ({data_size(size)}).")

    def _attempt(self, work: Awaitable[None]) -> None:
        async def attempt() -> None:
            try:
                await work
            except PiSubagentsError as error:
                self._app.notify(printable(with_advice(error)), severity="error", markup=False)

        self._app.run_worker(attempt())

    def _say(self, sentence: str) -> None:
        self._app.notify(sentence, markup=False)


def _quoted(run: WatchedRun) -> str:
    return f"“{name_of_run(run)}”"


def _write_page(run: WatchedRun, target: Path, project: Path) -> int:
    page = Session.of(run.run).export("html")
    try:
        with writing_to(target, project) as stream:
            stream.writelines(piece.encode() for piece in page)
        return target.stat().st_size
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error.strerror}") from error
