"""Asking pi for its version and its models: once, as long as nothing changes; and what follows from the answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pi_subagents.delegation.offered_models import MODELS_FILE, OfferedModels
from pi_subagents.delegation.program_facts import MAX_AGE_S, program_version, usable_harness
from pi_subagents.harness import Program
from pi_subagents.harness.pi.pi import Pi
from pi_subagents.harness.pi.programs import LOGIN, NEWEST_KNOWN, line_of, version_in
from pi_subagents.harness.pi.rpc import PiRpc
from pi_subagents.place import Place
from pi_subagents.profiles import CheckedModel, UnknownModel
from pi_subagents.settings import load_settings

PROGRAM = """#!/bin/sh
echo "$*" >> "$ASKED"
cat "$TABLE"
exit "${CODE:-0}"
"""


class Machine:
    """A program in the place of pi that prints a table, or what else it is told, and notes how often it is asked."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.agent_dir = root / "agent"
        self.program = root / "pi"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        self.environ = {
            "PATH": "/usr/bin:/bin",
            "PI_AGENT_DIR": str(self.agent_dir),
            "PI_SUBAGENTS_PI": str(self.program),
            "ASKED": str(root / "asked"),
            "TABLE": str(root / "table"),
        }
        self.offer("zoo  tiger", "acme  large")

    def offer(self, *rows: str) -> None:
        head = "provider  model  context  max-out  thinking  images"
        self.says("\n".join([head, *(f"{row}  200K  8K  yes  no" for row in rows)]) + "\n")

    def says(self, text: str) -> None:
        (self.root / "table").write_text(text)

    @property
    def models(self) -> OfferedModels:
        """What a call of its own would use."""
        place = Place.here(self.root, self.environ)
        return OfferedModels(place, load_settings(place.cwd, place.agent_dir))

    @property
    def version(self) -> tuple[int, ...] | None:
        """What a call of its own would find."""
        place = Place.here(self.root, self.environ)
        return program_version(Pi().version_question(Program((str(self.program),), "test"), place), place)

    def harness(self) -> tuple[str, str | None]:
        """How a call of its own would speak to the program, and what it would say about that."""
        place = Place.here(self.root, self.environ)
        harness, note = usable_harness(PiRpc(), place, load_settings(place.cwd, place.agent_dir))
        return harness.name, note

    @property
    def asked(self) -> list[str]:
        path = self.root / "asked"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def cache(self) -> Path:
        return self.agent_dir / "subagents" / MODELS_FILE


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_models_are_listed_in_the_order_of_the_offer(machine: Machine) -> None:
    assert machine.models.names() == ("zoo/tiger", "acme/large")


def test_a_second_call_need_not_ask_again(machine: Machine) -> None:
    assert machine.models.check("tiger") == CheckedModel("zoo/tiger")
    assert machine.models.check("acme/large") == CheckedModel("acme/large")
    assert len(machine.asked) == 1


