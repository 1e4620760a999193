"""What can be done with a run: stop, resume, copy, open, export. Each says in a sentence what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

from textual.app import App

from pi_subagents.clock import now_ms
from pi_subagents.errors import PiSubagentsError, StoreError
from pi_subagents.export import printable, session_html
from pi_subagents.outcome import CANCELLED_SENTENCE
from pi_subagents.pages import run_page
from pi_subagents.planning import Place
from pi_subagents.progress import clean, counted, data_size
from pi_subagents.runners.desktop import open_on_desktop
from pi_subagents.store import load_run, request_stop, session_runs
from pi_subagents.surfaces.watch.dialogs import Confirmation, PromptDialog
from pi_subagents.surfaces.watch.own_runs import OwnRuns
from pi_subagents.trees import writing_to
from pi_subagents.watching.runs import WatchedRun


class RunActions:
    """Does what the user asks for in `app`."""

    def __init__(self, app: App[None], place: Place, own_runs: OwnRuns) -> None:
        self._app = app
        self._place = place
        self._own_runs = own_runs

    def stop(self, run: WatchedRun) -> None:
        """Ask whether to stop the run, and do so."""
        if not run.is_active:
            self._say(f"{_name(run)} is over already.")
            return

        def answered(sure: bool | None) -> None:
            if sure:
                self._attempt(self._stop(run))

        question = f"Stop {_name(run)}? What it has said and done until now is kept."
        self._app.push_screen(Confirmation(question, "Stop it", "Let it work"), answered)

    async def _stop(self, run: WatchedRun) -> None:
        await asyncio.to_thread(request_stop, run.run_dir, CANCELLED_SENTENCE)
        self._say(f"{_name(run)} was asked to stop.")

    def resume(self, run: WatchedRun) -> None:
        """Ask for a prompt, and go on with the session."""
        if run.is_active:
            self._say(f"{_name(run)} is still running; it can be resumed when it has ended.")
            return

        def answered(prompt: str | None) -> None:
            if prompt is not None and prompt.strip():
                self._attempt(self._resume(run, prompt))

        self._app.push_screen(PromptDialog(_name(run)), answered)

    async def _resume(self, run: WatchedRun, prompt: str) -> None:
        await self._own_runs.resume(run.run_dir, prompt)
        self._say(f"{_name(run)} goes on. Quitting watch stops it.")

    def copy(self, run: WatchedRun) -> None:
        """Put the run's final text, or what there is of it, on the clipboard."""
        self._attempt(self._copy(run))

    async def _copy(self, run: WatchedRun) -> None:
        state = await asyncio.to_thread(load_run, run.run_dir)
        text = printable(state.text)
        if not text.strip():
            self._say(f"{_name(run)} has {'left no text' if state.status.is_terminal else 'said nothing yet'}.")
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
                self._app.notify(printable(str(error)), severity="error", markup=False)

        self._app.run_worker(attempt())

    def _say(self, sentence: str) -> None:
        self._app.notify(sentence, markup=False)


def _name(run: WatchedRun) -> str:
    return f"“{' '.join(clean(run.state.name).split()) or '(unnamed)'}”"


def _write_page(run: WatchedRun, target: Path, project: Path) -> int:
    pages = [run_page(folder) for folder in session_runs(run.run_dir.parent, run.session_id)]
    try:
        with writing_to(target, project) as stream:
            stream.writelines(piece.encode() for piece in session_html(pages, now_ms()))
        return target.stat().st_size
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error.strerror}") from error
