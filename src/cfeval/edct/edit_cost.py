"""What a verified edit costs, by editor: seconds, GPU-hours and USD.

An editor is a name in params.yaml, so that one with other options (an adapter, small weights, fewer steps) is another
editor with a cost of its own. Edits that fail are paid for too, and so are further attempts: what all of an editor's
edits cost is shared among those that were verified. An edit was verified where the verifier of the study says so, else
where the editor's own gate let it through.

USD come from the response cache. Results hold no times, since they are to be the same on any machine: a job of the
workflow writes how long edits on this machine took, a line an image, into a file beside the response cache. None reads
it; a copy that params.yaml names (`edct.edit_times`) is shown in the report.
"""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from cfeval.core.errors import InputError
from cfeval.core.records import failed
from cfeval.core.text_files import parse_json, text_lines
from cfeval.edct.files import ConditionFiles, conditions_in
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.records import Check, Condition, Counterfactual
from cfeval.inference.cli import opened
from cfeval.inference.remote.settings import VARIABLE, settings

TIMES_FILE = "edit-times.jsonl"


def note_times(images: Iterable[str], seconds: float) -> None:
    """Keep what each of some images took, given by their SHA-256, where this process is a job of the workflow."""
    if VARIABLE not in os.environ:
        return
    path = Path(settings().cache).parent / TIMES_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps({"image": sha256, "seconds": round(seconds, 4)}) + "\n" for sha256 in images)
    with path.open("a", encoding="utf-8") as file:
        file.write(lines)


def noted_times(path: Path) -> Mapping[str, float]:
    """Seconds by image; the last where one was made more than once. A line that a kill cut off is left out; InputError
    where a line is no time of an image.
    """
    seconds: dict[str, float] = {}
    if path.is_file():
        for number, line in enumerate(text_lines(path), start=1):
            if line.rstrip().endswith("}"):
                try:
                    content = parse_json(line, f"{path}, line {number}")
                    seconds[str(content["image"])] = float(content["seconds"])
                except (ValueError, TypeError, KeyError):
                    fault = f"line {number} is no time of an image; take .cfeval/{TIMES_FILE} of the run that edited"
                    raise InputError(f"{path}: {fault}") from None
    return seconds


Made = tuple[Counterfactual, Check | None]
Paid = Callable[[Iterable[str]], float]


@dataclass(frozen=True)
class EditCost:
    """What the edits of one editor came to."""

    editor: str
    """Its name in params.yaml."""
    edits: int
    """Edits that were tried: instructions that reached the editor."""
    images: int
    """Images that it made for them, those of further attempts too."""
    verified: int
    """Edits that were verified."""
    unsure: int
    """Edits of which nobody could say; they count as not verified."""
    timed: int
    """Images of which it is known how long they took: those made on this machine."""
    seconds: float | None
    """What the images took together, the mean of the timed ones standing for the others; None: none is timed."""
    gpu_usd: float | None
    """That at the price of an hour; None: no price was given, or no image is timed."""
    calls_usd: float
    """What calls to providers cost, also those of the editor's own gate."""

    @property
    def share(self) -> float | None:
        """Share of the edits that were verified, in [0, 1]."""
        return self.verified / self.edits if self.edits else None

    @property
    def seconds_each(self) -> float | None:
        """Seconds per verified edit."""
        return _each(self.seconds, self.verified)

    @property
    def gpu_hours_each(self) -> float | None:
        """Hours per verified edit."""
        return None if self.seconds_each is None else self.seconds_each / 3600

    @property
    def usd_each(self) -> float | None:
        """USD per verified edit: calls, and hours where they have a price."""
        return _each(self.calls_usd + (self.gpu_usd or 0.0), self.verified)


def _each(whole: float | None, verified: int) -> float | None:
    return None if whole is None or not verified else whole / verified


