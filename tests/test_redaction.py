"""Known secrets are taken out of everything, in whatever form they stand there."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.pretty import pretty_repr

from pi_subagents.harness import Conversation, Invocation, Launch, Program, Question
from pi_subagents.harness.pi.rpc import PiRenewal
from pi_subagents.models.discreet import Discreet
from pi_subagents.place import Place
from pi_subagents.redaction import MARK, Redactor, secrets_in, secrets_in_json

KEY = "sk-live-0123456789"
AWKWARD = 'pass"word\\with/é+'


def test_a_secret_is_replaced_wherever_it_stands() -> None:
    assert Redactor([KEY]).text(f"{KEY} and again {KEY}!") == f"{MARK} and again {MARK}!"
    assert Redactor([KEY]).record(f'{{"env":"A={KEY}"}}'.encode()) == f'{{"env":"A={MARK}"}}'.encode()


def test_of_two_secrets_the_longer_one_goes_first() -> None:
    redactor = Redactor([KEY, KEY + "-extended"])
    assert redactor.text(f"{KEY}-extended {KEY}") == f"{MARK} {MARK}"


def test_short_values_would_blank_out_words_and_are_left() -> None:
    redactor = Redactor(["word", "", "ollama"])
    assert not redactor
    assert redactor.text("a word about ollama") == "a word about ollama"


def test_a_secret_that_is_no_text_does_not_break_anything() -> None:
    redactor = Redactor(["key-\udcff\udcfe-0123"])
    assert redactor.record(b"x key-\xff\xfe-0123 y") == f"x {MARK} y".encode()


@pytest.mark.parametrize(
    ("text", "held"),
    [("", 0), ("nothing", 0), ("ask", 2), (f"x {KEY[:-1]}", len(KEY) - 1), ("s", 1), (f"{KEY[:3]} ", 0)],
)
def test_the_end_of_a_streamed_text_is_held_back_when_a_secret_could_begin_there(text: str, held: int) -> None:
    assert Redactor([KEY]).held_back(text) == held


@given(st.text("sk-live012", max_size=30), st.integers(0, 40))
def test_a_text_cut_anywhere_shows_no_good_part_of_a_secret(around: str, at: int) -> None:
    cut = Redactor([KEY]).cut_text((around + KEY + around)[:at])
    assert KEY not in cut
    assert not cut.endswith(tuple(KEY[:length] for length in range(8, len(KEY))))


@pytest.mark.parametrize(
    "name",
    [
        *("OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN", "COPILOT_GITHUB_TOKEN", "HF_TOKEN"),
        *("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "PI_API_KEY"),
    ],
)
def test_credentials_of_the_providers_that_pi_knows_are_secrets(name: str) -> None:
    assert secrets_in({name: KEY, "PATH": "/usr/bin", "AWS_ACCESS_KEY_ID": "AKIA", "EDITOR": "vi"}) == {KEY}


def test_keys_inside_a_configuration_in_a_variable_are_secrets_and_names_of_variables_are_none() -> None:
    options = {"apiKey": KEY, "baseURL": "https://models.example"}
    named = {"apiKey": "{env:ACME_API_KEY}", "headers": {"Authorization": "Bearer abcdefgh"}}
    text = json.dumps({"provider": {"one": {"options": options}, "two": {"options": named}}})
    assert secrets_in({"OPENCODE_CONFIG_CONTENT": text}) == {KEY, "Bearer abcdefgh"}
    assert secrets_in({"OPENCODE_CONFIG_CONTENT": "{" * 9000, "A_CONFIG_CONTENT": "7"}) == set()


def test_the_parts_of_a_login_that_let_somebody_in_are_secrets() -> None:
    tokens = {"access_token": "at-0123456789", "refreshToken": "rt-0123456789", "account_id": "me-0123456789"}
    login = {"auth_mode": "chatgpt", "tokens": tokens, "acme": {"type": "oauth", "access": "a-01234567"}}
    assert secrets_in_json(json.dumps(login)) == {"at-0123456789", "rt-0123456789", "a-01234567"}


def test_half_a_character_is_no_secret_and_breaks_nothing() -> None:
    assert not Redactor(secrets_in_json(r'{"key": "\ud800-0123456789"}'))


@given(st.lists(st.booleans(), min_size=len(AWKWARD), max_size=len(AWKWARD)))
def test_a_secret_is_found_however_json_spells_it(spelt: list[bool]) -> None:
    written = "".join(
        f"\\u{ord(sign):04x}" if odd else json.dumps(sign, ensure_ascii=False)[1:-1]
        for sign, odd in zip(AWKWARD, spelt, strict=True)
    )
    record = f'{{"text": "{written}", "{written}": [1.5, "\\ud800"]}}'.encode()
    cleaned = json.loads(Redactor([AWKWARD]).record(record))
    assert cleaned == {"text": MARK, MARK: [1.5, "\ud800"]}


def test_output_with_colours_is_not_decoded_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pi_subagents.redaction._plainly", None)
    record = json.dumps({"text": f"\x1b[31m\0\x1fred\x1b[0m {KEY}"}).encode()
    assert json.loads(Redactor([KEY]).record(record)) == {"text": f"\x1b[31m\0\x1fred\x1b[0m {MARK}"}


def test_a_slash_with_a_backslash_is_a_slash() -> None:
    assert Redactor(["wJalr/XUtn+FEMI"]).record(b'{"a": "wJalr\\/XUtn\\u002bFEMI"}') == f'{{"a": "{MARK}"}}'.encode()


@pytest.mark.parametrize(
    "record", [b'{"a": "\\u0041 \\/ b"}', b"\\u0041 no json", b'{"a": "\\u00', b'{"\\/":' + b"[" * 100_000]
)
def test_a_record_without_secrets_stays_as_it_was_written(record: bytes) -> None:
    assert Redactor([KEY]).record(record) == record


def test_nothing_that_is_told_an_agent_in_secret_is_shown_by_python(tmp_path: Path) -> None:
    environ = {"PATH": "/bin", "ACME_API_KEY": KEY}
    place = Place.here(tmp_path, environ)
    program = Program(("pi",), "PATH")
    launch = Launch(
        program, "Hello", tmp_path, tmp_path, place, environ, conversation=Conversation("1", {"a": KEY.encode()})
    )
    invocation = Invocation(("pi",), environ, tmp_path, KEY.encode(), secrets=frozenset({KEY}))
    for value in (place, launch, invocation, Question(("pi",), environ)):
        assert KEY not in repr(value)
        assert str(tmp_path) in repr(value) or "pi" in repr(value)


@pytest.mark.parametrize("kind", [Place, Question, Launch, Invocation, PiRenewal])
def test_no_way_to_show_a_value_shows_what_it_hides(kind: type[msgspec.Struct]) -> None:
    assert issubclass(kind, Discreet)
    value = kind(*[KEY] * len(kind.__struct_fields__))
    shown = [pretty_repr(value), repr(value), str(value), f"{value}"]
    hidden = len(kind._hidden)
    assert hidden
    assert {text.count(KEY) for text in shown} == {len(kind.__struct_fields__) - hidden}
