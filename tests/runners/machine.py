"""A machine on which programs are installed, with a stand-in for Node and npm."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Machine:
    """A machine whose PATH has only the stand-in, and the basic tools it is written with."""

    bin: Path
    data: Path

    @property
    def npm_calls(self) -> int:
        calls = self.bin / "npm-calls"
        return len(calls.read_text().splitlines()) if calls.exists() else 0

    def add(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)

    @property
    def launcher(self) -> Path:
        return self.data / "bin" / "pi"

    def leftovers(self) -> list[str]:
        return [path.name for path in self.data.iterdir() if path.name.startswith(".")]


def machine_in(folder: Path, monkeypatch: pytest.MonkeyPatch, node: str) -> Machine:
    """A machine with that `node`, whose npm is called with `npm-cli.js` in front of the arguments."""
    machine = Machine(folder / "a machine" / "bin", folder / "some data")
    machine.bin.mkdir(parents=True)
    npm = machine.bin.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    npm.parent.mkdir(parents=True)
    npm.touch()
    machine.add("node", node)
    machine.add("version", "22.19.0")
    machine.add("rg", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", f"{machine.bin}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return machine
