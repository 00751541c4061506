"""What the tests of judges made of chat models share: requests, replies, and judges over a fake model."""

import re
from typing import Any

from cfeval.edct.interfaces import Change, JudgeReply, JudgeRequest
from cfeval.edct.plugins import judges
from cfeval.edct.plugins.judges import ChatJudge
from cfeval.edct.protocols.rules import CONTROLS, RULES
from cfeval.inference.chat import ChatReply, ChatRequest
from tests.answers import answers
from tests.fake_chat import FakeChat
from tests.images import image

RAMP, BAR = Change("Make a ramp.", "stairs"), Change("Put a bar in place of the knob.", "knob, handle")
PHOTO = image(3)
LABELS = {
    "edct-2025": ("PCS", "NCC", "CCS"),
    "edct-bench-2026": ("AC", "EF", "CCS"),
    "null-edit": ("ANSWER_MOVED", "EXPLANATION_MOVED"),
    "editor-null": ("ANSWER_MOVED", "EXPLANATION_MOVED"),
    "uncited-edit": ("ANSWER_MOVED", "EXPLANATION_MOVED"),
    "blank-image": ("ANSWER_MOVED", "EXPLANATION_MOVED"),
}


def request(item: str = "i", protocol: str = "edct-2025", **fields: Any) -> JudgeRequest:
    """A request as the study makes it: controls come without instructions."""
    cited = protocol not in CONTROLS
    said: dict[str, Any] = {
        "answer": "No.",
        "explanation": "steps",
        "changes": (RAMP,) if cited else (),
        "new_answer": "Yes.",
        "new_explanation": "a ramp",
        "seed": 5,
        "protocol": protocol,
    }
    return JudgeRequest(item, **said | fields)


def unseen(item: str = "i", protocol: str = "edct-2025", **fields: Any) -> JudgeRequest:
    """A request as the study makes it for a judge that needs the image."""
    return request(item, protocol, **{"changes": (), "question": "Can one enter?", "image": PHOTO} | fields)


def lines(*bits: int, protocol: str = "edct-2025") -> str:
    """The last lines of a reply."""
    return "\n".join(f"{label}: {bit}" for label, bit in zip(LABELS[protocol], bits, strict=True))


def judge_of(model: FakeChat, **options: Any) -> ChatJudge:
    """The judge `chat`, as its plugin builds it."""
    made = judges.ChatPlugin(model={}, **options)
    return ChatJudge(model, made, {protocol: made.forms(protocol) for protocol in RULES})


def blind_of(model: FakeChat, **options: Any) -> ChatJudge:
    """The judge `blind`, as its plugin builds it."""
    made = judges.BlindPlugin(model={}, **options)
    return ChatJudge(model, made, {protocol: made.forms(protocol) for protocol in RULES}, needs_image=True)


def judged(model: FakeChat, asked: JudgeRequest | None = None, **options: Any) -> JudgeReply:
    """The reply to one request."""
    [reply] = answers(judge_of(model, **options).judge, [asked or request()])
    return reply


def graded(verdict: str | ChatReply, grade: str | ChatReply, again: str | ChatReply = "") -> FakeChat:
    """A model that says one thing for the scores and another for the grade; `again` to the grade's repair turn."""

    def say(asked: ChatRequest) -> ChatReply:
        if "Grade: the digit" not in asked.turns[0].text:
            said, name = verdict, "v"
        else:
            said, name = (grade, "g") if len(asked.turns) == 1 else (again, "r")
        return said if isinstance(said, ChatReply) else ChatReply(said, calls=(name,))

    return FakeChat(say=say)


def inside(prompt: str, tag: str) -> str:
    """What stands between the tags of a text."""
    [opening] = re.findall(rf"^<{tag}-\w+>$", prompt, re.MULTILINE)
    return prompt.split(opening)[1].split(opening.replace("<", "</"))[0].strip()
