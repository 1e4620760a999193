"""Bringing pi, with stand-ins for Node and npm; tests/pi uses what the real ones brought."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pi_subagents.errors import InstallError
from pi_subagents.processes.install import PINNED_PI_VERSION, install_pi
from pi_subagents.processes.node import find_node
from pi_subagents.text.steps import Steps
from tests.kit.waiting import PATIENCE_S
from tests.runners.machine import Machine, machine_in

# Node, npm and pi in one: what it is asked to run decides which one it plays.
NODE = """#!/bin/sh
here=${0%/*}
case "$1" in
-p)
  echo "$(cat "$here/version") $0"
  ;;
*/npm-cli.js)
  echo "$*" >> "$here/npm-calls"
  for word; do
    case "$before" in --prefix) prefix=$word ;; --pack-destination) destination=$word ;; esac
    before=$word
  done
  if [ -e "$here/npm-fails" ]; then echo "npm error code ENOTFOUND"; exit 1; fi
  if [ -e "$here/npm-lacks-version" ]; then echo "npm error code ETARGET"; exit 1; fi
  if [ -e "$here/npm-lacks-dependency" ]; then
    case "$*" in *"--prefix"*"/pi-coding-agent@"*)
      mkdir -p "$prefix/node_modules/@earendil-works/pi-coding-agent/half"
      echo "npm error code ETARGET"; exit 1 ;;
    esac
    case "$*" in *" other@1"*) mkdir -p "$prefix/node_modules/other"; exit ;; esac
  fi
  if [ -n "$destination" ] && [ -e "$here/bundle.tgz" ]; then cp "$here/bundle.tgz" "$destination"; exit; fi
  package="${prefix:+$prefix/node_modules/@earendil-works/pi-coding-agent}"
  package="${package:-$destination/package}"
  mkdir -p "$package/dist" && echo "// pi" > "$package/dist/cli.js"
  echo '{"version": "0.87.1", "bin": {"pi": "dist/cli.js"},
    "dependencies": {"@earendil-works/pi-tui": "0.87.1", "other": "1"}}' > "$package/package.json"
  if [ -n "$destination" ]; then cd "$destination" && tar -czf pi.tgz package && rm -r package; fi
  ;;
*)
  shift
  printf '%s|' "$@"
  ;;
esac
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_in(tmp_path, monkeypatch, NODE)


def install(machine: Machine, version: str = PINNED_PI_VERSION) -> list[str]:
    """Install and return the lines that were reported."""
    said = io.StringIO()
    install_pi(version, steps=Steps(said, ""), data=machine.data)
    return said.getvalue().splitlines()


def test_the_launcher_passes_every_argument_on_unchanged(machine: Machine) -> None:
    install(machine)
    done = subprocess.run(
        [machine.launcher, "two words", "$HOME"], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert done.stdout == "two words|$HOME|"


def test_a_second_install_fetches_nothing(machine: Machine) -> None:
    install(machine)
    assert install(machine) == ["pi 0.87.1 is ready (Node 22.19.0)"]
    assert machine.npm_calls == 1


def test_a_second_install_leaves_the_launcher_as_it_is_so_that_what_is_known_of_it_stays_true(machine: Machine) -> None:
    install(machine)
    before = machine.launcher.stat()
    install(machine)
    assert machine.launcher.stat().st_ino == before.st_ino
    machine.launcher.write_text("#!/bin/sh\nexit 3\n")
    install(machine)
    assert "exit 3" not in machine.launcher.read_text()


def test_a_tag_is_kept_under_the_version_it_stands_for(machine: Machine) -> None:
    install(machine, "latest")
    assert [folder.name for folder in (machine.data / "pi").iterdir()] == ["0.87.1"]


def test_a_damaged_installation_is_replaced(machine: Machine) -> None:
    install(machine)
    for cli in machine.data.rglob("cli.js"):
        cli.unlink()
    install(machine)
    assert list(machine.data.rglob("cli.js"))
    assert machine.npm_calls == 2


@pytest.mark.parametrize(
    ("what", "code", "advice"),
    [("npm-fails", "ENOTFOUND", "check .* network"), ("npm-lacks-version", "ETARGET", "choose another version")],
)
def test_a_failed_fetch_says_why_once_and_leaves_no_half_installation(
    machine: Machine, what: str, code: str, advice: str
) -> None:
    machine.add(what, "")
    with pytest.raises(InstallError, match=rf"0\.87\.1 with npm failed \({code}\); {advice}") as failure:
        install(machine)
    assert failure.value.__notes__ == [f"npm error code {code}\n"]
    assert not (machine.data / "pi").exists()
    assert not machine.leftovers()


def test_a_version_whose_packages_npm_lacks_is_taken_alone(machine: Machine) -> None:
    machine.add("npm-lacks-dependency", "")
    lines = install(machine)
    assert any("lacks packages" in line for line in lines)
    assert lines[-1] == "pi 0.87.1 is ready (Node 22.19.0)"
    packages = machine.data / "pi" / "0.87.1" / "node_modules"
    assert [entry.name for entry in sorted(packages.iterdir())] == ["@earendil-works", "other"]
    assert [entry.name for entry in (packages / "@earendil-works").iterdir()] == ["pi-coding-agent"]
    assert not list(machine.data.rglob("*.tgz"))
    assert install(machine) == ["pi 0.87.1 is ready (Node 22.19.0)"]


def write_bundle(file: Path, members: list[tuple[str, str] | tarfile.TarInfo]) -> None:
    with tarfile.open(file, "w:gz") as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1].encode()))


