"""Where a story happens: an empty home, a project, the agent's real program, and a scripted model as its provider.

Tasks run as a user's own would. The agent sees nothing of the machine's user who runs the story.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from pi_subagents.conformance.agents import TestedAgent
from pi_subagents.conformance.shared_folders import SharedFolders
from pi_subagents.conformance.sink import Sink
from pi_subagents.delegation.delegation import Delegation
from pi_subagents.errors import PiSubagentsError
from pi_subagents.fold import RunState
from pi_subagents.harness import Harness, agent_of, harness_named
from pi_subagents.models import Reason, Status, Task
from pi_subagents.models import event as ev
from pi_subagents.offline import OfflineModel, Request, Say, Script
from pi_subagents.offline.script import Step
from pi_subagents.paths import data_dir, private_runtime_dirs
from pi_subagents.place import Place
from pi_subagents.processes.query import ask
from pi_subagents.profiles import invalidate_profiles_cache
from pi_subagents.runs.run import Run

PROFILE = "worker"
TIMEOUT_S = 60.0
"""For one task; a whole story has more time."""
PATIENCE_S = 45.0
GLANCE_S = 0.02
_MARK_VARIABLE = "PI_SUBAGENTS_CONFORMANCE"

E = TypeVar("E", bound=ev.Event)


class Broken(Exception):  # noqa: N818 - a finding about an agent, not an error in a story
    """The story does not hold; the message is a sentence that says why."""


def expect(holds: object, sentence: str) -> None:
    """Raise Broken with the sentence, which says what was seen instead."""
    if not holds:
        raise Broken(sentence)


async def glance(look: Callable[[], object], within_s: float) -> bool:
    """Poll until `look` returns something true; for processes and the model's requests, which send no notice."""
    deadline = time.monotonic() + within_s
    while not (seen := look()) and time.monotonic() < deadline:  # noqa: ASYNC110 - as above
        await asyncio.sleep(GLANCE_S)
    return bool(seen)


@dataclass(frozen=True)
class Outcome:
    """A run that is over, as recorded, and the requests that the model got meanwhile."""

    run: Run
    events: Sequence[ev.AnyEvent]
    asked: Sequence[Request]

    @property
    def state(self) -> RunState:
        return self.run.state

    @property
    def text(self) -> str:
        return self.state.text

    def of(self, kind: type[E]) -> list[E]:
        """The events of a kind."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def results(self) -> list[ev.Message]:
        """The results of tools."""
        return [message for message in self.of(ev.Message) if message.role == "toolResult"]

    @property
    def request(self) -> Request:
        """The only request to the model; raises Broken if there was not exactly one."""
        expect(len(self.asked) == 1, f"the model was asked {len(self.asked)} times")
        return self.asked[0]

    def completed(self, text: str | None = None) -> Self:
        """Expect the run to be completed, with this answer if one is given."""
        expect(self.state.status is Status.COMPLETED, f"the run is {self.end}, not completed")
        expect(text is None or self.text == text, f"the answer is {self.text[:200]!r}, not {text!r}")
        return self

    def failed(self, *reasons: Reason) -> Self:
        """Expect the run to have failed, for one of these reasons if any are given."""
        expect(self.state.status is Status.FAILED, f"the run is {self.end}, not failed")
        expect(not reasons or self.state.reason in reasons, f"the run is {self.end}, not for {reasons}")
        return self

    def aborted(self) -> Self:
        """Expect the run to be aborted."""
        expect(self.state.status is Status.ABORTED, f"the run is {self.end}, not aborted")
        return self

    @property
    def end(self) -> str:
        """How the run ended, in words."""
        return f"{self.state.status} ({self.state.reason}: {self.state.error})"


class Running:
    """A delegation at work."""

    def __init__(self, delegation: Delegation, model: OfflineModel, events: list[ev.Event]) -> None:
        self.events = events
        self._delegation = delegation
        self._model = model
        self._work = asyncio.ensure_future(_results(delegation))

    def saw(self, kind: type[ev.Event]) -> bool:
        """Whether such an event has happened."""
        return any(isinstance(event, kind) for event in self.events)

    @property
    def asked(self) -> list[Request]:
        """The model's requests so far, without side requests."""
        return [request for request in self._model.requests if not request.is_side]

    async def until(self, what: str, look: Callable[[], object]) -> None:
        """Wait until `look` returns something true; raises Broken if it does not, or if the run ends first."""

        def look_again() -> object:
            seen = look()
            expect(seen or not self._work.done(), f"the run was over before {what}")
            return seen

        expect(await glance(look_again, PATIENCE_S), f"waited {PATIENCE_S:g} s, but never saw that {what}")

    def stop(self) -> None:
        """Ask it to stop, as Ctrl+C does."""
        self._delegation.stop()

    async def steer(self, text: str) -> None:
        """Send the agent a message."""
        why = await self._delegation.steer(self._delegation.runs[0].state.session_id, text)
        expect(why is None, f"the agent could not be steered: {why}")

    async def outcomes(self) -> list[Outcome]:
        """Every run, once all of them are over."""
        await self._work
        runs = [Run.load(run.run_dir) for run in self._delegation.runs]
        return [Outcome(run, tuple(run.events()), self.asked) for run in runs]

    async def outcome(self) -> Outcome:
        """The only run, once it is over."""
        (outcome,) = await self.outcomes()
        return outcome


async def _results(delegation: Delegation) -> None:
    await delegation


