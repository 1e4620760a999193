"""Bringing agents, with stand-ins for Node, npm and the agents."""

from __future__ import annotations

import io
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pi_subagents.errors import InstallError
from pi_subagents.harness import programs
from pi_subagents.harness.programs import find_agent_program, installed_program
from pi_subagents.processes.install_agent import InstalledAgent, install_agent
from pi_subagents.text.steps import Steps
from tests.kit.waiting import PATIENCE_S
from tests.runners.machine import Machine, machine_in

# Node and npm in one: npm brings an opencode with a program for every platform, and a gemini that is a script.
NODE = """#!/bin/sh
here=${0%/*}
case "$1" in
-p)
  echo "$(cat "$here/version") $0"
  ;;
*/npm-cli.js)
  echo "$*" >> "$here/npm-calls"
  for word; do [ "$before" = --prefix ] && prefix=$word; before=$word; done
  if [ -e "$here/npm-fails" ]; then echo "npm error code $(cat "$here/npm-fails")"; exit 1; fi
  modules="$prefix/node_modules"
  version=${before##*@}
  [ "$version" = latest ] && version=9.9.9
  package="$modules/${before%@*}"
  mkdir -p "$package" "$modules/.bin"
  echo "{\\"version\\": \\"$version\\"}" > "$package/package.json"
  case "$before" in opencode-ai@*)
    printf '#!/bin/sh\\nexit 1\\n' > "$modules/.bin/opencode"  # as it is where no script of the package was run
    for platform in $(cat "$here/platforms"); do
      mkdir -p "$modules/opencode-$platform/bin"
      printf '#!/bin/sh\\n[ -e "%s/agent-fails" ] && echo "Illegal instruction" && exit 4\\necho %s\\n' \\
        "$here" "$version" > "$modules/opencode-$platform/bin/opencode"
      chmod +x "$modules/opencode-$platform/bin/opencode"
    done ;;
  *)
    echo "// gemini" > "$modules/.bin/gemini"
  esac
  chmod +x "$modules/.bin/"*
  ;;
*)
  echo "$HOME" >> "$here/homes"
  printf '%s|' "$@"
  ;;
esac
"""
_EVERY_PLATFORM = "linux-arm64 linux-arm64-musl linux-x64-baseline-musl linux-x64-baseline linux-x64-musl linux-x64"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = machine_in(tmp_path, monkeypatch, NODE)
    machine.add("platforms", _EVERY_PLATFORM)
    return machine


def install(machine: Machine, agent: str, version: str | None = None) -> tuple[InstalledAgent, list[str]]:
    """Install and return what was installed, with the lines that were reported."""
    said = io.StringIO()
    installed = install_agent(agent, version, steps=Steps(said, ""), data=machine.data)
    return installed, said.getvalue().splitlines()


def environ_of(machine: Machine) -> dict[str, str]:
    return {"PI_SUBAGENTS_DATA_DIR": str(machine.data), "PATH": os.defpath}


def version_of(program: Path) -> str:
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    return done.stdout.strip()


def test_the_tested_version_is_brought_and_found(machine: Machine) -> None:
    installed, lines = install(machine, "opencode")
    assert installed.version == "1.18.33"
    assert lines[-1] == "opencode 1.18.33 is ready"
    found = find_agent_program("opencode", environ_of(machine))
    assert (found.argv, found.found_in) == ((str(installed.program),), "install-agent")
    assert version_of(installed.program) == "1.18.33"


def test_a_second_install_fetches_nothing_and_needs_no_node(machine: Machine) -> None:
    install(machine, "opencode")
    machine.add("version", "?")
    assert install(machine, "opencode")[1] == ["opencode 1.18.33 is ready"]
    assert machine.npm_calls == 1


@pytest.mark.parametrize(
    ("glibc", "avx2", "platform"),
    [
        (True, True, "linux-x64"),
        (True, False, "linux-x64-baseline"),
        (False, True, "linux-x64-musl"),
        (False, False, "linux-x64-baseline-musl"),
    ],
)
def test_of_several_programs_the_one_that_this_machine_can_run_is_started(
    glibc: bool, avx2: bool, platform: str, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    intel = os.uname_result(("Linux", "here", "6", "1", "x86_64"))
    monkeypatch.setattr(os, "uname", lambda: intel)
    monkeypatch.setattr(programs, "_has_glibc", lambda: glibc)
    monkeypatch.setattr(programs, "_has_avx2", lambda: avx2)
    monkeypatch.setattr(programs, "_platforms", programs._platforms.__wrapped__)
    installed, _ = install(machine, "opencode")
    assert installed.program.parents[1].name == f"opencode-{platform}"


def test_an_agent_without_a_program_for_this_platform_is_an_error_though_npm_saw_none(machine: Machine) -> None:
    machine.add("platforms", "windows-x64")
    with pytest.raises(InstallError, match=r"opencode-ai@1\.18\.33 has no program for this platform"):
        install(machine, "opencode")
    assert not (machine.data / "agents").exists()
    assert not machine.leftovers()


def test_an_agent_that_does_not_start_is_not_kept(machine: Machine) -> None:
    machine.add("agent-fails", "")
    with pytest.raises(InstallError, match=r"starting opencode 1\.18\.33 failed; choose another version") as failure:
        install(machine, "opencode")
    assert failure.value.__notes__ == ["Illegal instruction\n"]
    assert not (machine.data / "agents").exists()
    assert not machine.leftovers()


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("ENOTFOUND", "check the network connection and npm's proxy settings, then try again."),
        ("ENOSPC", "free some space, or set PI_SUBAGENTS_DATA_DIR to another directory."),
        ("ETARGET", "choose another version."),
        ("EWHATEVER", "check the version and the network connection, then try again."),
    ],
)
def test_a_failed_fetch_says_why_and_what_to_do_and_leaves_nothing(code: str, advice: str, machine: Machine) -> None:
    machine.add("npm-fails", code)
    with pytest.raises(InstallError, match=rf"google/gemini-cli@0\.61\.0 with npm failed \({code}\)") as failure:
        install(machine, "gemini")
    assert str(failure.value).endswith(f"; {advice}")
    assert failure.value.__notes__ == [f"npm error code {code}\n"]
    assert not machine.leftovers()


