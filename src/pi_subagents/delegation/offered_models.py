"""Which models the agent program offers here, and which is its default, as it says itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import msgspec

from pi_subagents.delegation.program_facts import TIMEOUT_S, Answers, program_version
from pi_subagents.harness import DEFAULT_AGENT, Answer, Program, agent_of
from pi_subagents.harness.pi.arguments import approval_arguments
from pi_subagents.harness.pi.pi import Pi
from pi_subagents.harness.pi.programs import (
    LIST_MODELS,
    LOGIN,
    child_path,
    default_model,
    file_stamp,
    fingerprint,
    line_of,
    parse_models,
)
from pi_subagents.harness.pi.rpc import ANSWER_REQUESTS, GET_STATE, default_in
from pi_subagents.models import Task
from pi_subagents.paths import AGENT_DIR_VARIABLES
from pi_subagents.place import Place
from pi_subagents.processes.query import ask
from pi_subagents.profiles import (
    PRESET,
    CheckedModel,
    UnknownModel,
    UnknownProfile,
    find_agent,
    find_offered,
    find_pattern,
    only_model_of,
)
from pi_subagents.redaction import Redactor, secrets_in
from pi_subagents.settings import Settings
from pi_subagents.text.patterns import pattern

MODELS_FILE = "models-offered.json"
DEFAULTS_FILE = "models-default.json"
_MAX_REASON_CHARACTERS = 200

# Variables that decide which providers have a credential; only their names are looked at.
_CREDENTIALS = pattern(r"(_KEY|_KEY_ID|_TOKEN|_CREDENTIALS)$|^(AWS|AZURE|CLOUDFLARE|GOOGLE)_")
_CONFIGURATION = ("auth.json", "models.json", "settings.json", "trust.json", "extensions")


class _Listing(msgspec.Struct, frozen=True):
    models: tuple[str, ...]
    is_fresh: bool
    problem: str = ""


class OfferedModels:
    """The models that `pi` offers to agents that are started from one place; it is looked for when first asked."""

    def __init__(self, place: Place, settings: Settings, *, timeout_s: float = TIMEOUT_S) -> None:
        self._place = place
        self._timeout_s = timeout_s
        self._settings = settings
        self._known: Answers[tuple[str, ...]] = Answers(place.agent_dir / "subagents" / MODELS_FILE, tuple[str, ...])
        self._defaults: Answers[str] = Answers(place.agent_dir / "subagents" / DEFAULTS_FILE, str)
        self._listing: _Listing | None = None

    @cached_property
    def _path(self) -> str:
        return child_path(self._place.environ)

    @cached_property
    def _program(self) -> Program:
        return Pi().find_program(self._place, self._settings)

    def names(self) -> tuple[str, ...]:
        """All of them as `provider/id`, in the order in which the program lists them; none if it cannot say."""
        return self._list().models

    @property
    def problem(self) -> str:
        """Why there are no names; empty if there are."""
        return self._list().problem

    def check(self, wanted: str) -> CheckedModel:
        """The model that a text means; raises UnknownModel. It is passed on with a warning if there is no list."""
        return self._found(wanted, find_offered)

    def check_pattern(self, pattern: str) -> CheckedModel:
        """The same for what may be a part of a model's name, which is passed on as it is; raises UnknownModel."""
        return self._found(pattern, find_pattern)

    def _found(self, wanted: str, find: Callable[[str, Sequence[str]], str]) -> CheckedModel:
        listing = self._list()
        with suppress(UnknownModel):
            if not listing.problem:
                return CheckedModel(find(wanted, listing.models))
        if not listing.is_fresh:
            listing = self._list(fresh=True)
        if listing.problem:
            return CheckedModel(wanted, f'The model "{wanted}" was not checked: {listing.problem}.')
        return CheckedModel(find(wanted, listing.models))

    def default(self) -> str | None:
        """The model that the program takes here if it is told none, as it says itself; None if it has or says none."""
        requests = *ANSWER_REQUESTS, *self._approval()
        return self._defaults.recall(self._key, lambda: default_in(self._asked(*requests, stdin=GET_STATE).text))

    def default_of(self, provider: str) -> str | None:
        """The model to name with a provider, for a version of the program that wants both; raises UnknownModel."""
        version = program_version(Pi().version_question(self._program, self._place), self._place)
        if not line_of(version).provider_needs_model:
            return None
        return self._obvious_of(provider)

    def obvious_of(self, provider: str) -> str | None:
        """The model as `provider/id` that a provider named alone stands for; None if several could be meant."""
        with suppress(UnknownModel):
            return f"{provider}/{self._obvious_of(provider)}"
        return None

    def _obvious_of(self, provider: str) -> str:
        return default_model(self._pi_folders(), provider) or only_model_of(provider, self.names())

    def _pi_folders(self) -> list[Path]:
        """Where `pi` itself would look for its settings: in a project only where it trusts it."""
        place = self._place
        return [*([place.cwd / ".pi"] if place.is_approved(place.cwd) else []), place.agent_dir]

    def _list(self, *, fresh: bool = False) -> _Listing:
        if self._listing is None and self._place.models and not fresh:
            self._listing = _Listing(self._place.models, False)
        if self._listing is None or (fresh and not self._listing.is_fresh):
            known = None if fresh else self._known.get(self._key())
            self._listing = _Listing(known, False) if known else self._ask()
        return self._listing

    def _approval(self) -> list[str]:
        """What an agent would be told about trusting this place: it decides whose settings name the default."""
        return approval_arguments(self._place.approval(self._place.cwd))

    def _asked(self, *arguments: str, stdin: bytes = b"") -> Answer:
        return ask(
            [*self._program.argv, *arguments],
            environ=self._environ(),
            timeout_s=self._timeout_s,
            cwd=self._place.cwd,
            stdin=stdin,
        )

    def _ask(self) -> _Listing:
        answer = self._asked(LIST_MODELS)
        models = parse_models(answer.text) if answer.ok else ()
        if not models:
            return _Listing((), True, self._problem(answer))
        self._known.keep(self._key(), models)
        return _Listing(models, True)

    def _environ(self) -> dict[str, str]:
        own = dict.fromkeys(AGENT_DIR_VARIABLES, str(self._place.agent_dir))
        return {
            **self._place.environ,
            **own,
            "PATH": self._path,
            "PI_SKIP_VERSION_CHECK": "1",
            "PI_SUBAGENTS_CHILD": "1",
        }

    def _problem(self, answer: Answer) -> str:
        if answer.ok:
            return f"pi lists no models; {LOGIN}"
        lines = [line.strip() for line in answer.text.splitlines() if line.strip()]
        why = lines[-1].rstrip(".") if lines else f"exit code {answer.exit_code}"
        why = Redactor(secrets_in(self._place.environ)).text(why)[:_MAX_REASON_CHARACTERS]
        return f"pi could not list its models ({why})"

    def _key(self) -> str:
        place = self._place
        configuration = [
            folder / name for folder in (place.agent_dir, place.project / ".pi") for name in _CONFIGURATION
        ]
        parts = [
            fingerprint(self._program.argv, self._path),
            *self._approval(),
            *map(file_stamp, configuration),
            *_credential_names(place.environ),
        ]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _credential_names(environ: Mapping[str, str]) -> Iterator[str]:
    yield from sorted(name for name, value in environ.items() if value and _CREDENTIALS.search(name))


