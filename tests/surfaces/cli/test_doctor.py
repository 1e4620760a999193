"""`pi-subagents doctor` as people and programs meet it: what it finds of the programs an agent needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.cli.machine import NO_MODELS, PI, Machine, Typist, diagnose


def test_a_machine_with_everything_is_fine_and_that_is_told_people_in_lines_and_programs_in_fields(
    machine: Machine,
) -> None:
    machine.add_pi()
    done = machine.run("doctor")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    *lines, blank, verdict = done.stdout.splitlines()
    assert {line[0] for line in lines} <= {"✓", "!", "-"}
    assert (blank, verdict) == ("", "Ready: sub-agents can run here.")
    assert [line for line in lines if line.startswith("✓ pi ") and "0.87.1" in line and "PATH" in line]
    diagnosis = diagnose(machine)
    assert len(lines) == len(diagnosis.findings)
    assert {tuple(finding) for finding in diagnosis.findings} == {("check", "ok", "needed", "detail", "hint")}
    checks = {finding["check"] for finding in diagnosis.findings}
    assert {"python", "node", "pi", "rg", "fd", "model", "containment", "records", "runs"} <= checks
    model = diagnosis.one("model")
    assert (model["ok"], model["detail"]) == (True, "2 available from anthropic, zai")


@pytest.mark.parametrize(
    ("version", "pi", "check", "code", "detail", "hint"),
    [
        ("22.19.0", "echo 'Cannot find module'; exit 1", "pi", 1, "Cannot find module", ""),
        ("20.1.0", "exit 1", "node", 1, "20.1.0", "22.19"),
        ("22.18.9", "echo 0.87.1", "node", 0, "22.18.9", ""),
        (None, "", "node", 1, "not found", ""),
    ],
    ids=["pi does not start", "not on this node", "though the node is old", "there is no node"],
)
def test_whether_pi_starts_decides_whether_it_and_its_node_will_do(
    version: str | None, pi: str, check: str, code: int, detail: str, hint: str, machine: Machine
) -> None:
    if version:
        machine.add_node(version, pi=pi)
    machine.add_program("pi", PI)
    diagnosis = diagnose(machine)
    finding = diagnosis.one(check)
    assert (diagnosis.exit_code, finding["ok"]) == (code, False)
    assert detail in finding["detail"]
    assert hint in finding["hint"]
    assert finding["needed"] is (code == 1)


def test_without_pi_the_four_places_and_the_way_out_are_named(machine: Machine) -> None:
    done = machine.run("doctor")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("✗ pi ")]
    assert done.returncode == 1
    for place in ("subagents.piCommand", "PI_SUBAGENTS_PI", "PATH", f"{machine.data}/bin/pi"):
        assert place in line
    assert "pi-subagents setup" in line
    assert done.stdout.splitlines()[-1].startswith("Not ready: node, pi. Fix the lines")


@pytest.mark.parametrize("place", ["setting subagents.piCommand", "variable PI_SUBAGENTS_PI", "PATH", "install-pi"])
def test_it_says_in_which_place_pi_was_found(place: str, machine: Machine) -> None:
    machine.add_node()
    where = {"PATH": machine.bin, "install-pi": machine.data / "bin"}.get(place, machine.root / "elsewhere")
    pi = machine.add_program("pi", PI, where)
    if place.startswith("setting"):
        machine.write(machine.agent_dir / "settings.json", f'{{"subagents": {{"piCommand": "{pi}"}}}}')
    if place.startswith("variable"):
        machine.variables["PI_SUBAGENTS_PI"] = str(pi)
    finding = diagnose(machine).one("pi")
    assert finding["ok"]
    assert f"({pi}, found via {place})" in finding["detail"]


@pytest.mark.parametrize(
    ("version", "is_told"), [("0.87.1", False), ("1.5.0", False), ("1.5.1", True), ("2.0.0", True)]
)
def test_a_pi_that_is_newer_than_what_is_known_is_told_of(version: str, is_told: bool, machine: Machine) -> None:
    machine.add_node(pi=f"echo {version}")
    machine.add_program("pi", PI)
    diagnosis = diagnose(machine)
    assert diagnosis.exit_code == 0
    told = [finding for finding in diagnosis.findings if finding["check"] == "pi version"]
    assert bool(told) is is_told
    assert all("newer than 1.5.0" in finding["detail"] and not finding["needed"] for finding in told)


def test_the_node_that_counts_is_the_launchers_own(machine: Machine) -> None:
    machine.add_node("18.0.0", pi="exit 1")
    node = machine.add_node("24.1.0", folder=machine.root / "own node")
    machine.add_program("pi", f"""#!/bin/sh\nexec '{node}' /somewhere/cli.js "$@"\n""")
    diagnosis = diagnose(machine)
    assert diagnosis.one("node") == {
        "check": "node",
        "ok": True,
        "needed": True,
        "detail": f"24.1.0 ({node})",
        "hint": "",
    }


