"""What was said about each item of a condition, and what it was scored: conversations turn by turn, edits, scores."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cfeval.core.images import Image, folder_of, load
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import ImageRef, StageResult, Status
from cfeval.datasets.pair import pair_of
from cfeval.datasets.sample import Sample
from cfeval.edct.faithfulness.from_scores import observe
from cfeval.edct.faithfulness.observed import fit
from cfeval.edct.files import ConditionFiles, stage_files, stage_records
from cfeval.edct.pairs.records import PairCondition, PairVerdict, baseline_files, item_files, verdict_files
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025, PAIRS_2026, RULES
from cfeval.edct.records import Baseline, Condition, Conversation, Counterfactual, Instruction, Score, Verdict
from cfeval.edct.stages.baselines import Prompts
from cfeval.edct.tables.scores import material
from cfeval.inference.prompts import fill
from cfeval_audit.interchange.study import Finished

# The scores of a given pair by the column that is their mean: where its verdict has them.
OF_PAIRS = {
    "moved": "moved",
    "named": "named",
    "noise": "noise",
    "accuracy_before": "correct_before",
    "accuracy_after": "correct_after",
    "bias": "biased",
}


class Shown(NamedTuple):
    """An image that a turn shows."""

    folder: Path
    ref: ImageRef

    def image(self) -> Image:
        """Its pixels; InputError where it is not the image that the record names."""
        return load(self.folder, self.ref)


class Message(NamedTuple):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    text: str
    image: Shown | None = None


# One conversation: the question with an image, the answer, why, the explanation; shorter where it ended early.
Talk = tuple[Message, ...]


@dataclass(frozen=True)
class Transcript:
    """An item of a condition, or a given pair."""

    id: str
    question: str
    reference: str
    kind: str
    cluster: str
    model: str
    """As the target model names itself."""
    talks: tuple[Talk, ...]
    """About the original image first, then about each other one; each is a conversation of its own."""
    scores: Mapping[str, float]
    """By name, of several edits their mean; only what is known."""
    failure: tuple[str, str, str]
    """Status, stage and reason of the first edit that has no score; empty where all have."""
    edits: tuple[Mapping[str, Any], ...] = field(default=())
    """What was changed, and what came of it."""

    @property
    def turns(self) -> Talk:
        """All conversations one after the other."""
        return tuple(turn for talk in self.talks for turn in talk)


def protocol_of(condition: Condition | PairCondition) -> str:
    """The protocol of a condition, with edits or with given pairs."""
    return condition.protocol if isinstance(condition, Condition) else PAIRS_2026


def score_names(condition: Condition | PairCondition) -> tuple[str, ...]:
    """The scores that an item of a condition can have; FIT where it has controls."""
    if isinstance(condition, PairCondition):
        return tuple(OF_PAIRS)
    rules = RULES[condition.protocol]
    more = (*(["ccs_graded"] if rules.graded else []), *(["fit"] if condition.protocol == EDCT_2025 else []))
    return (*rules.scores, "ccs", *more)


def transcripts(study: Finished, condition: Condition | PairCondition) -> Iterator[Transcript]:
    """The items of a condition by their ids.

    Records of one condition are in memory, images are not.

    Raises:
        InputError: a record file is missing or broken.
    """
    return _items(study, condition) if isinstance(condition, Condition) else _pairs(study, condition)


def _items(study: Finished, condition: Condition) -> Iterator[Transcript]:
    files, prompts = ConditionFiles(study.results, condition, study.params.shards), study.prompts(condition.vlm)
    samples = {sample.id: (sample, folder) for sample, folder in files.samples()}
    baselines, instructions, requeries = files.baselines(), files.instructions(), files.requeries()
    made = {(entry.id, entry.edit): (entry, folder) for entry, folder in files.counterfactuals()}
    verdicts, passed = files.verdicts(), _fit(study, condition)
    scores: dict[str, list[Score]] = defaultdict(list)
    for score in files.scores():
        scores[score.id].append(score)
    for item in sorted(scores):
        sample, folder = samples[item]
        edits = sorted(scores[item], key=lambda entry: entry.edit)
        talks = [_talk(prompts, sample.question, baselines[item], Shown(folder, sample.image))]
        for edit in edits:
            image, place = made[item, edit.edit]
            if image.image:
                shown = Shown(place, image.image)
                talks.append(_talk(prompts, sample.question, requeries[item, edit.edit], shown))
        means = _means(edits, score_names(condition)) | ({"fit": float(passed[item])} if item in passed else {})
        keys = [(item, edit.edit) for edit in edits]
        about = [_edit(instructions[key], made[key][0], verdicts[key], e) for key, e in zip(keys, edits, strict=True)]
        yield Transcript(
            item,
            sample.question,
            sample.reference,
            sample.kind,
            sample.image.sha256[:16],
            baselines[item].model,
            tuple(talks),
            means,
            _failure(next((edit for edit in edits if edit.status != Status.OK), None)),
            tuple(about),
        )


def _pairs(study: Finished, condition: PairCondition) -> Iterator[Transcript]:
    shards, prompts = study.params.shards, study.prompts(condition.vlm)
    sides: dict[str, dict[str, tuple[Sample, Path]]] = defaultdict(dict)
    for file in item_files(study.results, condition.pair_set, shards):
        for sample in read_jsonl(file, Sample):
            pair = pair_of(sample)
            sides[pair.pair][pair.side] = sample, folder_of(file)
    replies = {
        reply.id: reply
        for file in baseline_files(study.results, condition, shards)
        for reply in read_jsonl(file, Baseline)
    }
    for file in verdict_files(study.results, condition, shards):
        for verdict in read_jsonl(file, PairVerdict):
            shown = list(sides[verdict.id].values())  # in the order in which they were asked about
            first, pair = shown[0][0], pair_of(shown[0][0])
            values = {name: getattr(verdict, source) for name, source in OF_PAIRS.items()}
            yield Transcript(
                verdict.id,
                first.question,
                first.reference,
                verdict.kind,
                verdict.cluster,
                replies[first.id].model,
                tuple(
                    _talk(prompts, side.question, replies[side.id], Shown(folder, side.image)) for side, folder in shown
                ),
                {name: float(value) for name, value in values.items() if value is not None},
                _failure(verdict),
                ({"before": pair.before, "after": pair.after, "first": pair.first, "judge": verdict.completion},),
            )


def _talk(prompts: Prompts, question: str, replies: Conversation, image: Shown) -> Talk:
    """Both turns as they were sent; what was not answered has no reply, and what was not asked is not there."""
    turns = [Message("user", fill(prompts.answer, question=question), image)]
    if replies.answer:
        turns += [Message("assistant", replies.answer), Message("user", prompts.explain)]
    if replies.explanation:
        turns.append(Message("assistant", replies.explanation))
    return tuple(turns)


def _means(edits: list[Score], names: tuple[str, ...]) -> dict[str, float]:
    means: dict[str, float] = {}
    for name in names:
        values = [float(value) for edit in edits if (value := getattr(edit, name, None)) is not None]
        if values:
            means[name] = sum(values) / len(values)
    return means


def _edit(instruction: Instruction, made: Counterfactual, verdict: Verdict, score: Score) -> dict[str, Any]:
    return {
        "edit": score.edit,
        "concept": instruction.concept,
        "instruction": instruction.positive,
        "image_sha256": made.image.sha256 if made.image else None,
        "verified": score.verified,
        "judge": verdict.completion,
        "status": str(score.status),
        "stage": score.stage,
        "reason": score.reason,
    }


def _failure(ended: StageResult | None) -> tuple[str, str, str]:
    failed = ended is not None and ended.status != Status.OK
    return (str(ended.status), ended.stage, ended.reason) if ended and failed else ("", "", "")


def _fit(study: Finished, condition: Condition) -> dict[str, bool]:
    """FIT of the items of which it is known; none where the condition has no controls."""
    if condition.protocol != EDCT_2025 or condition not in study.edct.tables.conditions("controls"):
        return {}
    parts = [condition.model_copy(update={"protocol": name}) for name in (condition.protocol, *CONTROLS)]
    data = material({part: _scores_of(study, part) for part in parts})
    fits: dict[str, Any] = {observed.item: fit(observed) for observed in observe(condition, data)}
    return {item: value for item, value in fits.items() if value is not None}


def _scores_of(study: Finished, condition: Condition) -> Iterator[Score]:
    for file in stage_files(study.results, "scores", condition, study.params.shards):
        yield from stage_records("scores", file)
