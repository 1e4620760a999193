"""`pi-subagents install-pi` with a stand-in for npm: what people read, and that the result is what is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_subagents.processes.install import PINNED_PI_VERSION
from tests.surfaces.cli.machine import PI, Machine, diagnose

NPM = """#!/bin/sh
echo "$*" >> "${0%/*}/npm-calls"
for word; do [ "$before" = --prefix ] && prefix=$word; before=$word; done
[ -e "${0%/*}/npm-fails" ] && { echo "npm error code ENOTFOUND"; echo "npm error no such host"; exit 1; }
package="$prefix/node_modules/@earendil-works/pi-coding-agent"
/bin/mkdir -p "$package" && echo "// pi" > "$package/cli.js"
echo "{\\"version\\": \\"${before##*@}\\", \\"bin\\": {\\"pi\\": \\"cli.js\\"}}" > "$package/package.json"
"""


@pytest.fixture
def bare(machine: Machine) -> Machine:
    """A machine with node, npm and rg, and no pi."""
    machine.add_node()
    machine.add_program("npm", NPM)
    machine.add_program("rg")
    return machine


def npm_calls(machine: Machine) -> list[str]:
    calls = machine.bin / "npm-calls"
    return calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []


def test_what_it_brings_is_what_is_found_afterwards(bare: Machine) -> None:
    assert not diagnose(bare).one("pi")["ok"]
    done = bare.run("install-pi")
    assert done.returncode == 0, done.stderr
    finding = diagnose(bare).one("pi")
    assert finding["ok"]
    assert "found via install-pi" in finding["detail"]


def test_standard_output_is_the_path_and_the_rest_goes_to_people(bare: Machine) -> None:
    done = bare.run("install-pi")
    assert done.stdout == f"{bare.data}/bin/pi\n"
    assert f"fetching pi {PINNED_PI_VERSION} from npm" in done.stderr
    assert "sub-agents use it from now on" in done.stderr


def test_a_version_can_be_chosen(bare: Machine) -> None:
    done = bare.run("install-pi", "--version", "0.74.2")
    assert "pi 0.74.2 is ready" in done.stderr
    assert npm_calls(bare)[0].endswith("@0.74.2")


def test_another_pi_that_comes_first_is_not_kept_quiet(bare: Machine) -> None:
    bare.add_program("pi", PI)
    done = bare.run("install-pi")
    assert f"still use {bare.bin}/pi" in done.stderr
    assert f"PI_SUBAGENTS_PI='{bare.data}/bin/pi'" in done.stderr
    assert "from now on" not in done.stderr


def test_a_failure_is_one_sentence_after_what_npm_said(bare: Machine) -> None:
    bare.write(bare.bin / "npm-fails", "")
    done = bare.run("install-pi")
    assert done.returncode == 1
    assert done.stdout == ""
    *details, sentence = done.stderr.splitlines()
    assert "  npm error no such host" in details
    assert sentence.startswith("error: fetching @earendil-works/pi-coding-agent@")
    assert "(ENOTFOUND); check the version and the network connection" in sentence
    assert not list(Path(bare.data).glob("bin/*"))


def test_a_version_that_is_none_is_refused(bare: Machine) -> None:
    done = bare.run("install-pi", "--version", "../evil")
    assert done.returncode == 1
    assert "is not a version of pi" in done.stderr
    assert not npm_calls(bare)
