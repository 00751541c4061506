"""Made-up scores of the cvqa study."""

import hashlib
from collections.abc import Sequence

from cfeval.core.records import Status
from cfeval.cvqa.records import CvqaCondition, CvqaScore
from cfeval.cvqa.tables.replies import CvqaTableData, cvqa_material
from cfeval.stats.intervals import Interval

HOW = Interval(resamples=200)


def condition(solver: str = "m", of: str = "real") -> CvqaCondition:
    return CvqaCondition(set=of, solver=solver)


def score(
    name: str,
    side: str,
    read: str | None,
    gold: str,
    robust: str | None = "same",
    kind: str = "direct",
    image: str = "",
    **more: object,
) -> CvqaScore:
    """A reply that the reference reader read so; the robust one reads the same, unless told."""
    both = {"reference": read, "robust": read if robust == "same" else robust}
    given = {"id": name, "side": side, "type": kind, "gold": gold, "image": image_hash(image or name), "read": both}
    correct = {reader: int(said == gold) if said or reader == "reference" else None for reader, said in both.items()}
    given |= {"correct": correct} | form(gold)
    return CvqaScore.model_validate(given | more)


def form(gold: str) -> dict[str, object]:
    """What an answer is, by the right one."""
    kinds = {"yes": "boolean", "no": "boolean"} | dict.fromkeys("ABCD", "choice")
    return {"form": kinds.get(gold, "number"), "options": 4 if gold in tuple("ABCD") else 0}


def failed(name: str, side: str, status: Status = Status.REFUSED, kind: str = "direct", gold: str = "1") -> CvqaScore:
    given = {"id": name, "side": side, "type": kind, "gold": gold, "image": image_hash(name), "status": status}
    return CvqaScore.model_validate(given | form(gold) | {"stage": "answer", "reason": "why"})


def pair_scores(
    original: Sequence[int], counterfactual: Sequence[int], kind: str = "direct", images: Sequence[str] = ()
) -> list[CvqaScore]:
    """Pairs p00, p01, … that are right or wrong on either side; right answers are 1, or yes and then no.

    Of wrong replies the reference reader reads nothing, and the robust one something else.
    """
    first, then = ("yes", "no") if kind == "boolean" else ("1", "1")
    wrong = ("no", "yes") if kind == "boolean" else ("9", "9")
    found = []
    for i, (one, other) in enumerate(zip(original, counterfactual, strict=True)):
        name, image = f"{kind}-p{i:02}", images[i] if images else ""
        given = (("original", one, first, wrong[0]), ("counterfactual", other, then, wrong[1]))
        for side, right, gold, else_ in given:
            robust = gold if right else else_
            found.append(score(name, side, gold if right else None, gold, robust, kind, image))
    return found


def image_hash(name: str) -> str:
    """A different hash for another name."""
    return hashlib.sha256(name.encode()).hexdigest()


def material(scores: dict[CvqaCondition, list[CvqaScore]], **settings: object) -> CvqaTableData:
    return cvqa_material(scores, **{"interval": HOW} | settings)
