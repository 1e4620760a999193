"""What is in the file of a login is kept out of the record, whichever agent it belongs to."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pi_subagents.files import MAX_CONFIGURATION_BYTES
from pi_subagents.harness import Invocation, Launch, Program, harness_named
from pi_subagents.models import Profile
from pi_subagents.models.task import Secret
from pi_subagents.place import Place
from pi_subagents.redaction import Redactor

TOKEN = "token-of-the-login"

LOGINS = {
    "claude": (".claude/.credentials.json", {"claudeAiOauth": {"accessToken": TOKEN, "scopes": ["user:inference"]}}),
    "codex": (".codex/auth.json", {"auth_mode": "chatgpt", "tokens": {"access_token": TOKEN}}),
    "opencode": (".local/share/opencode/auth.json", {"anthropic": {"type": "oauth", "access": TOKEN}}),
    "gemini": (".gemini/oauth_creds.json", {"access_token": TOKEN, "token_type": "Bearer"}),
    "qwen": (".qwen/oauth_creds.json", {"access_token": TOKEN, "resource_url": "portal.qwen.ai"}),
}

each_agent = pytest.mark.parametrize("agent", LOGINS)


def login_of(agent: str, home: Path) -> Path:
    file = home / LOGINS[agent][0]
    file.parent.mkdir(parents=True)
    return file


def invocation_of(
    agent: str, home: Path, profile: Profile | None = None, environ: Mapping[str, str] | None = None
) -> Invocation:
    place = Place(home, home, {"HOME": str(home), "PATH": "", **(environ or {})})
    launch = Launch(Program((agent,), "PATH"), "Go.", home, home / "run", place, place.environ, profile)
    return harness_named(agent).invocation(launch)


def redacted_for(agent: str, home: Path, profile: Profile | None = None) -> list[bytes]:
    return Redactor(invocation_of(agent, home, profile).secrets).forms


@each_agent
@pytest.mark.parametrize("inherit", [False, True])
def test_the_tokens_of_a_login_are_secrets_of_every_run(agent: str, inherit: bool, tmp_path: Path) -> None:
    login_of(agent, tmp_path).write_text(json.dumps(LOGINS[agent][1]))
    assert redacted_for(agent, tmp_path, Profile(name="p", inherit=inherit)) == [TOKEN.encode()]


@each_agent
@pytest.mark.parametrize(
    "make",
    [
        lambda file: file.write_bytes(b"\xff{"),
        lambda file: file.write_text("[" * 100_000),
        lambda file: file.write_bytes(b" " * (MAX_CONFIGURATION_BYTES + 1)),
        os.mkfifo,
    ],
    ids=["no text", "nested", "too large", "a pipe"],
)
def test_a_login_that_cannot_be_read_is_left_to_its_agent(
    agent: str, make: Callable[[Path], object], tmp_path: Path
) -> None:
    make(login_of(agent, tmp_path))
    assert not redacted_for(agent, tmp_path)


NOBODY = {
    "claude": "no login or key for claude was found: run `claude` and type `/login`, or set ANTHROPIC_API_KEY",
    "codex": "no login or key for codex was found: run `codex login`, or set OPENAI_API_KEY",
}
each_that_starts_without = pytest.mark.parametrize("agent", NOBODY)


@each_that_starts_without
def test_an_agent_without_a_login_gets_advice_in_case_it_fails(agent: str, tmp_path: Path) -> None:
    assert invocation_of(agent, tmp_path).advice == NOBODY[agent]


@each_that_starts_without
@pytest.mark.parametrize("profile", [Profile(name="p", api_key=Secret("sk-0123")), Profile(name="p", inherit=True)])
def test_an_agent_with_a_key_or_a_provider_in_its_profile_needs_none(
    agent: str, profile: Profile, tmp_path: Path
) -> None:
    assert not invocation_of(agent, tmp_path, profile).advice


@each_that_starts_without
def test_an_agent_with_a_login_or_a_key_of_the_user_needs_none(agent: str, tmp_path: Path) -> None:
    key = {"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY"}[agent]
    assert not invocation_of(agent, tmp_path, environ={key: "sk-0123"}).advice
    login_of(agent, tmp_path).write_text("{}")
    assert not invocation_of(agent, tmp_path).advice
