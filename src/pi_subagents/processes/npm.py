"""npm, as we let it work: without scripts of the packages, and silent about everything but what went wrong."""

from __future__ import annotations

import os
import shutil
import tarfile
import zlib
from pathlib import Path, PurePosixPath

import msgspec

from pi_subagents.encoding import JsonError, decode_json
from pi_subagents.processes.fetching import VERSION, run
from pi_subagents.processes.node import Node

NPM_OPTIONS = (
    *("--no-package-lock", "--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts"),
    # npm's own pauses between tries add up to 70 s of silence on a machine without a network.
    *("--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"),
)
BROKEN_ARCHIVE = (tarfile.TarError, EOFError, zlib.error, FileNotFoundError)


class Manifest(msgspec.Struct):
    """What we read of a `package.json`."""

    version: str = ""
    bin: dict[str, str] = {}
    dependencies: dict[str, str] = {}


def read_manifest(package: Path) -> Manifest | None:
    """The manifest of a package, if it is one whose version can be the name of a directory."""
    try:
        manifest = decode_json((package / "package.json").read_bytes(), Manifest)
    except (OSError, JsonError):
        return None
    return manifest if VERSION.fullmatch(manifest.version) else None


def npm_environment() -> dict[str, str]:
    """What the machine's own npm and programs trust and use holds for an npm that we brought, too."""
    environ = {"NODE_USE_SYSTEM_CA": "1", **os.environ}
    if npm := shutil.which("npm"):
        settings = Path(npm).parent.parent / "etc" / "npmrc"
        if settings.is_file():
            environ.setdefault("npm_config_globalconfig", str(settings))
    return environ


def npm_run(node: Node, command: str, option: str, folder: Path, *specifications: str) -> None:
    """Let npm put packages into a folder; raises InstallError with its words in a note."""
    run(
        [*node.npm, command, *NPM_OPTIONS, option, str(folder), *specifications],
        doing=f"fetching {specifications[0]} with npm",
        advice="check the version and the network connection, then try again",
        environ=npm_environment(),
    )


def unpack(file: Path) -> Path:
    """Open an archive of npm's beside it; returns the package. Raises what `BROKEN_ARCHIVE` lists."""
    with tarfile.open(file) as archive:
        members = list(map(_checked, archive))
        # For those Pythons that want one; older patch releases of 3.11 have none, so the check is our own.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
        archive.extractall(file.parent, members)
    return file.parent / "package"


def _checked(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """A file or directory that stays below where it is unpacked; raises TarError for anything else."""
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
        raise tarfile.TarError(f"it contains {member.name}")
    return member
