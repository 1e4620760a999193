"""A project with a scripted agent in it, and eyes for the processes that come of it.

Everything an agent starts inherits a mark in its environment, so that it is found from outside whatever it calls
itself, wherever it hides and whatever its process id is inside a namespace.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pi_subagents.delegation.delegation import Delegation
from pi_subagents.models import Task
from pi_subagents.models.event import AnyEvent
from pi_subagents.place import Place
from pi_subagents.runs.run import RunResult
from pi_subagents.store import JOURNAL_FILE, read_journal
from pi_subagents.testing import SCRIPTED_AGENT, Action, script
from pi_subagents.trust import Decisions

MARK_VARIABLE = "TEST_PROCESS_MARK"
PRESET, MODEL = "worker", "acme/large"


@dataclass(frozen=True)
class Stage:
    """One project, one containment, and the environment its agents get."""

    project: Path
    containment: str
    environ: dict[str, str]
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def runs(self) -> Path:
        return self.project / ".pi" / "subagents" / "runs"

    @property
    def run_dirs(self) -> list[Path]:
        return sorted(path for path in self.runs.iterdir() if path.name[0] != ".") if self.runs.exists() else []

    def delegation(self, *scripts: list[Action], environ: Mapping[str, str] | None = None, **task: Any) -> Delegation:
        """A delegation with one task per script."""
        place = Place.here(self.project, self.full_environ(environ))
        tasks = [Task(f"task {number}", script(*actions), **task) for number, actions in enumerate(scripts)]
        return Delegation(tasks, place=place)

    async def run(self, *actions: Action, environ: Mapping[str, str] | None = None, **task: Any) -> RunResult:
        """See one script through."""
        (result,) = await self.delegation(list(actions), environ=environ, **task)
        return result

    def holder(self, *actions: Action) -> subprocess.Popen[bytes]:
        """A process of its own that delegates one task, to be treated badly."""
        call = json.dumps({"tasks": [{"name": "task", "prompt": script(*actions)}]})
        return self.start([sys.executable, "-m", "pi_subagents", "call", "delegate_to_subagents", call])

    def start(self, argv: list[str], environ: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """A program in the project; its output is nobody's business."""
        null, env = subprocess.DEVNULL, self.full_environ(environ)
        return subprocess.Popen(argv, cwd=self.project, env=env, stdin=null, stdout=null, stderr=null)

    def processes(self) -> list[int]:
        """Everything alive that an agent of this stage started, the wrappers around the agent included."""
        return [pid for pid in _all_pids() if pid != os.getpid() and self.mark.encode() in _read(pid, "environ")]

    def events(self) -> list[AnyEvent]:
        """The journal of the one run there is."""
        (run_dir,) = self.run_dirs
        return list(read_journal(run_dir / JOURNAL_FILE))

    def full_environ(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """What a process of this stage finds in its environment."""
        return {**os.environ, **self.environ, MARK_VARIABLE: self.mark, **(more or {})}


def make_stage(folder: Path, containment: str, **settings: Any) -> Stage:
    """A project in `folder` whose settings ask for a containment."""
    project = folder / "project"
    (project / ".pi").mkdir(parents=True)
    document = {"subagents": {"containment": containment, **settings}}
    (project / ".pi" / "settings.json").write_text(json.dumps(document))
    Decisions(folder / "agent").trust(project)
    return Stage(project, containment, {"PI_AGENT_DIR": str(folder / "agent"), SCRIPTED_AGENT[0]: SCRIPTED_AGENT[1]})


def furnish(project: Path) -> None:
    """A profile `quick` and a preset, for calls that name them."""
    profile = "---\nname: quick\nmodel: acme/small\n---\nBe quick.\n"
    preset = f"---\nname: {PRESET}\ndescription: Works.\nmodel: {MODEL}\n---\n"
    for folder, name, text in (("agent-profiles", "quick", profile), ("subagents", PRESET, preset)):
        path = project / ".pi" / folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def tasks(*scripts: list[Action], **fields: Any) -> dict[str, Any]:
    """The arguments of a delegation, one task for each script."""
    return {
        "tasks": [{"name": f"task {i}", "prompt": script(*actions), **fields} for i, actions in enumerate(scripts, 1)]
    }


def command_line(pid: int) -> bytes:
    """The words that a process was started with; none if it is gone."""
    return _read(pid, "cmdline")


def _all_pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _read(pid: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""
