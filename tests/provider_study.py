"""A study of one target behind a provider, for the tests of what a user meets around a run."""

from pathlib import Path
from typing import Any

import yaml

CANARY = "sk-canary-7f3a91"
"""The key; no output may ever show it."""
KEY_ENV = "CANARY_KEY"
BLOCK = {"dataset": ["d"], "vlm": ["m"], "writer": ["w"], "editor": ["e"], "judge": ["j"]}


def target(base_url: str, **more: Any) -> dict[str, Any]:
    """A chat model behind a provider."""
    return {"plugin": "openai", "model": "gpt-4o", "base_url": base_url, "key_env": KEY_ENV, **more}


def params(tmp_path: Path, base_url: str, vlm: dict[str, Any] | None = None, **calls: Any) -> dict[str, Any]:
    """Parameters of a study with that target; all else is scripted. The cache lies in `tmp_path`."""
    return {
        "calls": {"cache": str(tmp_path / "calls.sqlite"), "max_retries": 0, **calls},
        "edct": {
            "items": 3,
            "seed": 1,
            "datasets": {"d": {"plugin": "world"}},
            "vlms": {"m": target(base_url, **(vlm or {}))},
            "instruction_writers": {"w": {"plugin": "mock"}},
            "editors": {"e": {"plugin": "mock"}},
            "judges": {"j": {"plugin": "mock"}},
            "verifiers": {},
            "tables": {"table1": [BLOCK]},
        },
    }


def written(tmp_path: Path, content: dict[str, Any], name: str = "params.yaml") -> Path:
    """A parameter file."""
    path = tmp_path / name
    path.write_text(yaml.safe_dump(content))
    return path
