"""`demo`: three real agents at work, with a scripted model instead of a paid one."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from pi_subagents.harness.pi.programs import find_pi
from pi_subagents.models import Task
from pi_subagents.offline import (
    DEMO_PROFILES,
    DEMO_TASKS,
    OfflineModel,
    agent_environment,
    demo_script,
    suits_demo,
    write_sample_project,
)
from pi_subagents.paths import home_dir
from pi_subagents.place import Place
from pi_subagents.runs.listing import Wanted, list_sessions
from pi_subagents.surfaces.cli.options import plain_option
from pi_subagents.surfaces.cli.output import echo_text
from pi_subagents.surfaces.cli.report import Report
from pi_subagents.surfaces.cli.run import run_and_report
from pi_subagents.text import shorten_path

_NEXT = """
What to try next
  {command} setup                    set up your own model, add the tools to your agents
  {command} run "What is in here?"   with your own model
  {command} {sessions}
  {command} --help                   everything else
"""
_SESSIONS_HERE = "sessions list            what ran here, and how it ended"
_SESSIONS_ALL = "sessions list --all      what ran anywhere, and how it ended"


@click.command()
@click.option("--live", is_flag=True, help="Use your own model instead of the scripted one; this costs tokens.")
@plain_option
def demo(live: bool, plain: bool) -> None:
    """Watch three sub-agents work in parallel: real pi processes and real tools, about ten seconds.

    Only the model is scripted, so you need no key and no network. The agents work on the current project, or on a small
    sample project in your agent directory; the records of their runs are kept there.
    """
    place = Place.here()
    find_pi(place.settings().pi_command, place.environ)
    with _stage(place, live=live) as stage:
        model = "your own model" if live else "a scripted model (no key, no network; costs are made up)"
        is_here = stage.cwd == place.cwd
        where = shorten_path(str(stage.cwd), home=str(home_dir())) if is_here else "a small sample project"
        echo_text(f"Three sub-agents in {where}\nwith {model}\n", err=True)
        tasks = [Task(task.name, task.prompt, profile=task.profile, timeout=120) for task in DEMO_TASKS]
        code = run_and_report(tasks, stage, Report(plain=plain))
    # The index in the demo's own agent directory is gone; that in the user's learns of runs when it is asked for them.
    list_sessions(place, Wanted(project=stage.project))
    sessions = _SESSIONS_HERE if is_here else _SESSIONS_ALL
    echo_text(_NEXT.format(command=_command(), sessions=sessions))
    sys.exit(code)


def _command() -> str:
    """How the reader can start this program again: by name if that works, else the way they just did."""
    if shutil.which("pi-subagents"):
        return "pi-subagents"
    started = Path(sys.argv[0])
    return f"{sys.executable} -m pi_subagents" if started.name == "__main__.py" else _relative(started)


def _relative(path: Path) -> str:
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


@contextmanager
def _stage(place: Place, *, live: bool) -> Iterator[Place]:
    """A place with the demo's profiles, and unless it is live, the scripted model."""
    with tempfile.TemporaryDirectory(prefix="pi-subagents-demo-") as scratch:
        folder = Path(scratch)
        cwd = place.cwd if suits_demo(place.cwd) else _sample_project(place.agent_dir)
        if live:
            agent_dir = _borrowed_agent_dir(place.agent_dir, folder / "agent")
            yield Place(cwd, agent_dir, place.environ)
            return
        with OfflineModel(demo_script()) as model:
            agent_dir = model.write_agent_dir(folder / "agent")
            _write_profiles(agent_dir)
            yield Place(cwd, agent_dir, {**place.environ, **agent_environment(agent_dir, place.environ)})


def _sample_project(agent_dir: Path) -> Path:
    """One for all demos, where the index of runs is too; its `.pi` makes it a project, whatever is above."""
    project = write_sample_project(agent_dir / "subagents" / "demo" / "tea-timer")
    (project / ".pi").mkdir(exist_ok=True)
    return project


def _borrowed_agent_dir(real: Path, borrowed: Path) -> Path:
    """The user's agent directory with the demo's profiles in place of their own."""
    borrowed.mkdir(mode=0o700)
    for entry in real.iterdir() if real.is_dir() else ():
        if entry.name != "agent-profiles":
            (borrowed / entry.name).symlink_to(entry)
    _write_profiles(borrowed)
    return borrowed


def _write_profiles(agent_dir: Path) -> None:
    folder = agent_dir / "agent-profiles"
    folder.mkdir(exist_ok=True)
    for name, text in DEMO_PROFILES.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
