"""A place with profiles and presets in it."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.profiles import PRESET, PROFILE, Format, ProfileCatalog, Scope, load_presets, load_profiles

KINDS = (PROFILE, PRESET)


def text_of(name: str, *lines: str, body: str = "") -> str:
    """A file that is good as a profile and as a preset."""
    return "\n".join(["---", f"name: {name}", f"description: About {name}", *lines, "---", body])


class Place:
    """A project below a folder that may have presets too, and an agent directory."""

    def __init__(self, root: Path) -> None:
        self.above = root / "above"
        self.cwd = self.above / "project"
        self.agent_dir = root / "agent"
        (self.cwd / ".git").mkdir(parents=True)
        self.time = 0.0

    def folder(self, scope: Scope = "project", kind: Format = PROFILE) -> Path:
        return (self.agent_dir if scope == "global" else self.cwd / ".pi") / kind.folder

    def write(self, text: str, file: str = "x.md", scope: Scope = "project", kind: Format = PROFILE) -> Path:
        path = self.folder(scope, kind) / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def add(self, name: str, *lines: str, scope: Scope = "project", kind: Format = PROFILE) -> Path:
        return self.write(text_of(name, *lines), f"{name}.md", scope, kind)

    def load(self, kind: Format = PROFILE, cwd: Path | None = None) -> ProfileCatalog:
        load = load_presets if kind is PRESET else load_profiles
        return load(cwd or self.cwd, self.agent_dir, now=lambda: self.time)
