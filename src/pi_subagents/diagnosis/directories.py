"""Checks of the agent directory, and of files with credentials that others could read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pi_subagents.diagnosis.situation import Situation, nearest_existing, shell_word
from pi_subagents.files import read_bounded
from pi_subagents.models.finding import Finding
from pi_subagents.paths import tilde
from pi_subagents.profiles import load_presets, load_profiles

_READABLE_BY_OTHERS = stat.S_IRGRP | stat.S_IROTH
_ENTERED_BY_OTHERS = stat.S_IXGRP | stat.S_IXOTH


def check_agent_dir(situation: Situation) -> Iterator[Finding]:
    """Whether pi can keep its own files."""
    folder = situation.place.agent_dir
    existing = nearest_existing(folder)
    usable = os.access(existing, os.R_OK | os.W_OK | os.X_OK)
    if not usable:
        yield Finding(
            "agent directory",
            False,
            f"{tilde(existing)} is not writable",
            "make it writable, or choose another one with PI_AGENT_DIR",
        )
    elif existing == folder:
        yield Finding("agent directory", True, tilde(folder))
    else:
        yield Finding("agent directory", True, f"{tilde(folder)} does not exist yet; pi creates it on first start")


def check_privacy(situation: Situation) -> Iterator[Finding]:
    """Whether files with keys are for their owner's eyes only."""
    exposed = [path for path in _files_with_keys(situation) if _is_exposed(path)]
    for path in exposed:
        detail = f"{tilde(path)} contains a key, and other users can read it"
        yield Finding("keys", False, detail, f"run: chmod 600 {shell_word(path)}")
    if not exposed:
        yield Finding("keys", True, "no file with a key is readable by other users")


def _files_with_keys(situation: Situation) -> Iterator[Path]:
    place = situation.place
    for name in ("auth.json", "models.json"):
        path = place.agent_dir / name
        if _has_content(path):
            yield path
    for load in (load_profiles, load_presets):
        for profile in load(place.cwd, place.agent_dir).profiles.values():
            if profile.api_key is not None and profile.path is not None:
                yield profile.path


def _has_content(path: Path) -> bool:
    try:
        content = read_bounded(path)
    except OSError:
        return False
    # pi itself writes an empty object; a models.json without a key needs no protection.
    return b"apiKey" in content if path.name == "models.json" else content.strip() not in (b"", b"{}")


def _is_exposed(path: Path) -> bool:
    try:
        readable = path.stat().st_mode & _READABLE_BY_OTHERS
        # A directory that others cannot enter protects what is in it.
        folders = [folder.stat().st_mode & _ENTERED_BY_OTHERS for folder in (path.parent, path.parent.parent)]
    except OSError:
        return False
    return bool(readable) and all(folders)
