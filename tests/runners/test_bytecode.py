"""What is kept compiled, so that no start has to compile it."""

from __future__ import annotations

import os
import sys
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from pi_subagents.processes.bytecode import keep_compiled


def test_a_package_is_compiled_even_where_python_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "made_up_package" / "__init__.py"
    module.parent.mkdir()
    module.write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    keep_compiled(("made_up_package", "no_such_package_at_all"))
    assert os.path.exists(cache_from_source(str(module)))  # noqa: PTH110 - it is a path as Python has it