def link(name: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


@pytest.mark.parametrize(
    "members",
    [
        [("package/package.json", "{")],
        [("package/package.json", '{"dependencies": 5}')],
        [("package/package.json", '{"version": "../../../out", "bin": {"pi": "cli.js"}}'), ("package/cli.js", "")],
        [("package/readme", "")],
        [("../../../out", "out")],
        [link("package", "/"), ("package/out", "out")],
        [link("package", "../../..")],
        [],
        None,  # no archive at all
    ],
)
def test_a_bundle_that_is_none_is_refused_and_leaves_nothing(
    machine: Machine, members: list[tuple[str, str] | tarfile.TarInfo] | None
) -> None:
    machine.add("npm-lacks-dependency", "")
    machine.add("bundle.tgz", "<html>")
    if members is not None:
        write_bundle(machine.bin / "bundle.tgz", members)
    before = sorted(machine.data.parent.iterdir())
    with pytest.raises(InstallError, match="choose another version"):
        install(machine)
    assert sorted(machine.data.parent.iterdir()) == sorted({*before, machine.data})
    assert not (machine.data / "pi").exists()
    assert not machine.leftovers()


@pytest.mark.parametrize("version", ["", "../0.87.1", "--force", "0.87.1 0.74.0"])
def test_a_version_that_is_none_never_reaches_npm(version: str, machine: Machine) -> None:
    with pytest.raises(InstallError, match="is not a version of pi"):
        install(machine, version)
    assert machine.npm_calls == 0


def test_installs_at_the_same_time_all_succeed(machine: Machine) -> None:
    with ThreadPoolExecutor(6) as pool:
        reported = list(pool.map(install, [machine] * 6))
    assert {lines[-1] for lines in reported} == {"pi 0.87.1 is ready (Node 22.19.0)"}
    assert os.access(machine.launcher, os.X_OK)
    assert not machine.leftovers()


_INSTALLER = """
import pathlib, sys, time
from pi_subagents.processes.fetching import scratch
with scratch(pathlib.Path(sys.argv[1])) as folder:
    (folder / "new").mkdir()
    print(folder.name, flush=True)
    time.sleep(600)
"""


def test_what_a_killed_install_left_is_removed_at_once_but_not_what_one_at_work_uses(machine: Machine) -> None:
    machine.data.mkdir(exist_ok=True)
    command = [sys.executable, "-c", _INSTALLER, str(machine.data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        name = other.stdout.readline().strip()
        install(machine)
        assert machine.leftovers() == [name]
        other.kill()
    assert machine.leftovers() == [name]
    install(machine)
    assert not machine.leftovers()


def test_a_place_that_cannot_be_written_is_named(machine: Machine) -> None:
    machine.data.write_text("a file where the directory should be")
    with pytest.raises(InstallError, match=r"some data.*PI_SUBAGENTS_DATA_DIR"):
        install(machine)


@pytest.mark.parametrize(("version", "usable"), [("22.18.9", False), ("22.19.0", True), ("26.0.0", True), ("?", False)])
def test_only_a_node_that_pi_can_run_on_is_used(version: str, usable: bool, machine: Machine) -> None:
    machine.add("version", version)
    node = find_node(machine.data)
    assert (node is not None and node.binary == machine.bin / "node") is usable


def test_pi_is_usable_when_ripgrep_cannot_be_fetched(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine.bin / "rg").unlink()
    monkeypatch.setenv("PATH", f"{machine.bin}")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    # The stand-in needs these, but an `rg` beside them must not be found.
    for name in ("cat", "mkdir"):
        (machine.bin / name).symlink_to(f"/bin/{name}")
    lines = install(machine)
    assert [line for line in lines if "until `rg` is on the PATH" in line]
    assert os.access(machine.launcher, os.X_OK)