@dataclass
class Stage:
    """The place of one story, below `root`."""

    root: Path
    agent: TestedAgent
    environ: dict[str, str]
    """The variables that say where programs are."""
    sink: Sink
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        self.project = self.root / "project"
        for folder in (self.project / ".git", self.home, self.temp, self.agent_dir):
            folder.mkdir(parents=True, mode=0o700)
        if self.agent.needs_trust:
            self.write(self.agent_dir / "trust.json", json.dumps({str(self.root.resolve()): True}))

    @property
    def harness(self) -> Harness:
        """How the agent is spoken to, and what that says of it."""
        return harness_named(self.agent.harness)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def temp(self) -> Path:
        return self.root / "tmp"

    @property
    def agent_dir(self) -> Path:
        return self.root / "agents"

    # --- runs -------------------------------------------------------------------------------------------------

    async def run(self, prompt: str, *steps: Step, **options: Any) -> Outcome:
        """Run one task to its end; see `start` for the options."""
        async with self.start([prompt], *steps, **options) as running:
            return await running.outcome()

    async def refusal(self, **fields: Any) -> str:
        """Why a task with these profile fields is refused before it starts; empty if it is not."""
        try:
            run = await self.run("Go.", Say("I should not have been asked."), **fields)
        except PiSubagentsError as refused:
            return str(refused)
        return (run.state.error or "") if run.state.reason is Reason.INVALID and not run.asked else ""

    @asynccontextmanager
    async def start(
        self,
        prompts: Sequence[str],
        *steps: Step,
        script: Script | None = None,
        cwd: Path | None = None,
        timeout_s: float = TIMEOUT_S,
        resume: str | None = None,
        watch: Callable[[ev.Event], object] = lambda event: None,
        **fields: Any,
    ) -> AsyncIterator[Running]:
        """Start a task for each prompt, one after the other; `fields` go into their profile.

        The model follows `steps`, or `script` if one conversation is not enough. `watch` is told of every event, and
        until it returns the agent gets no answer to it. Leaving the block stops whatever still runs.
        """
        self._write_profile(fields)
        about: dict[str, Any] = {"cwd": str(cwd or self.project), "profile": PROFILE, "timeout": timeout_s}
        tasks = [Task("story", prompt, resume=resume, **about) for prompt in prompts]
        with OfflineModel(script or Script().otherwise(steps), model_id=self.agent.model) as model:
            place = Place.here(self.project, self._environ(model))
            events: list[ev.Event] = []

            def observe(_state: RunState, new: Sequence[ev.Event]) -> None:
                events.extend(new)
                for event in new:
                    watch(event)

            options: dict[str, Any] = {"observer": observe}
            async with Delegation(tasks, place=place, concurrency=1, **options) as delegation:
                yield Running(delegation, model, events)

    def _environ(self, model: OfflineModel) -> dict[str, str]:
        own = {"HOME": str(self.home), "TMPDIR": str(self.temp), "LANG": "C.UTF-8", "TERM": "xterm-256color"}
        ours = {
            "PI_AGENT_DIR": str(self.agent_dir),
            _MARK_VARIABLE: self.mark,
            "GIT_CEILING_DIRECTORIES": str(self.root),
        }
        return {**self.environ, **own, **ours, **self.sink.environ, **self.agent.environ(model, self.agent_dir)}

    def _write_profile(self, fields: dict[str, Any]) -> None:
        said = {"name": PROFILE, **self.agent.profile, **fields}
        body = said.pop("systemPrompt", "")
        invalidate_profiles_cache()  # as our own code does when it saves one
        lines = [f"{name}: {json.dumps(value)}" for name, value in said.items() if value is not None]
        self.write(
            self.agent_dir / "agent-profiles" / f"{PROFILE}.md", "\n".join(("---", *lines, "---", str(body), ""))
        )

    # --- the disk and the machine -----------------------------------------------------------------------------

    def write(self, path: str | Path, text: str) -> Path:
        """Write a file in the project, or anywhere with an absolute path."""
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def entries(self, *folders: Path) -> set[Path]:
        """Every file, link and directory below these folders, except our own records."""
        records = self.project / ".pi" / "subagents"
        found = {path for folder in folders for path in folder.rglob("*") if not path.is_relative_to(records)}
        return found - {records.parent}

    def files_with(self, word: str) -> list[Path]:
        """Every file of the stage that contains the word, except the profile."""
        profile, found = self.agent_dir / "agent-profiles" / f"{PROFILE}.md", []
        for path in self.root.rglob("*"):
            with suppress(OSError):
                if path != profile and path.is_file() and word.encode() in path.read_bytes():
                    found.append(path)
        return found

    def processes(self) -> dict[str, str]:
        """The command lines of all live processes that this story started, by process id."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it ended meanwhile, or is somebody else's
                if folder.name != str(os.getpid()) and self.mark.encode() in (folder / "environ").read_bytes():
                    words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[folder.name] = words.decode("utf-8", "replace")
        return found

    def give_shared_folders(self) -> SharedFolders:
        """Start the agent's program from now on with `/tmp` and its like as `SharedFolders` has them."""
        program = shlex.split(self.environ[self.agent.variable])
        on_path = self.environ["PATH"].split(os.pathsep)
        needed = [*map(Path, (*program, *on_path)), data_dir(self.environ), *private_runtime_dirs()]
        shared = SharedFolders(self.root / "shared", agent_of(self.agent.harness), needed, self.environ)
        self.environ[self.agent.variable] = shlex.join(shared.wrap(program))
        return shared

    def kill(self) -> None:
        """Kill all of them at once, as a machine that runs out of memory might."""
        command = f"kill -9 {' '.join(self.processes())}"
        ask(["sh", "-c", command], environ=self.environ, timeout_s=PATIENCE_S)
