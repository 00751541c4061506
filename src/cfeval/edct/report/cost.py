"""What a verified edit cost, on the report's page: a sentence by editor.

USD are what the archive of calls says; seconds are of a file of times that params.yaml names, since results hold none.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cfeval.edct.edit_costs import EditCost, costs, edits_of
from cfeval.edct.files import ConditionFiles
from cfeval.edct.plugins import edit_times
from cfeval.edct.report.study import Study
from cfeval.inference.remote.totals import paid_by_call
from cfeval.report.digits import percent


@dataclass(frozen=True)
class CostLine:
    """An editor, how many of its edits were verified, and what each of these cost."""

    editor: str
    verified: str
    each: str


def cost_lines(study: Study, calls: Path | None, times: Path | None, usd_per_hour: float | None) -> list[CostLine]:
    """A line for each editor of a study; none where neither a cost nor a time of any edit is known.

    Args:
        study: its records.
        calls: the archive of its calls; None: there is none.
        times: how long images took, by `edit_times`; None: nobody says.
        usd_per_hour: what an hour of the machine that edited costs.

    Raises:
        InputError: a file is missing or broken.
    """
    paid: Mapping[str, float] = paid_by_call(calls) if calls else {}
    seconds = edit_times.noted(times) if times else {}
    if not paid and not seconds:
        return []
    made = edits_of({one: ConditionFiles(study.results, one, study.shards) for one in study.conditions})
    found = costs(made, seconds, lambda keys: sum(paid.get(key, 0.0) for key in keys), usd_per_hour)
    return [_line(one) for one in found] if any(one.calls_usd or one.timed for one in found) else []


def _line(cost: EditCost) -> CostLine:
    share = f" ({percent(cost.share)})" if cost.share is not None else ""
    each = " and ".join(_each(cost)) if cost.verified else ""
    return CostLine(cost.editor, f"{cost.verified:,} of {cost.edits:,} edits verified{share}", each)


def _each(cost: EditCost) -> Iterator[str]:
    """What a verified edit took, as far as it is known; of images that are not timed the mean of the others."""
    if cost.seconds_each is not None and cost.gpu_hours_each is not None:
        of = "" if cost.timed == cost.images else f" ({cost.timed:,} of {cost.images:,} images timed)"
        yield f"{cost.seconds_each:.3g} s, {cost.gpu_hours_each:.2g} GPU-hours{of}"
    if cost.calls_usd or cost.gpu_usd is not None:
        yield f"{cost.usd_each:.3g} USD"
