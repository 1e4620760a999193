"""`sessions resume`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pi_subagents.errors import SessionNotFound
from pi_subagents.models import DEFAULT_TIMEOUT_S
from pi_subagents.place import Place
from pi_subagents.runs.run import Run
from pi_subagents.surfaces.cli.catalogs import complete_agent
from pi_subagents.surfaces.cli.output import remarks
from pi_subagents.surfaces.cli.prompts import read_prompts
from pi_subagents.surfaces.cli.run import run_and_report
from pi_subagents.surfaces.cli.sessions.argument import find_session, session_argument
from pi_subagents.surfaces.cli.times import Duration
from pi_subagents.surfaces.cli.trust import trust_option


@click.command()
@session_argument
@click.argument("prompt", nargs=-1, required=True, metavar="PROMPT...")
@click.option("-p", "--profile", help="Use another profile or preset than before.", shell_complete=complete_agent)
@click.option("--files", multiple=True, metavar="PATH", help="Prepend a file to the prompt; - is standard input.")
@click.option("--timeout", type=Duration(min_s=1), help=f"Timeout: 90, 90s, 5m, 1h30m (default {DEFAULT_TIMEOUT_S}s).")
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Directory to work in (default: the same as before).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--plain", is_flag=True, help="Print one line per event; never redraw.")
@trust_option
def resume(
    session: str,
    prompt: tuple[str, ...],
    profile: str | None,
    files: tuple[str, ...],
    timeout: float | None,
    cwd: Path | None,
    as_json: bool,
    plain: bool,
    trust: bool,
) -> None:
    """Continue SESSION with PROMPT, in a new run that knows what the earlier ones did.

    Piped input is appended to the prompt; a PROMPT of - is read from standard input instead. The agent works in the
    same directory and with the same profile as before, unless told otherwise. Exit code 0 only if the run completed.
    """
    latest = _latest(Place.here(), session)
    told = read_prompts((" ".join(prompt),), files, remarks(quiet=False))
    paths = tuple(str(Path(file).absolute()) for file in told.files)
    task = latest.resumed_task(told.whole(told.texts[0]), cwd=cwd, profile=profile, timeout_s=timeout, files=paths)
    # Profiles and settings are those of the project that the session belongs to.
    place = Place.here(latest.project, trusts_project=trust)
    sys.exit(run_and_report([task], place, profile=None, jobs=1, as_json=as_json, plain=plain, detachable=True))


def _latest(place: Place, text: str) -> Run:
    try:
        return find_session(place, text).latest
    except SessionNotFound as error:
        sentence = str(error)
        raise SessionNotFound(f"Cannot resume: {sentence[:1].lower()}{sentence[1:]}", advice=error.advice) from None