def with_default_models(tasks: Sequence[Task], place: Place, say: Callable[[str], None]) -> list[Task]:
    """The tasks, with `pi`'s default model for those of `pi` whose preset has none; said once for each preset.

    Other agents have their own defaults.
    """
    if not any(task.preset and not task.model for task in tasks):
        return list(tasks)
    offered = OfferedModels(place, place.settings())
    chosen: dict[str, str | None] = {}
    with_models = []
    for task in tasks:
        name = task.preset
        if not name or task.model or not _is_for_pi(task, place):
            with_models.append(task)
            continue
        if name not in chosen:
            chosen[name] = _default_for(name, place, offered)
            if model := chosen[name]:
                say(f'"{name}" has no model: using {model}, pi\'s default')
        with_models.append(msgspec.structs.replace(task, model=chosen[name]))
    return with_models


def _is_for_pi(task: Task, place: Place) -> bool:
    agent = task.agent
    with suppress(UnknownProfile):
        preset = find_agent(task.preset or "", PRESET, place.cwd, place.agent_dir).profile
        agent = agent or preset.agent or agent_of(preset.harness or place.settings().harness_name)
    return agent in (None, DEFAULT_AGENT)


def _default_for(name: str, place: Place, offered: OfferedModels) -> str | None:
    """None if the preset has a model, or if its provider offers no obvious one."""
    with suppress(UnknownProfile):
        preset = find_agent(name, PRESET, place.cwd, place.agent_dir).profile
        if preset.model is None:
            return offered.obvious_of(preset.provider) if preset.provider else offered.default()
    return None
