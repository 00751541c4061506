"""python -m tests.inference.remote.child URL FIRST LAST: a job that holds conversations of two turns.

Prints the texts of all replies as one JSON list. Settings and key come by the environment, as in a job of the study.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from cfeval.cli import _refuse
from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.errors import CfevalError
from cfeval.edct.stages.baselines import Prompts, Question, converse
from cfeval.inference.remote.settings import VARIABLE
from tests.images import image
from tests.inference.remote.keys import KEY, KEY_ENV

PROMPTS = Prompts("Item {question}: what is it?", "Why?")


def conversations(url: str, first: int, last: int, why: str = PROMPTS.explain, **options: Any) -> list[dict[str, Any]]:
    """Hold the conversations about the items from `first` up to `last`; two turns each."""
    spec = {"plugin": "openai", "model": "vlm", "base_url": url, "key_env": KEY_ENV, "seed": True, **options}
    model = registry.build("chat", {name: value for name, value in spec.items() if value is not None})
    prompts = Prompts(PROMPTS.answer, why)
    held = [said for _, said in converse(model, range(first, last), _asked, prompts, "baseline")]
    said: list[dict[str, Any]] = json.loads(json.dumps(held))
    return said


def _asked(number: int) -> Question:
    return Question(f"i{number}", image(number % 250, (8, 6 + number // 250)), str(number), number)


def job(url: str, first: int, last: int, **calls: Any) -> "subprocess.Popen[str]":
    """Start this module as a job with these settings of calls."""
    settings = Calls(**calls).model_dump_json()
    command = [sys.executable, "-m", "tests.inference.remote.child", url, str(first), str(last)]
    root = Path(__file__).parents[3]
    environment = {**os.environ, VARIABLE: settings, KEY_ENV: KEY}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=root, env=environment)


if __name__ == "__main__":
    try:
        print(json.dumps(conversations(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
    except CfevalError as error:
        sys.exit(_refuse(error))
