"""The stages of the edct study in memory, on scripted models, and models that note what they are asked."""

from typing import Any

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.datasets.sample import Sample
from cfeval.edct.interfaces import (
    EditReply,
    EditRequest,
    Judge,
    JudgeReply,
    JudgeRequest,
    Verifier,
    VerifyReply,
    VerifyRequest,
)
from cfeval.edct.records import Baseline, Condition, Counterfactual, Instruction, Requery, Score, Verdict
from cfeval.edct.stages.baselines import Prompts, baselines
from cfeval.edct.stages.checks import checks
from cfeval.edct.stages.counterfactuals import counterfactuals
from cfeval.edct.stages.edits import base_of
from cfeval.edct.stages.instructions import instructions
from cfeval.edct.stages.requeries import requeries
from cfeval.edct.stages.scores import scores
from cfeval.edct.stages.verdicts import verdicts
from tests.images import image

ITEMS = [f"i{number}" for number in range(6)]
IMAGES = {item: image(number) for number, item in enumerate(ITEMS)}
PROMPTS = Prompts("{question}", "why?")
CONDITION = Condition(dataset="d", vlm="m", writer="w", protocol="edct-2025", editor="e", judge="j")
UNWRITTEN = ("null-edit", "blank-image")
"""The protocols that ask neither writer nor editor."""
FAILURES = [status for status in Status if status != Status.OK]


def samples() -> dict[str, Sample]:
    return {
        item: Sample(id=item, image=IMAGES[item].ref("x.png"), question=f"what is {item}?", reference="answer")
        for item in ITEMS
    }


def scripted(family: str, **options: Any) -> Any:
    return registry.build(family, {"plugin": "mock", **options})


class Looking:
    """A verifier that finds every edit right, and what was to be edited in the original."""

    async def verify(self, request: VerifyRequest) -> VerifyReply:
        return VerifyReply(True, absent=False)


def study(
    protocol: str = "edct-2025", edits: int = 2, verifier: Verifier | None = None, **options: dict[str, Any]
) -> tuple[list[Score], dict[str, list[Any]]]:
    """Run every stage in memory; `options` go to the scripted plugin of the stage they name."""
    all_samples = samples()

    def original(sample: Sample) -> Image:
        return IMAGES[sample.id]

    model = scripted("chat", **options.get("baselines", {}))
    asked = list(baselines(all_samples.values(), original, model, PROMPTS, 1))
    writer = scripted("instruction_writers", **options.get("instructions", {}))
    written = list(instructions(asked, all_samples, original, writer, protocol, 1, edits))
    editor = scripted("editors", **options.get("counterfactuals", {}))
    made = list(counterfactuals(written, all_samples, original, editor, protocol, 1))
    images = {(c.id, c.edit): shown[c.image.path] for c, shown in made if c.image}
    edits_made = [c for c, _ in made]
    by_edit = {(i.id, i.edit): i for i in written}

    def edited(record: Counterfactual) -> Image:
        return images[record.id, record.edit]

    before_edit = base_of({(c.id, c.edit): c for c in edits_made}, all_samples, original, edited, protocol)
    checked = [c for c, _ in checks(edits_made, all_samples, by_edit, before_edit, edited, verifier, protocol, 1)]
    again = list(
        requeries(edits_made, all_samples, edited, scripted("chat", **options.get("requeries", {})), PROMPTS, 1)
    )
    before = {b.id: b for b in asked}
    judge = scripted("judges", **options.get("verdicts", {}))
    judged = list(verdicts(again, before, by_edit, lambda *key: images[key], judge, protocol, 1))
    condition = CONDITION.model_copy(update={"protocol": protocol})
    rows = list(scores(judged, all_samples, before, by_edit, {(c.id, c.edit): c for c in checked}, condition))
    stages = {"baselines": asked, "instructions": written, "counterfactuals": edits_made, "checks": checked}
    return rows, stages | {"requeries": again, "verdicts": judged}


class Painting:
    """An editor that paints its image in a gray of its own and notes what it was given; it fails where it is told."""

    needs_metadata = False

    def __init__(self, *fails: tuple[str, int]) -> None:
        self.seen: list[EditRequest] = []
        self.fails = fails

    async def edit(self, request: EditRequest) -> EditReply:
        self.seen.append(request)
        if (request.item, request.edit) in self.fails:
            return EditReply(status=Status.MODERATED, reason="no")
        return EditReply(image(100 + request.edit + request.seed % 50))


def wanted(item: str, edits: int) -> list[Instruction]:
    return [Instruction(id=item, edit=n, concept=f"c{n}", positive=f"p{n}") for n in range(1, edits + 1)]


def edited(editor: Any, told: list[Instruction], protocol: str) -> list[tuple[Counterfactual, Any]]:
    return list(counterfactuals(told, samples(), lambda sample: IMAGES[sample.id], editor, protocol, 1))


class Sitting:
    """A judge that notes what it is asked and says what it was told to."""

    def __init__(self, reply: JudgeReply, needs_image: bool = False) -> None:
        self.reply, self.needs_image = reply, needs_image
        self.seen: list[JudgeRequest] = []

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        self.seen.append(request)
        return self.reply


def judged(judge: Judge, protocol: str, edits: int = 2) -> list[Verdict]:
    before = {"i0": Baseline(id="i0", question="q?", answer="a", explanation="e")}
    again = [Requery(id="i0", edit=n, answer=f"a{n}", explanation=f"e{n}") for n in range(1, edits + 1)]
    told = {(i.id, i.edit): i for i in wanted("i0", edits)}
    return list(verdicts(again, before, told, lambda item, edit: image(edit), judge, protocol, 1))
