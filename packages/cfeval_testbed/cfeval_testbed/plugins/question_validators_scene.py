"""The question validator that knows the truth: it reads the question by the world's grammar and recounts in the scene
record.
"""

from cfeval.core import plugin
from cfeval.core.records import Status
from cfeval.cvqa.interfaces import CheckReply, CheckRequest, QuestionValidator
from cfeval_testbed.counterfactual_questions.language import parse
from cfeval_testbed.counterfactual_questions.meaning import Meaning, answer
from cfeval_testbed.records import Scene
from cfeval_testbed.scenes import scene_in


class Plugin(plugin.Plugin):
    """Without options."""

    def build(self) -> QuestionValidator:
        """The question validator."""
        return SceneQuestionValidator()


class SceneQuestionValidator:
    """Question → what it supposes and asks → the answer in the supposed scene."""

    async def check(self, request: CheckRequest) -> CheckReply:
        """Check a draft; without a scene record there is no review."""
        return _reply(request)


def _reply(request: CheckRequest) -> CheckReply:
    scene = scene_in(request.metadata)
    if scene is None:
        reason = "no scene record; take the question_validator `chat` for images that are not drawn"
        return CheckReply(status=Status.UNPARSABLE, reason=reason)
    before, after = parse(request.original.question), parse(request.counterfactual.question)
    fault = _unrelated(before, after)
    if before is None or after is None or fault:
        return CheckReply(0, 0, fault, completion=fault)
    fault = _wrong(before, request.original.answer, scene)
    fault = fault or _wrong(after, request.counterfactual.answer, scene)
    return CheckReply(1, 0 if fault else 1, fault, completion=fault)


def _unrelated(before: Meaning | None, after: Meaning | None) -> str:
    """Why the new question is not the original one under a supposition about the scene; empty where it is."""
    if before is None or before.supposed is not None:
        return "the original question is not one about the scene"
    if after is None:
        return "the new question is not one about the scene"
    if after.supposed is None:
        return "the new question supposes nothing"
    same = (before.asked, before.kind) == (after.asked, after.kind)
    return "" if same else "the new question asks for other things"


def _wrong(meaning: Meaning, said: str, scene: Scene) -> str:
    right = answer(meaning, scene)
    which = "the original question" if meaning.supposed is None else "the new question"
    if right is None:
        return f"{which} has not exactly one answer"
    return "" if right == said else f"the answer to {which} is {right}, not {said}"
