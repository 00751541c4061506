"""Evaluation results of a model as its repository at the Hugging Face Hub keeps them: `.eval_results/NAME.yaml`.

The fields are those of huggingface.co/docs/hub/eval-results. An entry is one number of one task of one dataset; what
differs in anything else, such as the judge, is a file of its own.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from cfeval.core.errors import InputError, nearest
from cfeval.core.files import write_text
from cfeval.report.digits import two
from cfeval_audit.interchange.study import Finished, Result, Target, names_of, results

FOLDER = ".eval_results"
_DATA = ("dataset", "pair_set")


def write(
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
