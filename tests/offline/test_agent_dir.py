"""The agent directory that points pi at the offline model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pi_subagents.offline import OfflineModel, Script, agent_environment


def written(path: Path, **options: Any) -> tuple[dict[str, Any], dict[str, Any], str]:
    """The models and settings that are written, and where the server was."""
    with OfflineModel(Script(), model_id="words", api_key="k-1") as model:
        folder = model.write_agent_dir(path, **options)
    models, settings = (json.loads((folder / f"{name}.json").read_text()) for name in ("models", "settings"))
    return models, settings, model.url


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_pi_is_pointed_at_this_server_and_no_other(tmp_path: Path) -> None:
    models, settings, url = written(tmp_path / "deep" / "agent")
    ((name, provider),) = models["providers"].items()
    assert (name, provider["baseUrl"], provider["apiKey"]) == ("offline", f"{url}/v1", "k-1")
    assert provider["api"] == "openai-completions"
    (entry,) = provider["models"]
    assert entry["id"] == "words"
    # Without it, the attempts of equal prompts would be counted together.
    assert entry["compat"]["sendSessionAffinityHeaders"] is True
    assert (settings["defaultProvider"], settings["defaultModel"]) == ("offline", "words")


def test_only_the_owner_can_read_it_even_if_it_was_open_before(tmp_path: Path) -> None:
    agent_dir = tmp_path / "agent"
    agent_dir.mkdir(mode=0o755)
    (agent_dir / "models.json").touch(mode=0o644)
    written(agent_dir)
    assert mode(agent_dir) == 0o700
    assert [mode(path) for path in sorted(agent_dir.iterdir())] == [0o600, 0o600]


def test_nothing_happens_that_no_script_expects_and_retries_are_quick(tmp_path: Path) -> None:
    _, settings, _ = written(tmp_path)
    assert settings["compaction"] == {"enabled": False}
    assert settings["cacheWarming"] == "off"
    assert settings["enableInstallTelemetry"] is False
    assert settings["quietStartup"] is True
    assert settings["retry"]["baseDelayMs"] <= 50


def test_settings_of_the_caller_replace_the_defaults(tmp_path: Path) -> None:
    _, settings, _ = written(tmp_path, settings={"retry": {"enabled": False}, "theme": "dark"})
    assert (settings["retry"], settings["theme"]) == ({"enabled": False}, "dark")
    assert settings["defaultProvider"] == "offline"
    assert written(tmp_path, retry_base_delay_ms=2000)[1]["retry"]["baseDelayMs"] == 2000


def test_the_environment_names_the_directory_in_both_ways_and_stays_offline(tmp_path: Path) -> None:
    environment = agent_environment(tmp_path, {})
    assert environment["PI_AGENT_DIR"] == environment["PI_CODING_AGENT_DIR"] == str(tmp_path)
    assert environment["PI_OFFLINE"] == "1"


def test_a_proxy_is_not_asked_for_loopback_and_its_exceptions_stay() -> None:
    environment = agent_environment(Path("x"), {"no_proxy": "intra.example,"})
    assert environment["NO_PROXY"] == environment["no_proxy"] == "intra.example,127.0.0.1,localhost"
