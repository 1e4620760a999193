"""`setup`: everything that a first result needs, in the order in which it is needed.

Every step looks first and does only what is missing, so it can be left at any question and begun again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from pi_subagents import __version__
from pi_subagents.diagnosis import inspection_of
from pi_subagents.errors import AgentNotFound, PiSubagentsError
from pi_subagents.harness.pi.checks import check_model, check_pi
from pi_subagents.harness.pi.programs import find_pi
from pi_subagents.installing import CLIENTS, Installation
from pi_subagents.installing import install as write_entry
from pi_subagents.models import Task
from pi_subagents.models.finding import Finding
from pi_subagents.paths import data_dir, tilde
from pi_subagents.place import Place
from pi_subagents.processes.bytecode import keep_compiled
from pi_subagents.surfaces.cli.dialogs import ask_yes
from pi_subagents.surfaces.cli.doctor import print_finding, print_verdict
from pi_subagents.surfaces.cli.install import installation_for, print_hints, warm_up
from pi_subagents.surfaces.cli.output import echo, steps_of
from pi_subagents.wizard import Cancelled

if TYPE_CHECKING:
    from pi_subagents.text.steps import Steps

_FIRST_TASK = Task("first task", "Say in three sentences what is in this directory. Change nothing.", timeout=120)
_LOGIN_QUESTION = "pi has no model yet. Start it to log in? Type /login there, and /quit when you are done"
_NEXT = 'Try it: pi-subagents run "Find a bug in this project" "Find a missing test in this project"'
_STOPPED = "Stopped. Finished steps are kept; to continue: pi-subagents setup"


@dataclass
class _Setup:
    place: Place
    steps: Steps
    asks: bool
    """Somebody is there to answer questions."""
    agrees: bool
    """What every question is answered with where nobody is asked."""
    findings: list[Finding] = field(default_factory=list)

    def wants(self, question: str) -> bool:
        return ask_yes(question, initial=True) if self.asks else self.agrees

    def tell(self, *findings: Finding) -> None:
        for finding in findings:
            self.findings.append(finding)
            print_finding(finding)

    def leave_out(self, what: str, command: str) -> None:
        self.tell(Finding(what, False, "skipped", f"run: {command}"))


@click.command()
@click.option("--yes", is_flag=True, help="Ask nothing, and do everything that needs no answer.")
def setup(yes: bool) -> None:
    """Install pi, set up a model, add the tools to your agents, and run a first task.

    Steps that are already done are skipped, so you can repeat this. Without a terminal it only installs pi, unless you
    give --yes, which changes the configuration of the agents it finds and runs the task. Exit code 1 if something
    required is still missing or the task failed.
    """
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not yes
    try:
        sys.exit(_set_up(_Setup(Place.here(), steps_of("setup"), asks, agrees=yes)))
    except Cancelled:
        echo(err=True)
        echo(_STOPPED, err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        echo(err=True)
        echo(_STOPPED, err=True)
        sys.exit(130)


def _set_up(setup: _Setup) -> int:
    keep_compiled()
    code = 0
    if _get_pi(setup):
        has_model = _get_model(setup)
        with _going_on(setup, "tools in pi"):
            _offer_extension(setup)
        for installation in (installation_for(name, "user") for name in CLIENTS):
            if installation.client.is_present(installation.place):
                with _going_on(setup, installation.client.title):
                    _offer_client(setup, installation)
        code = _run_first_task(setup, has_model=has_model)
    code = max(code, print_verdict(setup.findings))
    if code == 0:
        echo(_NEXT)
    return code


def _get_pi(setup: _Setup) -> bool:
    if not _has_pi(setup.place):
        from pi_subagents.processes.install import PINNED_PI_VERSION
        from pi_subagents.surfaces.cli.install_pi import bring_pi

        bring_pi(PINNED_PI_VERSION, setup.steps, data_dir(setup.place.environ))
    with setup.steps.step("starting pi", brief=True):
        found = list(check_pi(inspection_of(setup.place)))
    setup.tell(*found)
    return all(finding.ok for finding in found if finding.check == "pi")


def _has_pi(place: Place) -> bool:
    with suppress(AgentNotFound):
        return bool(find_pi(place.settings().pi_command, place.environ))
    return False


def _get_model(setup: _Setup) -> bool:
    found = _ask_for_models(setup)
    if setup.asks and found[0].needed and not found[0].ok and ask_yes(_LOGIN_QUESTION, initial=True):
        from pi_subagents.processes.foreground import run_in_terminal
        from pi_subagents.surfaces.cli.surfaces import terminal_launch

        run_in_terminal(*terminal_launch(setup.place))
        found = _ask_for_models(setup)
    setup.tell(*found)
    return found[0].ok


def _ask_for_models(setup: _Setup) -> list[Finding]:
    with setup.steps.step("asking pi for its models", brief=True):
        return list(check_model(inspection_of(setup.place)))


def _offer_extension(setup: _Setup) -> None:
    from pi_subagents.installing import pi_extension

    if not pi_extension.install(setup.place, "user", __version__, dry_run=True).is_needed:
        setup.tell(Finding("tools in pi", True, "already installed"))
    elif setup.wants("Add the tools to pi, as an extension?"):
        change = pi_extension.install(setup.place, "user", __version__)
        with setup.steps.step("loading the extension in pi", brief=True):
            problem = warm_up(setup.place)
        setup.tell(Finding("tools in pi", not problem, problem or tilde(change.folder)))
    else:
        setup.leave_out("tools in pi", "pi-subagents install pi")


def _offer_client(setup: _Setup, installation: Installation) -> None:
    title = installation.client.title
    change = write_entry(installation, dry_run=True)
    if not change.is_needed:
        setup.tell(Finding(title, True, "has the tools"))
    elif setup.wants(f"Add the tools to {title}?"):
        change = write_entry(installation)
        setup.tell(Finding(title, True, f"has the tools now ({tilde(change.path)})"))
        print_hints(change, installation)
    else:
        setup.leave_out(title, f"pi-subagents install mcp --client {installation.client.name}")


@contextmanager
def _going_on(setup: _Setup, what: str) -> Iterator[None]:
    """A configuration that cannot be changed is no reason to leave out the rest."""
    try:
        yield
    except PiSubagentsError as error:
        setup.tell(Finding(what, False, str(error)))


def _run_first_task(setup: _Setup, *, has_model: bool) -> int:
    command = f'pi-subagents run "{_FIRST_TASK.prompt}"'
    if not has_model:
        setup.leave_out("first task", "pi-subagents demo (needs no model)")
    elif setup.wants("Run a first task? An agent describes this directory, for a few tokens."):
        from pi_subagents.surfaces.cli.report import Report
        from pi_subagents.surfaces.cli.run import run_and_report

        return run_and_report([_FIRST_TASK], setup.place, Report())
    else:
        setup.leave_out("first task", command)
    return 0
