"""The table of harnesses: each is what its name says, and none is loaded before somebody asks for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pi_subagents.harness import HARNESSES, harness_named, steerable

LOADED = "import sys, pi_subagents.harness; print([name for name in sys.modules if 'harness.pi' in name])"


@pytest.mark.parametrize("name", HARNESSES)
def test_every_harness_has_the_name_by_which_it_is_chosen(name: str) -> None:
    assert harness_named(name).name == name


def test_the_table_loads_none_of_them() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["pi-json", "pi-rpc"])
def test_agents_of_pi_that_are_to_be_steered_speak_rpc(name: str) -> None:
    assert steerable(harness_named(name)).name == "pi-rpc"
