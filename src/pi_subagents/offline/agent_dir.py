"""A private agent directory that makes `pi` talk to the offline model and to nothing else.

The directory holds a key and pi will put sessions into it: 0700, files 0600.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

PROVIDER = "offline"
_LOOPBACK = ("127.0.0.1", "localhost")


def write_agent_dir(
    path: Path,
    base_url: str,
    model_id: str,
    api_key: str,
    *,
    retry_base_delay_ms: int,
    settings: Mapping[str, object] | None = None,
) -> Path:
    """Write `models.json` and `settings.json` into `path` and return it.

    pi waits `retry_base_delay_ms`, then twice that, and so on between its attempts (2 s if it is not told).
    `settings` are pi's own keys; each replaces the default of that name.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)
    _write_private(path / "models.json", _models(base_url, model_id, api_key))
    defaults = _default_settings(model_id, retry_base_delay_ms)
    _write_private(path / "settings.json", {**defaults, **(settings or {})})
    return path


def _models(base_url: str, model_id: str, api_key: str) -> dict[str, object]:
    """pi's `models.json` with one provider and one model that has a price, so that costs can be seen."""
    model = {
        "id": model_id,
        "name": "Scripted offline model",
        "reasoning": True,
        "input": ["text"],
        "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": 200_000,
        "maxTokens": 8192,
        # Brings pi's session id into each request, which keeps the attempts of equal prompts apart.
        "compat": {"sendSessionAffinityHeaders": True},
    }
    provider = {"baseUrl": base_url, "api": "openai-completions", "apiKey": api_key, "models": [model]}
    return {"providers": {PROVIDER: provider}}


def _default_settings(model_id: str, retry_base_delay_ms: int) -> dict[str, object]:
    """pi's `settings.json`: this model, no chatter, no telemetry, no request that no script expects."""
    return {
        "defaultProvider": PROVIDER,
        "defaultModel": model_id,
        "quietStartup": True,
        "enableInstallTelemetry": False,
        "enableAnalytics": False,
        "cacheWarming": "off",
        "compaction": {"enabled": False},
        "retry": {"baseDelayMs": retry_base_delay_ms},
    }


def agent_environment(agent_dir: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """What an agent needs on top of `environ` to use that directory, also behind a proxy."""
    no_proxy = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    exempt = ",".join([*(entry for entry in no_proxy.split(",") if entry), *_LOOPBACK])
    return {
        "PI_AGENT_DIR": str(agent_dir),
        "PI_CODING_AGENT_DIR": str(agent_dir),
        "PI_OFFLINE": "1",
        "PI_TELEMETRY": "0",
        "NO_PROXY": exempt,
        "no_proxy": exempt,
    }


def _write_private(path: Path, content: object) -> None:
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
