"""A reply reader that is any chat model: it sees a question and a reply, neither the image nor the right answer.

It says which answer the reply gives, or that it gives none. What it says counts only where it has the form of an answer
to such a question: digits, yes or no, the letter of an option. An open answer has no form: of it the model says whether
it is one of the accepted answers, which it is then shown.
"""

import json
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict

from cfeval.core import registry
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate
from cfeval.cvqa.interfaces import OpenAnswer, OpenVerdict, ReadReply, ReadRequest, ReplyReader
from cfeval.cvqa.prompt_templates import CvqaChatPlugin
from cfeval.cvqa.records import Form
from cfeval.inference.chat import ChatModel
from cfeval.inference.parsing import BINARY, TEXT, StrictBinary, object_schema
from cfeval.inference.prompts import Prompt, PromptTemplate, estimate_parsed, generate_parsed
from cfeval.inference.thinking import without_thoughts
from cfeval.inference.verdicts import clear_verdict

NONE = "none"
"""What a reader says of a reply that gives no answer."""
ASKED: Mapping[Form, str] = {
    "number": "a whole number in digits",
    "boolean": "yes or no",
    "choice": "the letter of one option: A, B, C or D",
}
_VALID: Mapping[Form, re.Pattern[str]] = {
    "number": re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII),
    "boolean": re.compile(r"yes|no"),
    "choice": re.compile(r"[A-D]"),
}
_LINE = re.compile(r"[\W_]*answer[\W_]*?[:=]\s*[\W_]*(\w+)[\W_]*", re.IGNORECASE | re.ASCII)


def read_answer(text: str, form: Form) -> str | None:
    """The answer that a reader's reply names in its last line, or as JSON; `none`; or None where it names neither.

    Args:
        text: the reader's reply.
        form: what an answer to the question is.
    """
    said = (without_thoughts(text) or "").strip()
    named = _in_json(said)
    if named is None:
        found = _LINE.fullmatch(said.splitlines()[-1]) if said else None
        named = found.group(1) if found else ""
    plain = named.strip().upper() if form == "choice" else named.strip().lower()
    if plain.lower() == NONE:
        return NONE
    return plain if _VALID[form].fullmatch(plain) else None


def _in_json(text: str) -> str | None:
    """The field `answer` of a reply that is one JSON object; None where it is none."""
    try:
        content = json.loads(text)
    except ValueError:
        return None
    return str(content.get("answer", "")) if isinstance(content, dict) else None


FORMS: Mapping[Form, PromptTemplate[str]] = {
    form: PromptTemplate(
        "extraction",
        "read",
        ("question", "reply", "form"),
        object_schema(analysis=TEXT, answer=TEXT),
        partial(read_answer, form=form),
        max_tokens=512,
    )
    for form in ASKED
}
"""One conversation for each form of answer; the templates are the same."""


class Verdict(BaseModel):
    """Whether a reply commits itself to an answer, and whether this is an accepted one."""

    model_config = ConfigDict(frozen=True)

    answered: StrictBinary
    correct: StrictBinary


def read_verdict(text: str) -> Verdict | None:
    """The verdict on an open answer; None where a reply leaves doubt, or calls right what it says is no answer."""
    verdict = clear_verdict(text, Verdict, "01")
    return None if verdict is None or verdict.correct > verdict.answered else verdict


JUDGE = PromptTemplate(
    "extraction",
    "judge",
    ("question", "accepted", "reply"),
    object_schema(analysis=TEXT, answered=BINARY, correct=BINARY),
    read_verdict,
    max_tokens=512,
)
"""The conversation about an open answer."""


class Plugin(CvqaChatPlugin):
    """Which model, and how it is asked.

    Templates in an own folder: read.md, read_repair.md, and for open answers judge.md, judge_repair.md.
    """

    def forms(self, protocol: str = "") -> tuple[PromptTemplate[Any], ...]:
        """What may be asked of a reply: what it says, whatever the form of its answer, or whether it is right."""
        del protocol
        return FORMS["number"], JUDGE

    def estimate_calls(self, protocol: str = "") -> tuple[CallEstimate, ...]:
        """One conversation a reply, open or not; both are about as long."""
        return estimate_parsed(self, self.forms(protocol)[0])

    def build(self) -> ReplyReader:
        """The reply reader, which is an answer judge too."""
        forms = {form: self.prompt(FORMS[form]) for form in FORMS}
        return Chat(registry.build("chat", self.model), forms, self.prompt(JUDGE))


class Chat:
    """Asks a chat model about every reply; see `cfeval.inference.prompts`."""

    def __init__(self, model: ChatModel, asked: Mapping[Form, Prompt[str]], judging: Prompt[Verdict]) -> None:
        self.model, self.asked, self.judging = model, asked, judging

    async def read(self, request: ReadRequest) -> ReadReply:
        """Have a reply read; one of whose reading nothing can be made out is `unparsable`."""
        values = {"question": request.question, "reply": request.reply, "form": ASKED[request.form]}
        heard = await generate_parsed(self.model, self.asked[request.form], request.item, values, request.seed)
        if heard.value is None:
            return ReadReply(None, heard.completion, heard.status, heard.reason, heard.calls)
        return ReadReply(None if heard.value == NONE else heard.value, heard.completion, Status.OK, "", heard.calls)

    async def judge(self, request: OpenAnswer) -> OpenVerdict:
        """Have an open answer judged; one on which no verdict can be made out is `unparsable`."""
        accepted = "\n".join(f"- {answer}" for answer in request.accepted)
        values = {"question": request.question, "accepted": accepted, "reply": request.reply}
        reply = await generate_parsed(self.model, self.judging, request.item, values, request.seed)
        if reply.value is None:
            return OpenVerdict(None, reply.completion, reply.status, reply.reason, reply.calls)
        correct = reply.value.correct if reply.value.answered else None
        return OpenVerdict(correct, reply.completion, Status.OK, "", reply.calls)
