"""The commands that serve a model behind the OpenAI protocol. Of these, `transformers serve` is what the tests run."""

import shlex
import sys
from collections.abc import Mapping

from cfeval.core.errors import InputError, nearest

ENGINES: Mapping[str, str] = {
    "vllm": "vllm serve {model} --host 127.0.0.1 --port {port}",
    "vllm-omni": "vllm serve {model} --omni --host 127.0.0.1 --port {port}",
    "sglang": "{python} -m sglang.launch_server --model-path {model} --host 127.0.0.1 --port {port}",
    "transformers": "{python} -m transformers.cli.transformers serve {model} --host 127.0.0.1 --port {port}",
}
"""By the name of the program; `{model}`, `{port}` and `{python}` (this interpreter) are filled in."""


def engine_of(provider: str, chosen: str) -> str:
    """The command that serves a model: the one chosen, by its name or in full, else its provider's.

    Raises:
        InputError: there is none, or a command of one's own names no `{port}`.
    """
    if "{port}" in chosen:
        return chosen
    if chosen and chosen not in ENGINES:
        raise InputError(f"no server '{chosen}'; {nearest(chosen, ENGINES)}; or give a whole command with {{port}}")
    if not chosen and provider not in ENGINES:
        raise InputError(f"nothing is known that serves provider '{provider}'; name it with --engine")
    return ENGINES[chosen or provider]


def words(command: str, model: str, port: int) -> list[str]:
    """A command word by word, filled in; a model's name with blanks stays one word."""
    places = {"{model}": model, "{port}": str(port), "{python}": sys.executable}
    filled = []
    for word in shlex.split(command):
        for place, value in places.items():
            word = word.replace(place, value)
        filled.append(word)
    return filled
