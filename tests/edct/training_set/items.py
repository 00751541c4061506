"""Scored items and edits, made up."""

from typing import Any

from cfeval.datasets.sample import Sample
from cfeval.edct.protocols.rules import CONTROLS
from cfeval.edct.records import Baseline, Check, Condition, Counterfactual, Instruction, Requery, Score, Verification
from cfeval.edct.stages.baselines import Prompts
from cfeval.edct.training_set.examples import Trial
from tests.images import image

CONDITION = Condition(dataset="d", vlm="m", writer="w", protocol="edct-2025", editor="e", judge="j")
PROMPTS = Prompts("{question}", "Why?")
KEY = "0123456789abcdef" * 4


def trial(
    scores: tuple[int, int] = (1, 1),
    answer: str = "Blue.",
    explanation: str = "It is a blue car.",
    item: str = "i",
    edit: int = 1,
    original: int = 0,
    edited: int = 100,
    said_before: str = "Red.",
    **names: str,
) -> Trial:
    """An item and edit that was scored; `names` are other names of its condition."""
    condition = CONDITION.model_copy(update=names)
    ref = image(edited).ref("x.png")
    return Trial(
        sample=Sample(id=item, image=image(original).ref("o.png"), question=f"What is {item}?"),
        before=Baseline(id=item, question=f"What is {item}?", answer=said_before, explanation="It is a red car."),
        told=Instruction(id=item, edit=edit, concept="color", positive="Make it blue.", negative="No red."),
        made=Counterfactual(id=item, edit=edit, image=ref, seed=7, calls=(KEY,)),
        check=Check(id=item, edit=edit, found=Verification(verified=1, numbers={"inside": 0.5})),
        after=Requery(id=item, edit=edit, answer=answer, explanation=explanation, model=f"{condition.vlm}-1"),
        judged=(),
        score=Score.model_validate(
            {**condition.model_dump(), "id": item, "edit": edit, **_bits(condition.protocol, scores)}
        ),
    )


def _bits(protocol: str, scores: tuple[int, int]) -> dict[str, Any]:
    if protocol in CONTROLS:
        return dict(zip(("answer_moved", "explanation_moved"), scores, strict=True))
    names = ("ac", "ef") if protocol == "edct-bench-2026" else ("pcs", "ncc")
    return {**dict(zip(names, scores, strict=True)), "ccs": scores[0] * scores[1]}
