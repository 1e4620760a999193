"""Where a call comes from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pi_subagents.models.discreet import Discreet
from pi_subagents.paths import agent_dir, project_root
from pi_subagents.settings import Settings, load_settings
from pi_subagents.trust import Trust, pi_decision


class Place(Discreet, frozen=True):
    """Where a call comes from: it decides which profiles, settings and records are meant.

    A host that is `pi` itself also knows which `models` it offers, and whether its user has `trusted` this directory;
    None: nobody was asked. `trusts_project`: whoever makes the call trusts the project for this time.
    """

    cwd: Path
    agent_dir: Path
    environ: Mapping[str, str]
    models: tuple[str, ...] = ()
    trusted: bool | None = None
    trusts_project: bool = False

    _hidden = ("environ", "models")

    @classmethod
    def here(
        cls, cwd: Path | None = None, environ: Mapping[str, str] | None = None, *, trusts_project: bool = False
    ) -> Place:
        """This process's directory and environment, unless told otherwise."""
        environ = dict(os.environ if environ is None else environ)
        return cls((cwd or Path.cwd()).absolute(), agent_dir(environ), environ, trusts_project=trusts_project)

    @property
    def project(self) -> Path:
        return project_root(self.cwd, self.agent_dir)

    @property
    def trust(self) -> Trust:
        return Trust(self.agent_dir, self.project, self._decided)

    def approval(self, cwd: Path) -> bool | None:
        """What the `pi` of an agent in a directory is told about trusting it; None: it decides by itself."""
        if cwd != self.cwd:  # what was decided for a directory says nothing about those below it
            return None
        return True if self.trusts_project else self.trusted

    def is_approved(self, cwd: Path) -> bool:
        """Whether the `pi` of an agent in a directory trusts it, told so or by itself."""
        approval = self.approval(cwd)
        return (pi_decision(cwd, self.agent_dir) if approval is None else approval) is True

    def objection(self, cwd: Path) -> str | None:
        """Why the project of a directory may not run anything there, with what to do about it; None if it may."""
        cwd = cwd.absolute()
        return self.trust.objection(cwd, project_root(cwd, self.agent_dir))

    def settings(self) -> Settings:
        """The settings in force here; those of a project as far as it is trusted."""
        return load_settings(self.cwd, self.agent_dir, trusted=self._decided)

    @property
    def _decided(self) -> bool | None:
        if self.trusts_project:
            return True
        # What was decided for a directory says nothing about a project further up.
        return None if self.trusted and self.project != self.cwd else self.trusted
