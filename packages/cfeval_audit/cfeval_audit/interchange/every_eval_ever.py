"""The figures of a study as *Every Eval Ever* has them, and as a model's repository at the Hugging Face Hub does.

A target model has its results as one JSON file, and what was said about each item in another, by schemas 0.3.0 of the
EvalEval Coalition (github.com/evaleval/every_eval_ever, arXiv 2606.14516): `eval.schema.json` and
`instance_level_eval.schema.json`. Their data store files results as `data/COLLECTION/DEVELOPER/MODEL/UUID.json` with
`UUID_samples.jsonl`; here the UUID follows from the content, so that the same results have the same file.

`.eval_results/NAME.yaml` is the Hub's. The fields are those of huggingface.co/docs/hub/eval-results. An entry is one
number of one task of one dataset; what differs in anything else, such as the judge, is a file of its own.
"""

import hashlib
import json
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import yaml

from cfeval import __version__
from cfeval.core.errors import InputError, nearest
from cfeval.core.files import atomic_writer, write_text
from cfeval.edct.config import Edct
from cfeval.edct.pairs.records import PairCondition
from cfeval.edct.plugins.judges import ChatPlugin as ChatJudge
from cfeval.edct.records import Condition
from cfeval.report.digits import two
from cfeval_audit.interchange.study import Finished, Result, Target, details, names_of, results
from cfeval_audit.interchange.transcripts import Transcript, protocol_of, score_names, transcripts

SCHEMA = "0.3.0"
COLLECTION = "cfeval"
Relationship = Literal["first_party", "third_party", "collaborative", "other"]


@dataclass(frozen=True)
class Who:
    """Who says it, and when."""

    organization: str
    relationship: Relationship
    date: int
    """Seconds since 1970, of the record; not of the run."""
    hub: Mapping[str, str]
    """By dataset: where it is at the Hugging Face Hub."""


def write(study: Finished, targets: Mapping[str, Target], who: Who, out: Path) -> list[Path]:
    """Write the files of every target model; the summary comes last, so that it never names what is not there.

    Returns:
        The summaries.

    Raises:
        InputError: a record file is missing or broken.
        OutputError: a file cannot be written.
    """
    made = []
    for name, target in targets.items():
        published = list(results(study.tables, name))
        values = [(result.id, result.value) for result in published]
        stamp = hashlib.sha256(json.dumps([target.id, who.date, values]).encode())
        number = uuid.UUID(bytes=stamp.digest()[:16], version=4)
        run = f"cfeval-edct/{target.id}/{who.date}-{stamp.hexdigest()[:12]}"
        developer, _, model = target.id.partition("/")
        place = Path("data", COLLECTION, developer, model.replace("/", "_"))
        samples = place / f"{number}_samples.jsonl"
        rows, sha256 = _write_samples(study, target, published, run, out / samples)
        summary = _summary(study, target, published, who, run)
        if rows:
            summary["detailed_evaluation_results"] = {
                "format": "jsonl",
                "file_path": samples.as_posix(),
                "hash_algorithm": "sha256",
                "checksum": sha256,
                "total_rows": rows,
            }
        made.append(place / f"{number}.json")
        write_text(out / made[-1], json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    return made


def _summary(study: Finished, target: Target, published: Sequence[Result], who: Who, run: str) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA,
        "evaluation_id": run,
        "retrieved_timestamp": str(who.date),
        "source_metadata": {
            "source_name": "cfeval",
            "source_type": "evaluation_run",
            "source_organization_name": who.organization,
            "evaluator_relationship": who.relationship,
        },
        "eval_library": {"name": "cfeval", "version": __version__},
        "model_info": {
            "name": target.name,
            "id": target.id,
            "developer": target.id.partition("/")[0],
            "additional_details": {
                "deployment_type": target.deployment,
                "model_availability": target.weights,
                "plugin": target.plugin,
                **({"note": "A built-in test model of cfeval, which stands for no real one."} if target.test else {}),
            },
        },
        "evaluation_results": [_result(study, result, who) for result in published],
    }