@pytest.mark.parametrize(
    ("check", "name", "place"),
    [
        ("rg", "rg", "PATH"),
        ("rg", "rg", "install-pi"),
        ("rg", "rg", "agent"),
        ("fd", "fd", "PATH"),
        ("fd", "fdfind", "PATH"),
        ("fd", "fd", "agent"),
    ],
)
def test_search_programs_are_found_where_pi_looks_for_them(check: str, name: str, place: str, machine: Machine) -> None:
    machine.add_pi()
    folders = {"PATH": machine.bin, "install-pi": machine.data / "bin", "agent": machine.agent_dir / "bin"}
    machine.add_program(name, folder=folders[place])
    assert diagnose(machine).one(check)["ok"]


@pytest.mark.parametrize(("check", "tool"), [("rg", "grep"), ("fd", "find")])
def test_a_missing_search_program_is_a_warning_that_names_the_tool(check: str, tool: str, machine: Machine) -> None:
    machine.add_pi()
    diagnosis = diagnose(machine)
    finding = diagnosis.one(check)
    assert diagnosis.exit_code == 0
    assert not finding["ok"]
    assert f"pi's {tool} tool" in finding["detail"]
    assert finding["hint"]


def test_without_a_model_nothing_is_ready_and_the_way_to_one_is_named(machine: Machine) -> None:
    machine.add_node(models=NO_MODELS)
    machine.add_program("pi", PI)
    done = machine.run("doctor")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("✗ ")]
    assert done.returncode == 1
    assert "pi has none; only the demo works  → run `pi-subagents pi` and type `/login`" in line
    assert done.stdout.splitlines()[-1].startswith("Not ready: model.")


def test_a_profile_with_its_own_key_does_without_a_model_of_pi(machine: Machine) -> None:
    machine.add_node(models=NO_MODELS)
    machine.add_program("pi", PI)
    profile = "---\nname: own\nmodel: acme/large\napiKey: sk-1\n---\n"
    machine.write(machine.agent_dir / "agent-profiles" / "own.md", profile, 0o600)
    diagnosis = diagnose(machine)
    assert diagnosis.exit_code == 0
    assert "with their own key can run: own" in diagnosis.one("model")["detail"]


def test_on_a_terminal_lines_are_broken_between_words_only(machine: Machine) -> None:
    machine.add_pi()
    person = Typist(machine, "doctor", COLUMNS="50", NO_COLOR="1")
    assert person.answer() == 0
    rows = person.screen.splitlines()
    words = " ".join(machine.run("doctor").stdout.split())
    assert " ".join(" ".join(rows).split()) == words
    assert len(rows) > len(diagnose(machine).findings) + 2
    assert all(len(row) <= 50 or " " not in row.strip() for row in rows)


def test_a_key_in_the_environment_is_not_repeated(machine: Machine) -> None:
    key = "sk-never-show-this-0123"
    machine.variables["ANTHROPIC_API_KEY"] = key
    machine.add_node(models='echo "bad key $ANTHROPIC_API_KEY"; exit 1', pi='echo "$ANTHROPIC_API_KEY"; exit 1')
    machine.add_program("pi", PI)
    diagnosis = diagnose(machine)
    assert "bad key" in diagnosis.one("model")["detail"]
    assert key not in diagnosis.text


def test_slow_questions_are_asked_at_the_same_time(machine: Machine) -> None:
    def meet(mine: str, other: str, answer: str) -> str:
        # Each waits for the other one to be there; one after the other would never meet.
        here, there = machine.root / mine, machine.root / other
        wait = f'n=0; while [ ! -e "{there}" ] && [ $n -lt 200 ]; do /bin/sleep 0.05; n=$((n+1)); done'
        return f'echo > "{here}"; {wait}; [ -e "{there}" ] && {answer}'

    machine.add_node(pi=meet("a", "b", "echo 0.87.1"), models=meet("b", "a", NO_MODELS))
    machine.add_program("pi", PI)
    diagnosis = diagnose(machine)
    assert diagnosis.one("pi")["ok"]
    assert "pi has none" in diagnosis.one("model")["detail"]


def test_nothing_is_left_behind(machine: Machine) -> None:
    # pi makes its directory and files in it, whatever it is asked.
    machine.add_node(models='/bin/mkdir -p "$PI_CODING_AGENT_DIR"; echo {} > "$PI_CODING_AGENT_DIR/auth.json"')
    machine.add_program("pi", PI)
    before = _everything_in(machine.root)
    diagnose(machine)
    assert _everything_in(machine.root) == before


def _everything_in(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))
