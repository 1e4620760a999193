"""`sessions export`."""

from __future__ import annotations

from errno import ELOOP
from pathlib import Path

import click

from pi_subagents.errors import StoreError
from pi_subagents.place import Place
from pi_subagents.runs.run import PageKind
from pi_subagents.surfaces.cli.output import echo, echo_text
from pi_subagents.surfaces.cli.sessions.argument import find_session, session_argument
from pi_subagents.text import data_size
from pi_subagents.trees import explain, writing_to

_FORMATS: dict[str, PageKind] = {".md": "md", ".markdown": "md", ".txt": "md", ".html": "html", ".htm": "html"}


@click.command()
@session_argument
@click.option(
    "--format",
    "wanted",
    type=click.Choice(["md", "html"]),
    help="Output format (default: by the extension of FILE, else md).",
)
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Write to FILE, or to a file named after the session if it is a directory (default: standard output).",
)
def export(session: str, wanted: PageKind | None, file: Path | None) -> None:
    """Export SESSION with all its runs as Markdown, or as one self-contained HTML page.

    Exit code 0 if it was written.
    """
    target = None if file is None or str(file) == "-" else file
    kind: PageKind = wanted or _format_of(target)
    place = Place.here()
    found = find_session(place, session)
    text = found.export(kind)
    if target is None:
        for piece in text:
            echo_text(piece, nl=False)
        return
    if target.is_dir():
        target = target / f"{found.id}.{kind}"
    try:
        with writing_to(place.cwd / target, place.project) as stream:
            stream.writelines(piece.encode() for piece in text)
    except OSError as error:
        reason = explain(error, target) if error.errno == ELOOP else f"cannot write {target}: {error.strerror}"
        raise StoreError(f"{reason}; choose another file with -o") from error
    echo(f"Wrote {target} ({data_size(target.stat().st_size)}).", err=True)


def _format_of(target: Path | None) -> PageKind:
    """What a name ends in; one that is not written here would be Markdown under a false name."""
    if target is None or not target.suffix or target.is_dir():
        return "md"
    kind = _FORMATS.get(target.suffix.lower())
    if kind is None:
        raise click.UsageError(
            f"-o {target}: cannot write {target.suffix} files; use a name that ends in .md or .html, "
            "or choose with --format"
        )
    return kind