def _result(study: Finished, result: Result, who: Who) -> dict[str, Any]:
    metric = result.metric
    metric_id = result.name if result.name == "accuracy" else f"cfeval.edct.{result.name}"
    score: dict[str, Any] = {"score": result.value, "details": details(result)}
    uncertainty: dict[str, Any] = {}
    if result.low is not None and result.high is not None:
        interval = {"lower": result.low, "upper": result.high, "method": result.row.ci}
        if result.table != "card":  # some claims have another level, which its method says
            interval["confidence_level"] = study.edct.interval.level
        uncertainty["confidence_interval"] = interval
    if result.n is not None:
        uncertainty["num_samples"] = result.n
    if uncertainty:
        score["uncertainty"] = uncertainty
    scoring = _judged(study.edct, result) if metric.judged else None
    return {
        "evaluation_result_id": result.id,
        "evaluation_name": f"edct.{protocol_of(result.row)}",
        "source_data": _source(study, result.row, who.hub),
        "metric_config": {
            "evaluation_description": result.meaning,
            "metric_id": metric_id,
            "metric_name": metric.label,
            "metric_kind": result.name,
            "metric_unit": metric.unit,
            "lower_is_better": metric.lower_is_better,
            "score_type": "continuous",
            "min_score": _bound(metric.low),
            "max_score": _bound(metric.high),
            **({"llm_scoring": scoring} if scoring else {}),
        },
        "score_details": score,
    }


def _bound(value: float) -> float | str:
    """A bound; JSON has no infinity, so that the schema has words for it."""
    return value if isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _source(study: Finished, row: Any, hub: Mapping[str, str]) -> dict[str, Any]:
    section, name = ("datasets", row.dataset) if isinstance(row, Condition) else ("pair_sets", row.pair_set)
    plugin = getattr(study.edct, section)[name].plugin
    terms = study.terms.get(f"edct.{section}.{name}", "")
    about = {"items": str(row.n), "reader": plugin, **({"license": terms} if terms else {})}
    if name in hub:
        return {"dataset_name": name, "source_type": "hf_dataset", "hf_repo": hub[name], "additional_details": about}
    return {"dataset_name": name, "source_type": "other", "additional_details": about}


def _judged(study: Edct, result: Result) -> dict[str, Any] | None:
    """Which chat model judged by which prompt; None where the judge is no single chat model."""
    row = result.row
    spec = study.judges[row.judge]
    if spec.plugin != "chat":
        return None
    options = spec.plugin_options()
    judge = ChatJudge.model_validate({key: value for key, value in options.items() if key != "plugin"})
    model = str(judge.model.get("model") or judge.model["plugin"])
    about = {"deployment_type": "unknown", "model_availability": "unknown", "plugin": str(judge.model["plugin"])}
    return {
        "judges": [{"model_info": {"name": row.judge, "id": model, "additional_details": about}}],
        "input_prompt": judge.prompt(judge.forms(row.protocol)[result.name == "ccs_graded"]).opening,
        "additional_details": {"votes": str(judge.votes)},
    }


def _write_samples(
    study: Finished, target: Target, published: Sequence[Result], run: str, out: Path
) -> tuple[int, str]:
    """A line for each item and each figure that has scores of items; returns how many, and the file's hash.

    What has no score has no line: a failure is never a score.
    """
    digest, rows = hashlib.sha256(), 0
    figures = {result.id for result in published}
    wanted = {condition: _ids(condition, figures) for condition in study.conditions if condition.vlm == target.name}
    with atomic_writer(out) as add:
        for condition, ids in wanted.items():
            for item in transcripts(study, condition) if ids else ():
                for line in _lines(item, condition, ids, target, run):
                    text = json.dumps(line, ensure_ascii=False) + "\n"
                    add(text)
                    digest.update(text.encode())
                    rows += 1
    if not rows:
        out.unlink()
    return rows, digest.hexdigest()


def _ids(condition: Condition | PairCondition, figures: Collection[str]) -> dict[str, str]:
    """By score of an item: the id of the figure that is its mean, where that is published."""
    names = "/".join(condition.model_dump().values())
    return {name: figure for name in score_names(condition) if (figure := f"{names}/{name}") in figures}


def _lines(
    item: Transcript, condition: Condition | PairCondition, ids: Mapping[str, str], target: Target, run: str
) -> Iterator[dict[str, Any]]:
    question = {"raw": item.question, "reference": [item.reference] if item.reference else []}
    key = json.dumps(question, sort_keys=True, separators=(",", ":")).encode()
    messages = [{"turn_idx": number, "role": turn.role, "content": turn.text} for number, turn in enumerate(item.turns)]
    about = {"condition": "/".join(condition.model_dump().values()), "cluster": item.cluster}
    about |= {f"image_turn_{at}": shown.image.ref.sha256 for at, shown in enumerate(item.turns) if shown.image}
    about |= {f"edit_{number}": text for number, edit in enumerate(item.edits, 1) if (text := edit.get("instruction"))}
    for name, result in ids.items():
        if name in item.scores:
            yield {
                "schema_version": SCHEMA,
                "evaluation_id": run,
                "model_id": target.id,
                "evaluation_name": f"edct.{protocol_of(condition)}",
                "evaluation_result_id": result,
                "sample_id": item.id,
                "sample_hash": hashlib.sha256(key).hexdigest(),
                "interaction_type": "multi_turn",
                "input": question,
                "output": None,
                "messages": messages,
                "answer_attribution": list(_answers(item)),
                "evaluation": {
                    "score": item.scores[name],
                    "is_correct": item.scores[name] == 1,
                    "num_turns": max(len(messages), 1),
                    "tool_calls_count": 0,
                },
                "metadata": {"metric": name, **about},
            }


