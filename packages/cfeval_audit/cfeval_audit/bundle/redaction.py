"""What a bundle without texts holds of scores, whose reasons may quote some, and which tables it can make again."""

import csv
import io
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path, PurePosixPath

from cfeval.core.jsonl import parse_line
from cfeval.core.record import STUDY, Step
from cfeval.core.records import failed
from cfeval.edct.asked import PAIRS
from cfeval.edct.files import condition_path, conditions_in, stage_files, stage_records
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables import TABLES
from cfeval.edct.verification.chain import START, ChainLine, hash_of, head_after
from cfeval_audit.bundle.contents import may_stay

LEFT_OUT = "left out"
"""What is written instead of a reason."""


def redacted_scores(file: Path) -> bytes:
    """A score file of edct (CSV) with its reasons left out; empty where it has none and can stay as it is."""
    with file.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream)
        content = io.StringIO()
        writer = csv.DictWriter(content, rows.fieldnames or (), lineterminator="\n")
        writer.writeheader()
        changed = False
        for row in rows:
            if row.get("reason"):
                row["reason"], changed = LEFT_OUT, True
            writer.writerow(row)
    return content.getvalue().encode() if changed else b""


def score_faults(results: Path, chain: Path) -> Iterator[str | None]:
    """What is wrong with each score of a redacted bundle; empty where nothing is, None where its reason is left out.

    The heads of the chain are those of its lines, and each score's record has the hash that its line names.
    """
    head = START
    rows: dict[str, Iterator[Score]] = {}
    with chain.open(encoding="utf-8") as lines, ExitStack() as opened:
        for number, text in enumerate(lines, start=1):
            line = parse_line(chain, number, text, ChainLine)
            head = head_after(head, line)
            if line.head != head:
                yield f"{chain.name}, line {number}: its head is not that of its lines"
            yield _score_fault(line, rows, results, opened)
        for condition, rest in rows.items():
            if next(rest, None) is not None:
                yield f"scores/{condition}: a score of which {chain.name} has no line"


def _scores(files: Sequence[Path]) -> Generator[Score, None, None]:
    for file in files:
        yield from stage_records("scores", file)


def _score_fault(line: ChainLine, rows: dict[str, Iterator[Score]], results: Path, opened: ExitStack) -> str | None:
    condition = condition_path(line)
    if condition not in rows:
        shards = conditions_in(results).get(Condition(**{name: getattr(line, name) for name in Condition.model_fields}))
        files = stage_files(results, "scores", line, shards) if shards else []
        rows[condition] = opened.enter_context(closing(_scores(files)))
    score = next(rows[condition], None)
    place = f"scores/{condition}, item '{line.id}', edit {line.edit}"
    if score is None or (score.id, score.edit, score.status) != (line.id, line.edit, line.status):
        return f"{place}: not the score that the chain has there"
    if failed(score) and score.reason == LEFT_OUT:
        return None
    return "" if hash_of(score) == line.score else f"{place}: not the score whose hash the chain has"


def only_score_tables(step: Step, results: Mapping[str, str]) -> Step:
    """A step that made the tables of edct, as if it had been asked for those alone that are made of scores.

    Args:
        step: any step that made tables.
        results: the evaluations by their folders of results.
    """
    study = step["options"].get(STUDY)
    if step["options"].get("") != ["edct", "tables"] or not isinstance(study, dict):
        return step
    of_scores = {name for name, table in TABLES.items() if table.made_of == "scores"}
    tables = {name: table for name, table in study.get("tables", {}).items() if name in of_scores}
    metrics = [name for name in study.get("metrics", ()) if name in tables]
    options = {name: value for name, value in study.items() if name != PAIRS} | {"tables": tables, "metrics": metrics}
    files = {f"edct_{name}" for name in tables}
    if metrics == study.get("metrics", []):
        files.add("metrics")
    within = tuple(f"{folder}/" for folder in results)
    return {
        **step,
        "options": {**step["options"], STUDY: options},
        "inputs": {
            path: sha for path, sha in step["inputs"].items() if not path.startswith(within) or may_stay(path, results)
        },
        "outputs": {path: sha for path, sha in step["outputs"].items() if PurePosixPath(path).stem in files},
    }
