"""What was said about each item of a condition, and what it was scored: conversations turn by turn, edits, scores."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cfeval.audit.interchange.study import Finished
from cfeval.core.images import Picture, load
from cfeval.core.records import ImageRef, Status
from cfeval.datasets.sample import Sample
from cfeval.edct.faithfulness.from_scores import observe
from cfeval.edct.faithfulness.observed import fit
from cfeval.edct.files import ConditionFiles, stage_files, stage_records
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025, RULES
from cfeval.edct.records import Condition, Conversation, Counterfactual, Instruction, Requery, Score, Verdict
from cfeval.edct.stages.baselines import Prompts
from cfeval.edct.tables.scores import material
from cfeval.inference.prompts import fill


class Shown(NamedTuple):
    """An image that a turn shows."""

    folder: Path
    ref: ImageRef

    def picture(self) -> Picture:
        """Its pixels; InputError where it is not the image that the record names."""
        return load(self.folder, self.ref)


class Turn(NamedTuple):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    text: str
    image: Shown | None = None


@dataclass(frozen=True)
class Edit:
    """One edit of an item, with what came of it."""

    instruction: Instruction
    made: Counterfactual
    requery: Requery
    verdict: Verdict
    score: Score
    turns: tuple[Turn, ...]
    """The conversation about the counterfactual image; empty where there is none."""


@dataclass(frozen=True)
class Transcript:
    """An item of a condition."""

    sample: Sample
    baseline: tuple[Turn, ...]
    """The conversation about the original image."""
    model: str
    """As the target model names itself."""
    edits: tuple[Edit, ...]
    scores: dict[str, float]
    """The scores of the protocol, of several edits their mean, and FIT where there are controls; only what is known."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """All conversations one after the other; each begins anew with the turn that shows an image."""
        return self.baseline + tuple(turn for edit in self.edits for turn in edit.turns)

    @property
    def failure(self) -> tuple[str, str, str]:
        """Status, stage and reason of the first edit that has no score; empty where all have."""
        ended = next((edit.score for edit in self.edits if edit.score.status != Status.OK), None)
        return (str(ended.status), ended.stage, ended.reason) if ended else ("", "", "")


def score_names(protocol: str) -> tuple[str, ...]:
    """The scores that an item can have under a protocol."""
    rules = RULES[protocol]
    return (
        *rules.scores,
        "ccs",
        *(["ccs_graded"] if rules.graded else []),
        *(["fit"] if protocol == EDCT_2025 else []),
    )


def transcripts(of: Finished, condition: Condition) -> Iterator[Transcript]:
    """The items of a condition by their ids.

    Records of one condition are in memory, images are not.

    Raises:
        InputError: a record file is missing or broken.
    """
    files = ConditionFiles(of.results, condition, of.params.shards)
    samples = {sample.id: (sample, folder) for sample, folder in files.samples()}
    baselines, instructions, requeries = files.baselines(), files.instructions(), files.requeries()
    made = {(one.id, one.edit): (one, folder) for one, folder in files.counterfactuals()}
    verdicts, passed = files.verdicts(), _fit(of, condition)
    scores: dict[str, list[Score]] = defaultdict(list)
    for score in files.scores():
        scores[score.id].append(score)
    for item in sorted(scores):
        sample, folder = samples[item]
        say = partial(_turns, of.prompts, sample.question)
        edits = []
        for score in sorted(scores[item], key=lambda one: one.edit):
            key = item, score.edit
            image, place = made[key]
            again = () if image.image is None else say(requeries[key], Shown(place, image.image))
            edits.append(Edit(instructions[key], image, requeries[key], verdicts[key], score, again))
        told = _scores(condition.protocol, edits) | ({"fit": float(passed[item])} if item in passed else {})
        first = say(baselines[item], Shown(folder, sample.image))
        yield Transcript(sample, first, baselines[item].model, tuple(edits), told)


def _turns(prompts: Prompts, question: str, said: Conversation, image: Shown) -> tuple[Turn, ...]:
    """Both turns as they were sent; what was not answered has no reply, and what was not asked is not there."""
    turns = [Turn("user", fill(prompts.answer, question=question), image)]
    if said.answer:
        turns += [Turn("assistant", said.answer), Turn("user", prompts.explain)]
    if said.explanation:
        turns.append(Turn("assistant", said.explanation))
    return tuple(turns)


def _scores(protocol: str, edits: list[Edit]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in score_names(protocol):
        values = [float(value) for edit in edits if (value := getattr(edit.score, name, None)) is not None]
        if values:
            found[name] = sum(values) / len(values)
    return found


def _fit(of: Finished, condition: Condition) -> dict[str, bool]:
    """FIT of the items of which it is known; none where the condition has no controls."""
    if condition.protocol != EDCT_2025 or condition not in of.edct.tables.conditions("controls"):
        return {}
    parts = [condition.model_copy(update={"protocol": name}) for name in (condition.protocol, *CONTROLS)]
    data = material({part: _scores_of(of, part) for part in parts})
    told: dict[str, Any] = {one.item: fit(one) for one in observe(condition, data)}
    return {item: value for item, value in told.items() if value is not None}


def _scores_of(of: Finished, condition: Condition) -> Iterator[Score]:
    for file in stage_files(of.results, "scores", condition, of.params.shards):
        yield from stage_records("scores", file)