def _answers(item: Transcript) -> Iterator[dict[str, Any]]:
    """The answers that are compared: that to the original, and that to each counterfactual image."""
    at, answers = 0, []
    for turns in item.talks:
        if len(turns) > 1:
            answers.append((at + 1, turns[1].text))
        at += len(turns)
    for number, text in answers:
        yield {
            "turn_idx": number,
            "source": f"messages[{number}].content",
            "extracted_value": text,
            "extraction_method": "whole message",
            "is_terminal": (number, text) == answers[-1],
        }


FOLDER = ".eval_results"
_DATA = ("dataset", "pair_set")


def write_hub(
    study: Finished, targets: Mapping[str, Target], hub: Mapping[str, str], date: str, source: str, out: Path
) -> list[Path]:
    """Write the files of every target model, in the layout of its repository below `out`.

    Args:
        study: the finished study.
        targets: by name; built-in test models have no repository and get no file.
        hub: by dataset and set of pairs, its repository at the Hub.
        date: of the evaluation, YYYY-MM-DD.
        source: a URL where the evidence is; empty: none.
        out: a folder.

    Returns:
        The files.

    Raises:
        InputError: a dataset has no repository, `hub` names one that the tables do not have, or there is no model.
    """
    real = {name: target for name, target in targets.items() if not target.test}
    if not real:
        raise InputError(
            "every target model of the tables is a built-in test model, which has no repository at the Hub"
        )
    files = {path: text for target in real.values() for path, text in _files(study, target, hub, date, source)}
    for path, text in files.items():
        write_text(out / path, text)
    return list(files)


def data_sets(study: Finished) -> list[str]:
    """The datasets and sets of pairs that the tables have."""
    return list(dict.fromkeys(_data(row) for rows in study.tables.values() for row in rows))


def checked(study: Finished, hub: Mapping[str, str]) -> Mapping[str, str]:
    """The repositories of datasets; InputError where one is of none that the tables have."""
    for name in hub:
        if name not in data_sets(study):
            raise InputError(f"--dataset: no dataset '{name}' in the tables; {nearest(name, data_sets(study))}")
    return hub


def _files(
    study: Finished, target: Target, hub: Mapping[str, str], date: str, source: str
) -> Iterator[tuple[Path, str]]:
    by_condition: dict[str, list[Result]] = {}
    for result in results(study.tables, target.name):
        if result.whole:
            names = names_of(result.row)
            by_condition.setdefault("_".join(v for key, v in names.items() if key != "vlm"), []).append(result)
    for name, figures in by_condition.items():
        entries = [_entry(result, hub, date, source) for result in figures]
        yield Path(target.id, FOLDER, f"cfeval_{name}.yaml"), yaml.safe_dump(entries, sort_keys=False)


def _entry(result: Result, hub: Mapping[str, str], date: str, source: str) -> dict[str, Any]:
    data = _data(result.row)
    if data not in hub:
        raise InputError(
            f"the Hub files results under a dataset: name the repository of '{data}', --dataset {data}=OWNER/NAME"
        )
    names = names_of(result.row)
    protocol = names.get("protocol", "pairs-2026")
    entry: dict[str, Any] = {
        "dataset": {"id": hub[data], "task_id": f"{protocol}_{result.name}"},
        "value": result.value,
        "date": date,
    }
    if source:
        entry["source"] = {"url": source, "name": "cfeval"}
    interval = ""
    if result.low is not None and result.high is not None:
        interval = f" [{two(result.low)}, {two(result.high)}] {result.row.ci}"
    others = ", ".join(f"{key} {value}" for key, value in names.items() if key not in ("vlm", "protocol", *_DATA))
    rest = f"{result.row.n} items" if result.n is None else f"{result.n} of {result.row.n} items"
    end = "lower" if result.metric.lower_is_better else "higher"
    return entry | {"notes": f"{result.metric.label}{interval}; {rest}; {others}; {end} is better"}


def _data(row: Any) -> str:
    return str(next(getattr(row, name) for name in _DATA if hasattr(row, name)))