def touch(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


CHANGES: dict[str, Callable[[Machine], object]] = {
    "auth.json": lambda machine: touch(machine.agent_dir / "auth.json", "{}"),
    "models.json": lambda machine: touch(machine.agent_dir / "models.json", "{}"),
    "settings.json": lambda machine: touch(machine.agent_dir / "settings.json", "{}"),
    "the project's settings": lambda machine: touch(machine.root / ".pi" / "settings.json", "{}"),
    "an extension": lambda machine: touch(machine.agent_dir / "extensions" / "x.ts", ""),
    "a credential": lambda machine: machine.environ.update(ZOO_API_KEY="secret-value"),
    "the program": lambda machine: touch(machine.program, f"{PROGRAM}# newer\n"),
    "the version of its package": lambda machine: touch(machine.root / "package.json", '{"version": "2"}'),
    "a day": lambda machine: age(machine.cache),
}


def age(cache: Path) -> None:
    head, _, tail = cache.read_text().partition('"at":')
    moment, _, rest = tail.partition(",")
    cache.write_text(f'{head}"at":{float(moment) - MAX_AGE_S},{rest}')


@pytest.mark.parametrize("change", CHANGES)
def test_what_the_offer_depends_on_makes_it_ask_again(machine: Machine, change: str) -> None:
    machine.models.names()
    CHANGES[change](machine)
    machine.models.names()
    assert len(machine.asked) == 2


def test_another_value_of_a_credential_changes_nothing_and_is_written_nowhere(machine: Machine) -> None:
    machine.environ["ZOO_API_KEY"] = "secret-value"
    machine.models.names()
    machine.environ["ZOO_API_KEY"] = "other-value"
    machine.models.names()
    assert len(machine.asked) == 1
    assert "value" not in machine.cache.read_text()
    assert machine.cache.stat().st_mode & 0o777 == 0o600


def test_a_model_is_never_refused_because_of_an_old_answer(machine: Machine) -> None:
    machine.models.names()
    machine.offer("zoo  tiger", "new  model")
    assert machine.models.check("new/model") == CheckedModel("new/model")
    with pytest.raises(UnknownModel, match="Available models: zoo/tiger, new/model"):
        machine.models.check("acme/large")


def test_several_checks_of_one_call_ask_at_most_once(machine: Machine) -> None:
    models = machine.models
    for wanted in ("nobody/a", "nobody/b", "nobody/c"):
        with pytest.raises(UnknownModel):
            models.check(wanted)
    assert len(machine.asked) == 1


def test_without_a_list_the_model_is_passed_on_with_a_warning(machine: Machine) -> None:
    machine.environ["CODE"] = "3"
    machine.says("it broke")
    assert machine.models.check("any/model") == CheckedModel(
        "any/model", 'The model "any/model" was not checked: pi could not list its models (it broke).'
    )


def test_a_key_that_the_program_repeats_is_not_told(machine: Machine) -> None:
    machine.environ |= {"CODE": "3", "ZOO_API_KEY": "sk-zoo-0123456789abcdef"}
    machine.says("zoo refuses sk-zoo-0123456789abcdef")
    warning = machine.models.check("any/model").warning or ""
    assert "zoo refuses " in warning
    assert "0123456789" not in warning


def test_an_empty_list_decides_nothing_and_is_not_kept(machine: Machine) -> None:
    machine.says("No models available. Use /login.\n")
    warning = machine.models.check("any/model").warning
    assert warning == f'The model "any/model" was not checked: pi lists no models; {LOGIN}.'
    machine.offer("any  model")
    assert machine.models.check("model") == CheckedModel("any/model")


def test_a_program_that_does_not_start_is_a_warning_too(machine: Machine) -> None:
    machine.environ["PI_SUBAGENTS_PI"] = "/nowhere/pi"
    checked = machine.models.check("any/model")
    assert checked.name == "any/model"
    assert "/nowhere/pi" in (checked.warning or "")


def test_a_damaged_cache_is_asked_around_and_mended(machine: Machine) -> None:
    touch(machine.cache, "{ not json")
    assert machine.models.check("tiger") == CheckedModel("zoo/tiger")
    assert machine.models.check("tiger") == CheckedModel("zoo/tiger")
    assert len(machine.asked) == 1


def test_the_settings_of_a_project_name_the_model_of_a_provider_only_where_pi_trusts_it(machine: Machine) -> None:
    machine.says("1.5.0\n")
    touch(machine.root / ".pi" / "settings.json", '{"defaultProvider": "zoo", "defaultModel": "elephant"}')
    with pytest.raises(UnknownModel, match="set without a model"):
        machine.models.default_of("zoo")
    touch(machine.agent_dir / "settings.json", '{"defaultProvider": "zoo", "defaultModel": "mouse"}')
    assert machine.models.default_of("zoo") == "mouse"
    touch(machine.agent_dir / "trust.json", json.dumps({str(machine.root): True}))
    assert machine.models.default_of("zoo") == "elephant"


@pytest.mark.parametrize("model", ["5", '""', '"\\ud83d"', '"a\\u0000b"', '"a\\nb"'])
def test_what_is_no_name_of_a_model_is_not_passed_on(machine: Machine, model: str) -> None:
    machine.says("1.5.0\n")
    touch(machine.agent_dir / "settings.json", f'{{"defaultProvider": "zoo", "defaultModel": {model}}}')
    with pytest.raises(UnknownModel, match="set without a model"):
        machine.models.default_of("zoo")


def test_the_default_is_what_the_program_itself_says_and_asked_once(machine: Machine) -> None:
    answer = {"type": "response", "data": {"model": {"provider": "zoo", "id": "tiger", "name": "Tiger"}}}
    machine.says(f"a warning\n{json.dumps(answer)}\n")
    assert machine.models.default() == "zoo/tiger"
    assert machine.models.default() == "zoo/tiger"
    assert len(machine.asked) == 1
    touch(machine.agent_dir / "settings.json", "{}")
    assert machine.models.default() == "zoo/tiger"
    assert len(machine.asked) == 2


def test_the_default_of_a_trusted_project_is_not_that_of_an_untrusted_one(machine: Machine) -> None:
    answer = {"data": {"model": {"provider": "zoo", "id": "tiger"}}}
    for trusted in (False, True):
        place = Place.here(machine.root, machine.environ, trusts_project=trusted)
        machine.says(json.dumps(answer).replace("tiger", f"tiger-{trusted}"))
        assert OfferedModels(place, place.settings()).default() == f"zoo/tiger-{trusted}"


@pytest.mark.parametrize("said", ["", "it broke", '{"data": {"model": {"provider": "unknown", "id": "unknown"}}}'])
def test_without_a_default_there_is_none_and_it_is_asked_again(machine: Machine, said: str) -> None:
    machine.says(said)
    assert machine.models.default() is None
    assert machine.models.default() is None
    assert len(machine.asked) == 2


# --- modes ---------------------------------------------------------------------------------------------------


def test_a_program_with_rpc_is_spoken_to_that_way_and_asked_once(machine: Machine) -> None:
    machine.says("Options:\n  --mode <mode>  Output mode: text (default), json, or rpc\n")
    assert [machine.harness(), machine.harness()] == [("pi-rpc", None)] * 2
    assert machine.asked == ["--help"]


@pytest.mark.parametrize("help_text", ["  --mode <mode>  Output mode: text (default) or json\n", "Try rpc!\n", ""])
def test_a_program_without_rpc_is_spoken_to_in_json_and_that_is_said_once(help_text: str, machine: Machine) -> None:
    machine.says(help_text)
    (first, note), again = machine.harness(), machine.harness()
    assert (first, again) == ("pi-json", ("pi-json", None))
    assert note is not None
    assert "does not support the harness pi-rpc, so pi-json is used" in note
    touch(machine.program, f"{PROGRAM}# newer\n")
    machine.says("  --mode <mode>  text, json, rpc\n")
    assert machine.harness() == ("pi-rpc", None)
    assert machine.asked == ["--help", "--help"]


def test_a_program_that_does_not_answer_is_asked_again(machine: Machine) -> None:
    machine.says("  --mode <mode>  text, json, rpc\n")
    machine.environ["CODE"] = "3"
    assert [machine.harness()[0], machine.harness()[0]] == ["pi-rpc", "pi-rpc"]
    assert machine.asked == ["--help", "--help"]


# --- versions ------------------------------------------------------------------------------------------------


def test_a_program_is_asked_for_its_version_once_and_another_program_file_again(machine: Machine) -> None:
    machine.says("1.5.0\n")
    assert [machine.version, machine.version] == [(1, 5, 0), (1, 5, 0)]
    machine.says("version 0.87.1 of pi\n")
    touch(machine.program, f"{PROGRAM}# older\n")
    assert machine.version == (0, 87, 1)
    assert machine.asked == ["--version", "--version"]


def test_a_program_that_is_replaced_while_it_is_asked_does_not_lend_its_version_to_the_next(machine: Machine) -> None:
    machine.says("1.5.0\n")
    touch(machine.program, PROGRAM.replace("exit", f'cp "{machine.root}/new" "$0.part" && mv "$0.part" "$0"\nexit'))
    touch(machine.root / "new", PROGRAM)
    (machine.root / "new").chmod(0o755)
    assert machine.version == (1, 5, 0)
    machine.says("2.0.0\n")
    assert machine.version == (2, 0, 0)


@pytest.mark.parametrize(("said", "ending"), [("hello", ""), ("1.5.0", "exit 3"), ("1.5.0", "kill -9 $$"), ("1.5", "")])
def test_a_program_that_does_not_say_its_version_is_asked_again(said: str, ending: str, machine: Machine) -> None:
    machine.says(f"{said}\n")
    touch(machine.program, PROGRAM.replace("exit", f"{ending}\nexit"))
    assert [machine.version, machine.version] == [None, None]
    assert len(machine.asked) == 2


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("0.87.1", (0, 87, 1)),
        ("pi v1.5.0-beta.2\n", (1, 5, 0)),
        ("Now using node v22.19.0 (npm v10.9.3)\n0.87.1\n", (0, 87, 1)),
        ("", None),
        ("9" * 5000 + ".1.1", None),
    ],
)
def test_a_version_is_found_in_what_the_program_says(text: str, version: tuple[int, ...] | None) -> None:
    assert version_in(text) == version


@pytest.mark.parametrize(
    ("version", "insists"),
    [
        (None, False),
        ((-5, 0, 0), False),
        ((0, 74, 2), False),
        ((0, 87, 1), False),
        ((1, 0, 0), True),
        (NEWEST_KNOWN, True),
        ((9, 0, 0), True),
    ],
)
def test_a_version_that_nobody_knows_yet_is_treated_like_the_newest_known(
    version: tuple[int, int, int] | None, insists: bool
) -> None:
    line = line_of(version)
    assert (line.provider_needs_model, line.starts_mcp_servers) == (insists, insists)