def costs(
    made: Mapping[str, Sequence[Made]], seconds: Mapping[str, float], paid: Paid, usd_per_hour: float | None
) -> list[EditCost]:
    """What the edits of each editor came to.

    Args:
        paid: what some calls cost in USD, given their keys.
    """
    edit_costs = []
    for editor, records in made.items():
        tried = [
            (record, check) for record, check in records if not failed(record) or record.stage == "counterfactuals"
        ]
        attempts = [attempt.image for record, _ in tried for attempt in record.attempts]
        images = {image.sha256 for image in (*attempts, *(record.image for record, _ in tried)) if image}
        timed = [seconds[sha256] for sha256 in images if sha256 in seconds]
        whole = sum(timed) / len(timed) * len(images) if timed else None
        verdicts = [_verified(record, check) for record, check in tried]
        edit_costs.append(
            EditCost(
                editor=editor,
                edits=len(tried),
                images=len(images),
                verified=verdicts.count(True),
                unsure=verdicts.count(None),
                timed=len(timed),
                seconds=whole,
                gpu_usd=None if whole is None or usd_per_hour is None else whole / 3600 * usd_per_hour,
                calls_usd=paid({call for record, _ in tried for call in record.calls}),
            )
        )
    return edit_costs


def _verified(record: Counterfactual, check: Check | None) -> bool | None:
    if failed(record):
        return False
    if check is not None and check.found is not None and check.found.verified is not None:
        return check.found.verified == 1
    return True if record.attempts else None


def edits_of(conditions: Mapping[Condition, ConditionFiles]) -> dict[str, list[Made]]:
    """By editor, the records of its edits; one that is the same in several conditions, down to its image, once."""
    by_editor: dict[str, dict[str, Made]] = defaultdict(dict)
    once = {shown.model_copy(update={"judge": ""}): files for shown, files in conditions.items()}
    for condition, files in once.items():
        if (rule := RULES.get(condition.protocol)) and rule.written:
            checks = files.checks()
            for record, _ in files.counterfactuals():
                made = record, checks.get((record.id, record.edit))
                by_editor[condition.editor].setdefault(f"{condition.dataset} {record.model_dump_json()}", made)
    return {editor: list(records.values()) for editor, records in by_editor.items()}


_COLUMNS = ("editor", "edits", "images", "verified", "share", "unsure", "timed", "s each", "GPU-h each", "USD each")


def run(
    results: Annotated[Path, typer.Argument(help="The results of edct.")] = Path("results/edct"),
    usd_per_gpu_hour: Annotated[
        float | None, typer.Option(min=0, help="Price of an hour of the machine that edited.")
    ] = None,
    cache: Annotated[Path, typer.Option(help="The response cache.")] = Path(".cfeval/calls.sqlite"),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, a list with an object an editor.")] = False,
) -> None:
    """Show what a verified edit costs, by editor: seconds, GPU-hours and USD, failed edits and retries included.

    Seconds are of editors on this machine, for images made since times are kept; USD is what calls cost, and the
    hours where they have a price.
    """
    conditions = conditions_in(results).items()
    made = edits_of({condition: ConditionFiles(results, condition, shards) for condition, shards in conditions})
    if not made:
        raise InputError(f"{results}: no protocol of these results has edits; name those of a study with an editor")
    held = opened(cache) if cache.is_file() else None
    try:
        seconds = noted_times(cache.parent / TIMES_FILE)
        edit_costs = costs(made, seconds, lambda keys: held.paid(keys)[1] if held else 0.0, usd_per_gpu_hour)
    finally:
        if held:
            held.close()
    if as_json:
        each = ("share", "seconds_each", "gpu_hours_each", "usd_each")
        print(json.dumps([asdict(row) | {name: getattr(row, name) for name in each} for row in edit_costs], indent=2))
        return
    table = Table(box=SIMPLE)
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name == "editor" else "right")
    for row in edit_costs:
        share = "" if row.share is None else f"{row.share:.0%}"
        counts = (row.edits, row.images, row.verified, share, row.unsure, row.timed)
        figures = (row.seconds_each, row.gpu_hours_each, row.usd_each)
        table.add_row(row.editor, *map(str, counts), *("" if it is None else f"{it:.4g}" for it in figures))
    Console(width=None if sys.stdout.isatty() else 160, highlight=False).print(table)
