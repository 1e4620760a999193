"""The extension on Node itself: quicker than a whole pi, every width can be tried, and every word of the contract."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

from pi_subagents import __version__
from pi_subagents.extension import EXTENSION_FILES
from pi_subagents.harness import Program
from pi_subagents.installing.pi_extension import manifest
from pi_subagents.paths import data_dir
from pi_subagents.processes.install import PINNED_PI_VERSION
from pi_subagents.processes.node import find_node
from tests.kit.waiting import PATIENCE_S

_HERE = Path(__file__).parent
_ALL = """import { after } from "node:test";
const alive = setInterval(() => {}, 1000); // the extension holds up nobody who wants to end
after(() => clearInterval(alive));
"""
"""All files in one process: most of what each takes is loading pi's packages."""
_TRANSCRIPTS = _HERE.parent / "bridge" / "transcripts"


def test_the_extension_keeps_its_promises(pi: Program, tmp_path: Path) -> None:
    node = find_node(data_dir())
    assert node is not None
    for name, source in EXTENSION_FILES.items():
        shutil.copy(source, tmp_path / name)
    tests = [Path(shutil.copy(file, tmp_path)).name for file in sorted(_HERE.glob("*.test.mjs"))]
    shutil.copy(_HERE / "replay.mjs", tmp_path)
    (tmp_path / "all.mjs").write_text(_ALL + "".join(f'import "./{name}";\n' for name in tests))
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "tools.json").write_text(json.dumps(manifest(__version__, "user")))
    (tmp_path / "node_modules").symlink_to(data_dir() / "pi" / PINNED_PI_VERSION / "node_modules")
    done = subprocess.run(
        [node.binary, "--no-warnings", "all.mjs"],
        cwd=tmp_path,
        env={**os.environ, "TRANSCRIPTS": str(_TRANSCRIPTS)},
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
