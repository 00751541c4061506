"""What several stories share: the study that a person makes, and a provider that wants a key."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cfeval.study.models import DEFAULTS
from tests.first_hour.person import Person, Reply
from tests.loopback.conversation import Conversation
from tests.loopback.personas import PERSONAS, filled
from tests.loopback.server import loopback
from tests.loopback.site import Loopback
from tests.study.service import init_options

KEY = "sk-or-v1-3f1c9a"
"""No output may ever show it."""
SEEN = {"present": 1, "as_asked": 1, "others": 0, "changes": []}
Plays = Callable[[Conversation], str]


def options(provider: Loopback, *targets: str, images: str = "photos") -> str:
    """Options of `cfeval init` by which a server plays every role."""
    return shlex.join(init_options(provider, Path(images), targets or ("vlm-a",)))


def makes_a_study(person: Person, provider: Loopback, *targets: str, name: str = "mine") -> Reply:
    """`cfeval init` with all roles at a server."""
    return person.does(f"cfeval init {shlex.quote(name)} {options(provider, *targets)}")


def any_role(conversation: Conversation) -> str:
    """A model in whatever role: under test, writer, gate, verifier or judge."""
    if "AS_ASKED" in conversation.text:
        said = "I looked at both.\nPRESENT: 1\nAS_ASKED: 1\nOTHERS: 0"
        return said if conversation.schema is None else filled(conversation.schema, SEEN, conversation.digest)
    asked = {"Positive:": "writer", "NCC": "judge", "ANSWER_MOVED": "judge"}
    return PERSONAS[next((who for mark, who in asked.items() if mark in conversation.prompt), "vlm")](conversation)


@contextmanager
def gateway(models: Mapping[str, Plays] | None = None) -> Iterator[Loopback]:
    """A provider like OpenRouter that wants a key; every model plays any role, unless `models` says otherwise."""
    personas = {"echo": any_role, **(models or {})}
    known = {name.partition("/")[2] for name in DEFAULTS["openrouter"].values()}
    with loopback(key=KEY, personas=personas, models=sorted(known | {"lab/vlm-a"})) as server:
        yield server


def page(person: Person, name: str = "mine") -> str:
    """The report of a study, as text."""
    return (person.folder / f"{name}/results/{name}/edct/report/index.html").read_text(encoding="utf-8")


def goes_by(person: Person, server: Loopback, name: str = "mine") -> None:
    """Let models at OpenRouter be asked through a gateway, as the guide has it: by address and key variable."""
    file = person.folder / name / "params.yaml"
    at = f"base_url: {server.openrouter}, key_env: OPENROUTER_API_KEY"
    text = file.read_text(encoding="utf-8").replace("provider: openrouter,", f"provider: openrouter, {at},")
    text = text.replace("plugin: openrouter_image,", f"plugin: openrouter_image, {at},")
    file.write_text(text, encoding="utf-8")
