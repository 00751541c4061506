"""What was said about each item of a condition and how it was scored, turn by turn; and that as logs of inspect-ai.

Logs (`.eval`: one of each condition, a sample of each item) are written through inspect-ai's own interface
(inspect.aisi.org.uk/eval-logs.html), which must be installed. Ids follow from the content and dates from the caller, so
that the same results give the same bytes.
"""

import hashlib
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cfeval import __version__
from cfeval.core.errors import InputError
from cfeval.core.files import entry, write_bytes_by
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
from cfeval.inference.remote.images import data_url
from cfeval_audit.bundle.contents import revision
from cfeval_audit.interchange.study import Finished, Result, Target, names_of, results

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


SCORER = "cfeval"


def write_logs(study: Finished, targets: Mapping[str, Target], date: str, images: bool, out: Path) -> list[Path]:
    """Write a log of each condition of the papers' protocols.

    Args:
        study: the finished study.
        targets: its target models by name.
        date: YYYY-MM-DD, of the logs.
        images: whether they are in the logs; else turns name them by file and hash.
        out: a folder.

    Returns:
        The files.

    Raises:
        InputError: inspect-ai is not installed, or a record file is missing or broken.
    """
    api, made = inspect_package(), []
    for condition in study.conditions:
        file = out / f"{'_'.join(condition.model_dump().values())}.eval"
        log = _log(study, condition, targets[condition.vlm], date, images)
        write_bytes_by(file, lambda part, log=log: _write(api, log, part))  # type: ignore[misc]
        made.append(file)
    return made


_revision = cache(revision)


@cache
def inspect_package() -> Any:
    """The package's module of logs; InputError where it is not installed."""
    try:
        from inspect_ai import log
    except ModuleNotFoundError as error:
        raise InputError(
            f"logs of inspect-ai are written by its own package, which lacks '{error.name}': pip install inspect-ai"
        ) from None
    return log


def _write(api: Any, log: Any, part: Path) -> None:
    """The archive as the package writes it, with one date for all its entries."""
    written = part.with_suffix(".eval")
    try:
        api.write_eval_log(log, str(written))
        with zipfile.ZipFile(written) as source, zipfile.ZipFile(part, "w") as target:
            for dated in source.infolist():
                target.writestr(entry(dated.filename, 0o600, dated.compress_type), source.read(dated))
    finally:
        written.unlink(missing_ok=True)


def _log(study: Finished, condition: Condition | PairCondition, target: Target, date: str, images: bool) -> Any:
    api = inspect_package()
    names, protocol = condition.model_dump(), protocol_of(condition)
    data = names.get("dataset") or names["pair_set"]
    of_target = results(study.tables, condition.vlm)
    figures = [result for result in of_target if result.whole and names_of(result.row) == names]
    samples, scored = [], Counter[str]()
    for item in transcripts(study, condition):
        samples.append(_sample(item, condition, target, images))
        scored.update(item.scores)
    key = _id("/".join(names.values()), date)
    created = f"{date}T00:00:00+00:00"
    spec = api.EvalSpec(
        eval_id=key,
        run_id=_id("run", date, str(study.edct.seed)),
        task_id=_id("task", protocol, data),
        created=created,
        task=protocol,
        task_version=__version__,
        task_display_name=f"{protocol} on {data}",
        dataset=api.EvalDataset(
            name=data, samples=len(samples), sample_ids=[sample.id for sample in samples], shuffled=False
        ),
        model=target.id,
        config=api.EvalConfig(),
        packages={"cfeval": __version__},
        metadata={"condition": names, "seed": study.edct.seed, "code": _revision(), "test_model": target.test},
    )
    return api.EvalLog(
        status="success",
        eval=spec,
        results=api.EvalResults(
            total_samples=len(samples),
            completed_samples=len(samples),
            scores=[_score(result, len(samples), scored[result.name]) for result in figures],
        ),
        stats=api.EvalStats(started_at=created, completed_at=created),
        samples=samples,
    )


def _score(result: Result, samples: int, scored: int) -> Any:
    """A published figure with its interval, and how many of the samples have a score of their own that it is of."""
    api = inspect_package()
    ends = {"lower": result.low, "upper": result.high}
    metrics = {"mean": result.value} | {name: value for name, value in ends.items() if value is not None}
    return api.EvalScore(
        name=result.name,
        scorer=SCORER,
        scored_samples=scored or result.n,
        unscored_samples=samples - scored if scored else None,
        metrics={name: api.EvalMetric(name=name, value=value) for name, value in metrics.items()},
        metadata={
            "label": result.metric.label,
            "meaning": result.meaning,
            "table": result.table,
            "interval": result.row.ci,
        },
    )


def _sample(item: Transcript, condition: Condition | PairCondition, target: Target, images: bool) -> Any:
    from inspect_ai import log, model

    named = "/".join(condition.model_dump().values())
    ids = (_id(named, item.id, str(number)) for number in range(len(item.turns)))
    messages = [_message(turn, number, target, images) for turn, number in zip(item.turns, ids, strict=True)]
    last = next((message for message in reversed(messages) if message.role == "assistant"), None)
    choices = [model.ChatCompletionChoice(message=last)] if last else []
    whole = log.EvalSample(
        id=item.id,
        epoch=1,
        input=messages[:1],
        target=item.reference,
        messages=messages,
        output=model.ModelOutput(model=item.model or target.id, choices=choices, completion=last.text if last else ""),
        scores=dict(_scores(item, condition)),
        metadata={"cluster": item.cluster, "kind": item.kind, "edits": list(item.edits)},
        uuid=_id(named, item.id),
    )
    return log.condense_sample(whole)


def _message(turn: Message, key: str, target: Target, images: bool) -> Any:
    from inspect_ai import model

    if turn.role == "assistant":
        return model.ChatMessageAssistant(id=key, content=turn.text, source="generate", model=target.id)
    if turn.image is None:
        return model.ChatMessageUser(id=key, content=turn.text)
    shown = _image(turn.image) if images else model.ContentText(text=f"[image sha256:{turn.image.ref.sha256}]")
    return model.ChatMessageUser(id=key, content=[shown, model.ContentText(text=turn.text)])


def _image(shown: Shown) -> Any:
    from inspect_ai import model

    return model.ContentImage(image=data_url(shown.image()))


def _scores(item: Transcript, condition: Condition | PairCondition) -> Iterator[tuple[str, Any]]:
    """What is known; what is missing is marked as unscored with its reason, never as 0."""
    from inspect_ai.scorer import Score

    status, stage, why = item.failure
    for name in score_names(condition):
        if name in item.scores:
            yield name, Score(value=item.scores[name])
        elif status:
            yield name, Score.unscored(reason=status, explanation=f"{stage}: {why}")


def _id(*parts: str) -> str:
    """22 characters, as inspect-ai's own ids have."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:22]
