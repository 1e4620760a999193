"""Runs npm: without the scripts of packages, and silent except about errors."""

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
_OFFLINE = "check the network connection and npm's proxy settings, then try again"
_FORBIDDEN = "make npm's own files and the data directory writable"
_ADVICE = {
    **dict.fromkeys(("EACCES", "EPERM", "EROFS"), _FORBIDDEN),
    **dict.fromkeys(("E404", "ETARGET", "ENOVERSIONS"), "choose another version"),
    **dict.fromkeys(("E401", "E403", "ENEEDAUTH"), "check npm's registry and its login"),
    **dict.fromkeys(("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH"), _OFFLINE),
}
"""By npm's error codes."""
BROKEN_ARCHIVE = (tarfile.TarError, EOFError, zlib.error, FileNotFoundError)


class Manifest(msgspec.Struct):
    """What we read from a `package.json`."""

    version: str = ""
    bin: dict[str, str] = {}
    dependencies: dict[str, str] = {}


def read_manifest(package: Path) -> Manifest | None:
    """The manifest of a package, if it is valid and its version can be the name of a directory."""
    try:
        manifest = decode_json((package / "package.json").read_bytes(), Manifest)
    except (OSError, JsonError):
        return None
    return manifest if VERSION.fullmatch(manifest.version) else None


def npm_environment() -> dict[str, str]:
    """The environment for npm: also our own trusts the system's certificates and uses the system npm's settings."""
    environ = {"NODE_USE_SYSTEM_CA": "1", **os.environ}
    if npm := shutil.which("npm"):
        settings = Path(npm).parent.parent / "etc" / "npmrc"
        if settings.is_file():
            environ.setdefault("npm_config_globalconfig", str(settings))
    return environ


def npm_run(node: Node, command: str, option: str, folder: Path, *specifications: str) -> None:
    """Let npm put packages into a folder; raises InstallError with npm's output in a note."""
    run(
        [*node.npm, command, *NPM_OPTIONS, option, str(folder), *specifications],
        doing=f"fetching {specifications[0]} with npm",
        advice="check the version and the network connection, then try again",
        environ=npm_environment(),
        advice_for=_ADVICE,
    )


def unpack(file: Path) -> Path:
    """Unpack an npm archive next to it and return the package. Raises what `BROKEN_ARCHIVE` lists."""
    with tarfile.open(file) as archive:
        members = list(map(_checked, archive))
        # Newer Pythons want a filter; older patch releases of 3.11 have none, hence our own check.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
        archive.extractall(file.parent, members)
    return file.parent / "package"


def _checked(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The member, if it is a file or directory below the target; raises TarError for anything else."""
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
        raise tarfile.TarError(f"it contains {member.name}")
    return member
