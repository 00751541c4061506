"""The commands that serve a model behind the OpenAI protocol. The tests run `transformers serve`, and vLLM on a CPU."""

import shlex
import shutil
import sys
from collections.abc import Mapping

from cfeval.core.errors import InputError, nearest

ENGINES: Mapping[str, str] = {
    "vllm": "vllm serve {model} --host 127.0.0.1 --port {port}",
    "vllm-omni": "vllm serve {model} --omni --host 127.0.0.1 --port {port}",
    "sglang": "sglang serve --model-path {model} --host 127.0.0.1 --port {port}",
    "transformers": "{python} -m transformers.cli.transformers serve {model} --host 127.0.0.1 --port {port}",
}
"""By the name of the program; `{model}`, `{port}` and `{python}` (this interpreter) are filled in."""
ENVIRONMENT: Mapping[str, str] = {"VLLM_NO_USAGE_STATS": "1"}
"""What a server is told beside, unless the user says otherwise: vLLM reports model and machine to its authors."""


def engine_of(provider: str, chosen: str) -> str:
    """The command that serves a model: the one chosen, by its name or in full, else its provider's.

    Raises:
        InputError: there is none, a command of one's own names no `{port}`, or the program is not found.
    """
    command = _command_of(provider, chosen)
    program = words(command, "", 0)[0]
    if shutil.which(program) is None:
        advice = f"--engine 'PATH/{program} …' names another, with the places {{model}} and {{port}}"
        raise InputError(f"no program '{program}' here; install it, or put its environment on PATH, or {advice}")
    return command


def _command_of(provider: str, chosen: str) -> str:
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