def test_a_script_runs_on_the_node_that_was_found_whatever_is_on_the_path(machine: Machine) -> None:
    installed, _ = install(machine, "gemini")
    done = subprocess.run(
        [installed.program, "two words"], env={"PATH": ""}, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.stdout == f"{installed.program.parents[1]}/node_modules/.bin/gemini|two words|"


def test_a_script_whose_node_has_gone_is_given_another_without_fetching_it_again(machine: Machine) -> None:
    installed, _ = install(machine, "gemini")
    other = machine.bin.with_name("other")
    machine.bin.rename(other)
    os.environ["PATH"] = f"{other}{os.pathsep}{os.environ['PATH']}"
    install(machine, "gemini")
    assert str(other / "node") in installed.program.read_text(encoding="utf-8")
    assert Machine(other, machine.data).npm_calls == 1


def test_what_it_writes_when_it_is_first_started_is_not_left_in_the_users_home(machine: Machine) -> None:
    install(machine, "gemini")
    (home,) = (machine.bin / "homes").read_text(encoding="utf-8").splitlines()
    assert home.startswith(str(machine.data))
    assert not Path(home).exists()


def test_the_version_that_was_asked_for_last_is_started(machine: Machine) -> None:
    older, _ = install(machine, "opencode", "1.0.0")
    newer, _ = install(machine, "opencode")
    os.utime(newer.program.parents[2], (0, 0))
    os.utime(older.program.parents[2], (1, 1))
    assert installed_program("opencode", environ_of(machine)) == older.program
    install(machine, "opencode")
    assert installed_program("opencode", environ_of(machine)) == newer.program


def test_a_tag_is_kept_under_the_version_it_stands_for(machine: Machine) -> None:
    installed, lines = install(machine, "opencode", "latest")
    assert installed.version == "9.9.9"
    assert lines[-1] == "opencode 9.9.9 is ready"
    assert [folder.name for folder in (machine.data / "agents" / "opencode").iterdir()] == ["9.9.9"]


def test_a_damaged_installation_is_replaced(machine: Machine) -> None:
    installed, _ = install(machine, "opencode")
    installed.program.unlink()
    for other in machine.data.rglob("bin/opencode"):
        other.unlink()
    assert version_of(install(machine, "opencode")[0].program) == "1.18.33"
    assert machine.npm_calls == 2


@pytest.mark.parametrize("version", ["../1.0.0", "--force", "1.0.0 2.0.0"])
def test_a_version_that_is_none_never_reaches_npm(version: str, machine: Machine) -> None:
    with pytest.raises(InstallError, match=r"is not a version of opencode; use one such as 1\.18\.33"):
        install(machine, "opencode", version)
    assert machine.npm_calls == 0


@pytest.mark.parametrize("agent", ["opencode", "gemini"])
def test_installs_at_the_same_time_all_succeed(agent: str, machine: Machine) -> None:
    with ThreadPoolExecutor(6) as pool:
        programs_found = {installed.program for installed, _ in pool.map(install, [machine] * 6, [agent] * 6)}
    (program,) = programs_found
    assert os.access(program, os.X_OK)
    assert not machine.leftovers()


def test_the_program_of_a_global_npm_installation_is_started_without_its_script(machine: Machine) -> None:
    package = machine.bin.parent / "lib" / "node_modules" / "opencode-ai"
    (package / "bin").mkdir(parents=True)
    script = package / "bin" / "opencode.exe"
    script.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    script.chmod(0o755)
    (machine.bin / "opencode").symlink_to(script)
    installed, _ = install(machine, "opencode")
    own = package / "node_modules" / installed.program.parents[1].name
    own.parent.mkdir()
    installed.program.parents[1].rename(own)
    found = find_agent_program("opencode", {"PATH": str(machine.bin)})
    assert (found.argv, found.found_in) == ((str(own / "bin" / "opencode"),), "PATH")


def test_a_package_in_a_folder_above_a_program_on_the_path_has_nothing_to_do_with_it(machine: Machine) -> None:
    installed, _ = install(machine, "opencode")
    stray = machine.bin.parent / "node_modules" / installed.program.parents[1].name
    stray.parent.mkdir()
    installed.program.parents[1].rename(stray)
    machine.add("opencode", "#!/bin/sh\n")
    assert find_agent_program("opencode", {"PATH": str(machine.bin)}).argv == (str(machine.bin / "opencode"),)
