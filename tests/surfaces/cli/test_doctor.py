"""`doctor` as people and programs meet it: what it finds of programs, directories, settings, profiles, trust."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi_subagents.clock import now_ms
from pi_subagents.harness.programs import PACKAGES
from pi_subagents.models.event import Created, Ended, Event
from pi_subagents.models.idle_agent import IdleAgent
from pi_subagents.models.run import Reason, Status
from pi_subagents.store import JOURNAL_FILE, Journal, ProcessSlots
from tests.kit.sessions import take_lease
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
    machine.add_program("pi", PI)
    if version:
        machine.add_node(version, pi=pi)
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
    machine.add_pi(pi=f"echo {version}")
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
    machine.add_pi(models=NO_MODELS)
    done = machine.run("doctor")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("✗ ")]
    assert done.returncode == 1
    assert "pi has none; only the demo works  → run `pi-subagents pi` and type `/login`" in line
    assert done.stdout.splitlines()[-1].startswith("Not ready: model.")


def test_a_profile_with_its_own_key_does_without_a_model_of_pi(machine: Machine) -> None:
    machine.add_pi(models=NO_MODELS)
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
    machine.add_pi(models='echo "bad key $ANTHROPIC_API_KEY"; exit 1', pi='echo "$ANTHROPIC_API_KEY"; exit 1')
    diagnosis = diagnose(machine)
    assert "bad key" in diagnosis.one("model")["detail"]
    assert key not in diagnosis.text


def test_slow_questions_are_asked_at_the_same_time(machine: Machine) -> None:
    def meet(mine: str, other: str, answer: str) -> str:
        # Each waits for the other one to be there; one after the other would never meet.
        here, there = machine.root / mine, machine.root / other
        wait = f'n=0; while [ ! -e "{there}" ] && [ $n -lt 200 ]; do /bin/sleep 0.05; n=$((n+1)); done'
        return f'echo > "{here}"; {wait}; [ -e "{there}" ] && {answer}'

    machine.add_pi(pi=meet("a", "b", "echo 0.87.1"), models=meet("b", "a", NO_MODELS))
    diagnosis = diagnose(machine)
    assert diagnosis.one("pi")["ok"]
    assert "pi has none" in diagnosis.one("model")["detail"]


def test_nothing_is_left_behind(machine: Machine) -> None:
    # pi makes its directory and files in it, whatever it is asked.
    machine.add_pi(models='/bin/mkdir -p "$PI_CODING_AGENT_DIR"; echo {} > "$PI_CODING_AGENT_DIR/auth.json"')
    before = _everything_in(machine.root)
    diagnose(machine)
    assert _everything_in(machine.root) == before


def _everything_in(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


KEY = "sk-in-a-profile-0123456789"
PROFILE = f"---\nname: paid\napiKey: {KEY}\n---\n"


@pytest.fixture
def ready(machine: Machine) -> Machine:
    """A machine on which everything needed is there, in a project of its own."""
    machine.add_pi()
    (machine.project / ".git").mkdir()
    return machine


def write_run(machine: Machine, name: str, *later: Event) -> Path:
    run = machine.project / ".pi" / "subagents" / "runs" / name
    run.mkdir(parents=True)
    journal = Journal(run / JOURNAL_FILE)
    journal.append([Created(at=1, run_id=name, session_id="s", name="t", prompt="p", cwd="/", harness="pi"), *later])
    journal.close()
    return run


def test_a_run_that_lost_its_holder_is_named(ready: Machine) -> None:
    write_run(ready, "20260101T000000000-deaddeaddeaddead")
    diagnosis = diagnose(ready)
    assert diagnosis.exit_code == 0
    assert not diagnosis.one("runs")["ok"]
    assert "20260101T000000000-deaddeaddeaddead" in diagnosis.one("runs")["detail"]


def test_a_run_that_ended_or_is_held_is_not_called_dead(ready: Machine) -> None:
    write_run(
        ready,
        "20260101T000000000-0000000000000001",
        Ended(at=2, status=Status.FAILED, reason=Reason.SPAWN, message=None),
    )
    lease = take_lease(write_run(ready, "20260101T000000000-0000000000000002"))
    assert lease is not None
    try:
        assert diagnose(ready).one("runs")["ok"]
    finally:
        lease.release()


def test_a_place_where_no_run_can_be_recorded_is_a_failure(ready: Machine) -> None:
    ready.write(ready.project / ".pi" / "subagents", "a file where the directory should be")
    diagnosis = diagnose(ready)
    assert diagnosis.exit_code == 1
    assert not diagnosis.one("records")["ok"]
    assert str(ready.project / ".pi" / "subagents") in diagnosis.one("records")["detail"]


@pytest.mark.parametrize(
    ("file", "text", "check", "says"),
    [
        (
            ".pi/settings.json",
            '{"subagents": {\n"looping_tool_count": 99}}',
            "settings",
            "{path}:2: subagents.looping_tool_count",
        ),
        (".pi/agent-profiles/odd.md", "---\nname: odd\nthinkingLevel: deep\n---\n", "profiles", "{path}:3"),
        (".pi/subagents/odd.md", "---\nname: odd\n---\n", "presets", "cannot be used: {path}:1: has no description"),
        (
            ".pi/subagents/paid.md",
            "---\nname: paid\ndescription: Paid.\napiKey: sk-test-abc123\n---\n",
            "keys",
            "{path} contains a key, and other users can read it",
        ),
    ],
    ids=["setting", "profile", "preset", "key"],
)
def test_a_file_that_is_not_as_it_should_be_is_shown_with_its_line(
    file: str, text: str, check: str, says: str, ready: Machine
) -> None:
    path = ready.write(ready.project / file, text)
    finding = diagnose(ready).one(check)
    assert not finding["ok"]
    assert says.format(path=path) in finding["detail"]


@pytest.mark.parametrize(("mode", "private"), [(0o644, False), (0o640, False), (0o600, True)])
def test_a_profile_with_a_key_must_be_private_or_in_a_directory_that_others_cannot_enter(
    mode: int, private: bool, ready: Machine
) -> None:
    path = ready.write(ready.agent_dir / "agent-profiles" / "paid.md", PROFILE, mode)
    diagnosis = diagnose(ready)
    assert diagnosis.one("keys")["ok"] is private
    assert KEY not in diagnosis.text
    if not private:
        assert diagnosis.one("keys")["hint"] == f"run: chmod 600 ~/{path.relative_to(ready.home)}"
        path.parent.chmod(0o700)
        assert diagnose(ready).one("keys")["ok"]


def test_pis_own_credentials_must_be_private_too_but_not_files_without_a_key(ready: Machine) -> None:
    ready.write(ready.agent_dir / "agent-profiles" / "free.md", "---\nname: free\n---\n")
    files = {
        "auth.json": '{"anthropic": {"type": "api_key", "key": "k"}}',
        "models.json": '{"providers": {"own": {"apiKey": "k"}}}',
    }
    for name, text in files.items():
        ready.write(ready.agent_dir / name, text)
    details = [finding["detail"] for finding in diagnose(ready).all("keys")]
    assert [name for name in files if any(name in detail for detail in details)] == list(files)
    ready.write(ready.agent_dir / "auth.json", "{}")
    ready.write(ready.agent_dir / "models.json", '{"providers": {}}')
    assert diagnose(ready).one("keys")["ok"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ("agent: codex\ntools: read", 'sets "tools", which the agent "codex" does not support'),
        (
            "agent: claude\ntools: read, WebFtch",
            '"WebFtch" in "tools", which claude does not have',
        ),
        ("agent: claude\nharness: pi-rpc", 'sets the agent "claude", but "pi-rpc" is a harness of pi'),
        ("tools: read\nexcludeTools: bash", 'has both "tools" (allowlist) and "excludeTools" (blacklist) set'),
    ],
)
def test_a_profile_that_no_agent_can_use_is_named_with_its_file(fields: str, why: str, ready: Machine) -> None:
    path = ready.write(ready.agent_dir / "agent-profiles" / "x.md", f"---\nname: x\n{fields}\n---\n")
    finding = diagnose(ready).one("profiles")
    assert not finding["ok"]
    assert finding["detail"].startswith(f'no agent can use {path}: Profile "x" ')
    assert why in finding["detail"]


def test_profiles_are_counted_by_scope(ready: Machine) -> None:
    ready.write(ready.agent_dir / "agent-profiles" / "a.md", "---\nname: a\n---\n")
    ready.write(ready.project / ".pi" / "agent-profiles" / "b.md", "---\nname: b\n---\n")
    assert diagnose(ready).one("profiles")["detail"] == "1 global, 1 in this project"


@pytest.mark.parametrize(
    ("choice", "ok", "says", "code"),
    [
        ("auto", True, "guard (setting: auto)", 0),
        ("guard", True, "guard (setting: guard)", 0),
        ("none", False, "none (setting: none)", 0),
        ("namespace", False, "", 1),  # there is no `unshare` on this machine's PATH
    ],
)
def test_the_mechanism_in_use_is_named_and_one_that_cannot_be_used_is_a_failure(
    choice: str, ok: bool, says: str, code: int, ready: Machine
) -> None:
    ready.write(ready.agent_dir / "settings.json", f'{{"subagents": {{"containment": "{choice}"}}}}')
    diagnosis = diagnose(ready)
    finding = diagnosis.one("containment")
    assert (finding["ok"], diagnosis.exit_code) == (ok, code)
    assert finding["detail"].startswith(says)


@pytest.mark.parametrize("resource", [".pi/extensions/x.ts", ".pi/settings.json", ".agents/skills/s/SKILL.md"])
def test_what_agents_do_not_load_for_want_of_trust_is_named(resource: str, ready: Machine) -> None:
    ready.write(ready.project / resource, "{}")
    finding = diagnose(ready).one("trust")
    assert not finding["ok"]
    assert finding["hint"] == "if you trust it, run `pi-subagents pi` here and type `/trust`"
    ready.write(ready.agent_dir / "settings.json", '{"defaultProjectTrust": "always"}')
    assert diagnose(ready).one("trust")["ok"]


def test_a_directory_that_brings_nothing_needs_no_trust_and_can_be_locked(ready: Machine) -> None:
    diagnosis = diagnose(ready)
    assert diagnosis.one("trust")["ok"]
    assert diagnosis.one("power")["detail"] == "no setting, profile or preset needs more trust than it has"
    assert diagnosis.one("locks")["ok"]


@pytest.mark.parametrize(
    ("decisions", "trusted"),
    [
        ({"project": True}, True),
        ({"": True}, True),
        ({"": True, "project": False}, False),
        ({"": False, "project": True}, True),
        ({"project": None}, False),
    ],
)
def test_the_decision_nearest_to_the_directory_counts(
    decisions: dict[str, bool | None], trusted: bool, ready: Machine
) -> None:
    (ready.project / ".pi" / "extensions").mkdir(parents=True)
    saved = {str((ready.root / name).resolve()): decision for name, decision in decisions.items()}
    ready.write(ready.agent_dir / "trust.json", json.dumps(saved))
    assert diagnose(ready).one("trust")["ok"] is trusted


def test_idle_agents_are_named_with_the_program_that_keeps_them(machine: Machine) -> None:
    machine.add_pi()
    assert diagnose(machine).one("idle agents")["detail"].startswith("none")
    slots = ProcessSlots.of(machine.agent_dir, 2)
    assert slots is not None
    slot = slots.take()
    assert slot is not None
    slot.tell_idle(IdleAgent("mcp", 123, 456, now_ms() - 3_600_500, 120_000_000))
    finding = diagnose(machine).one("idle agents")
    assert (finding["ok"], finding["needed"]) == (True, False)
    assert finding["detail"] == "1 idle agent process kept by an MCP server (pid 123), 120.0 MB, idle for 1h"
    assert finding["detail"] in machine.run("doctor").stdout
    slot.release()


CLAUDE = """#!/bin/sh
case "$1" in
--version) echo "{version} (Claude Code)" ;;
*) read -r request; echo '{answer}' ;;
esac
"""
_SPEAKS = '{"type": "control_response"}'


def test_agents_that_are_not_here_are_one_quiet_line(machine: Machine) -> None:
    machine.add_pi()
    diagnosis = diagnose(machine)
    assert diagnosis.exit_code == 0
    finding = diagnosis.one("other agents")
    assert finding["detail"] == "not installed: claude, codex, opencode, gemini, copilot, qwen"
    assert "pi-subagents install-agent" in finding["hint"]
    assert not [finding for finding in diagnosis.findings if finding["check"] in PACKAGES]
    assert [line for line in machine.run("doctor").stdout.splitlines() if line.startswith("- other agents")]


def test_an_agent_that_is_here_is_asked_whether_it_can_run(machine: Machine) -> None:
    machine.add_pi()
    machine.add_program("claude", CLAUDE.format(version=PACKAGES["claude"].tested, answer=_SPEAKS))
    machine.variables["ANTHROPIC_API_KEY"] = "sk-test"
    diagnosis = diagnose(machine)
    finding = diagnosis.one("claude")
    assert finding["ok"]
    assert PACKAGES["claude"].tested in finding["detail"]
    assert "claude" not in diagnosis.one("other agents")["detail"]
    assert not diagnosis.all("claude version")


def test_without_pi_another_agent_that_can_run_is_ready_and_pi_is_not(machine: Machine) -> None:
    machine.add_program("claude", CLAUDE.format(version=PACKAGES["claude"].tested, answer=_SPEAKS))
    machine.variables["ANTHROPIC_API_KEY"] = "sk-test"
    done = machine.run("doctor")
    verdict = "Ready for claude (`run --agent NAME`), but not for pi: node, pi. Fix the lines marked ✗."
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, verdict)
    assert diagnose(machine).exit_code == 0
    del machine.variables["ANTHROPIC_API_KEY"]
    assert diagnose(machine).exit_code == 1, "without a login it cannot run"


def test_no_agent_is_ready_where_something_is_missing_that_all_of_them_need(machine: Machine) -> None:
    machine.add_program("claude", CLAUDE.format(version=PACKAGES["claude"].tested, answer=_SPEAKS))
    machine.variables["ANTHROPIC_API_KEY"] = "sk-test"
    machine.write(machine.project / ".pi" / "subagents" / "runs", "a file in the place of the directory")
    done = machine.run("doctor")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("Not ready: node, pi, records.")


def test_an_agent_that_does_not_answer_is_told_of_and_sub_agents_can_run_all_the_same(machine: Machine) -> None:
    machine.add_pi()
    machine.add_program("claude", CLAUDE.format(version="2.1.325", answer="I do not know that option"))
    machine.add_program("codex", "#!/bin/sh\nexit 1\n")
    diagnosis = diagnose(machine)
    assert diagnosis.exit_code == 0
    assert not diagnosis.one("claude")["ok"]
    assert not diagnosis.all("codex")[0]["ok"]
    assert diagnosis.all("codex")[0]["hint"].endswith(": pi-subagents install-agent codex")
    assert diagnosis.one("claude")["hint"].endswith(": pi-subagents install-agent claude")
    assert not any(finding["needed"] for finding in diagnosis.findings if finding["check"] in PACKAGES)


def test_a_version_that_was_not_tested_is_a_note(machine: Machine) -> None:
    machine.add_pi()
    machine.add_program("claude", CLAUDE.format(version="9.9.9", answer=_SPEAKS))
    diagnosis = diagnose(machine)
    assert diagnosis.exit_code == 0
    note = diagnosis.one("claude version")
    assert note["ok"]
    assert PACKAGES["claude"].tested in note["detail"]


SPY = """#!/bin/sh
pwd >> "${0%/*}/seen"
echo "$CLAUDE_CONFIG_DIR" >> "${0%/*}/seen"
echo "2.1.325 (Claude Code)"
[ "$1" = --version ] || echo '{"type": "control_response"}'
"""


def test_what_a_project_has_made_for_an_agent_is_not_loaded_and_nothing_is_left_behind(machine: Machine) -> None:
    machine.add_pi()
    machine.add_program("claude", SPY)
    assert PACKAGES["claude"].tested in diagnose(machine).one("claude")["detail"]
    seen = {Path(line) for line in (machine.bin / "seen").read_text(encoding="utf-8").splitlines()}
    assert machine.project not in seen
    assert seen
    assert not any(folder.exists() for folder in seen)
