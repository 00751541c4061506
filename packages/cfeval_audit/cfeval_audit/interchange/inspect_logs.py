"""Logs of inspect-ai (`.eval`): one of each condition, a sample of each item, for `inspect view` and its readers.

They are written through inspect-ai's own interface (inspect.aisi.org.uk/eval-logs.html), which must be installed. Ids
follow from the content and dates from the caller, so that the same results give the same bytes.
"""

import hashlib
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cfeval import __version__
from cfeval.core.errors import InputError
from cfeval.core.files import entry, write_bytes_by
from cfeval.edct.pairs.records import PairCondition
from cfeval.edct.records import Condition
from cfeval.inference.remote.images import data_url
from cfeval_audit.bundle.contents import revision
from cfeval_audit.interchange.study import Finished, Result, Target, names_of, results
from cfeval_audit.interchange.transcripts import Message, Shown, Transcript, protocol_of, score_names, transcripts

SCORER = "cfeval"


def write(study: Finished, targets: Mapping[str, Target], date: str, images: bool, out: Path) -> list[Path]:
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
    api, made = package(), []
    for condition in study.conditions:
        file = out / f"{'_'.join(condition.model_dump().values())}.eval"
        log = _log(study, condition, targets[condition.vlm], date, images)
        write_bytes_by(file, lambda part, log=log: _write(api, log, part))  # type: ignore[misc]
        made.append(file)
    return made


_revision = cache(revision)


@cache
def package() -> Any:
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
    api = package()
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
    api = package()
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
