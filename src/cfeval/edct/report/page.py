"""The report: one static HTML page without external resources, which works from the file system.

First what was found and what backs it, then a trust card for each model, the tables, and every item. What an edit cost
is said in USD by the archive of calls, in seconds by a file of times that params.yaml names: results hold none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from markupsafe import Markup

from cfeval.core.cli_options import Out, StudyFile, read_study_params
from cfeval.core.files import write_text
from cfeval.core.record import uses
from cfeval.edct import edit_cost
from cfeval.edct.asked import PAIRS, AskedReport
from cfeval.edct.edit_cost import EditCost, costs, edits_of
from cfeval.edct.faithfulness.card import FIT_BOUND
from cfeval.edct.files import ConditionFiles
from cfeval.edct.options import Results
from cfeval.edct.report.evidence import Study, gather
from cfeval.edct.report.finding import SHOWN, Line, finding, lines, title
from cfeval.edct.report.items import ENDINGS, Example, bar, claims, examples, items_of, summary, views
from cfeval.edct.report.pairs import pairs_page
from cfeval.edct.report.trust import GOOD, Check, checks
from cfeval.edct.tables import FIGURES, TABLES
from cfeval.inference.remote.archive import CallsTotal, calls_total, paid_by_call
from cfeval.report.digits import percent, two
from cfeval.report.gallery import Gallery, Item, gallery_of
from cfeval.report.html import Images
from cfeval.report.page import Progress, Section, not_used_of, page_of, sections_of


@dataclass(frozen=True)
class CostLine:
    """An editor, how many of its edits were verified, and what each of these cost."""

    editor: str
    verified: str
    each: str


def cost_lines(study: Study, calls: Path | None, times: Path | None, usd_per_hour: float | None) -> list[CostLine]:
    """A line for each editor of a study; none where neither a cost nor a time of any edit is known.

    Args:
        calls: the archive of its calls; None: there is none.
        times: how long images took, by `edit_times`; None: nobody says.
        usd_per_hour: what an hour of the machine that edited costs.

    Raises:
        InputError: a file is missing or broken.
    """
    paid: Mapping[str, float] = paid_by_call(calls) if calls else {}
    seconds = edit_cost.noted_times(times) if times else {}
    if not paid and not seconds:
        return []
    files = {condition: ConditionFiles(study.results, condition, study.shards) for condition in study.conditions}
    edit_costs = costs(edits_of(files), seconds, lambda keys: sum(paid.get(key, 0.0) for key in keys), usd_per_hour)
    return [_line(cost) for cost in edit_costs] if any(cost.calls_usd or cost.timed for cost in edit_costs) else []


def _line(cost: EditCost) -> CostLine:
    share = f" ({percent(cost.share)})" if cost.share is not None else ""
    each = []  # of images that are not timed the mean of the others
    if cost.seconds_each is not None and cost.gpu_hours_each is not None:
        timed = "" if cost.timed == cost.images else f" ({cost.timed:,} of {cost.images:,} images timed)"
        each.append(f"{cost.seconds_each:.3g} s, {cost.gpu_hours_each:.2g} GPU-hours{timed}")
    if cost.verified and (cost.calls_usd or cost.gpu_usd is not None):
        each.append(f"{cost.usd_each:.3g} USD")
    return CostLine(cost.editor, f"{cost.verified:,} of {cost.edits:,} edits verified{share}", " and ".join(each))


_BAR = 180


def page(
    sections: Sequence[Section],
    shown_lines: Sequence[Line],
    panel: Sequence[Check],
    shows: Sequence[tuple[Line, Sequence[Example]]],
    gallery: Gallery,
    total: CallsTotal | None,
    edits: Sequence[CostLine] = (),
    progress: Progress | None = None,
    not_used: Sequence[str] = (),
) -> str:
    """The whole page; the same arguments give the same text.

    Args:
        shows: the lines with a trust card or items, each with the items that show it.
        total: what the calls came to; None where nobody says.
        progress: how far the run is; None where it has ended.
    """
    test_models = list(dict.fromkeys(line.model for line in shown_lines if getattr(line.row, "test_world", 0)))
    sizes: dict[str, int] = {}
    for line in shown_lines:
        sizes[line.condition.dataset] = max(line.row.n, sizes.get(line.condition.dataset, 0))
    models = len({line.model for line in shown_lines})
    parts = ["Explanation-Driven Counterfactual Testing"]
    parts += [f"{models:,} model{'s' * (models != 1)}"] * bool(shown_lines)
    parts += [f"{name}: {n:,} items" for name, n in sizes.items()]
    parts += [total.text, total.when] if total else []
    tone = "part" if any(check.state not in GOOD for check in panel) else "ok"
    if any(check.bad for check in panel):
        tone = "bad"
    return page_of(
        "report.html.j2",
        "item.js",
        title(shown_lines) if shown_lines else "The items of a study",
        sections,
        gallery,
        ENDINGS,
        progress,
        not_used,
        finding=finding(shown_lines) if shown_lines else "",
        kicker=" · ".join(part for part in parts if part),
        lines=[(line, _bar(line), _cells(line)) for line in shown_lines],
        shown=SHOWN,
        bound=FIT_BOUND,
        panel=panel,
        tone=tone,
        cards=[(line, claims(line), summary(claims(line)), picked) for line, picked in shows],
        test_models=test_models,
        edits=edits,
    )


def _bar(line: Line) -> Markup:
    fit = line.fit
    label = f"FIT {two(fit[0])}, 95 % interval {two(fit[1])} to {two(fit[2])}" if fit else "FIT was not measured"
    return bar(fit, FIT_BOUND, True, f"{label}; bound {FIT_BOUND:.2f}", _BAR)


def _cells(line: Line) -> dict[str, str]:
    """The figures of a line as text; empty where there is none."""
    fit = line.fit
    rate, strict, scored = (getattr(line.row, name, None) for name in ("citation_rate", "strict_ccs", "n_scored"))
    return {
        "fit": two(fit[0]) if fit else "",
        "interval": f"{two(fit[1])} to {two(fit[2])}" if fit else "",
        "strict": "" if strict is None else two(strict),
        "rate": "" if rate is None else two(rate),
        "scored": "" if scored is None else f"{scored:,}",
        "n": f"{line.row.n:,}",
    }


def run(
    study: StudyFile,
    out: Out,
    results: Results = Path("results/edct"),
    per_condition: Annotated[
        int, typer.Option(min=1, help="At most so many items of each condition, or pairs of each set, in the gallery.")
    ] = 400,
) -> None:
    """Write the report: what was found, what backs it, tables, figures, and every item, on one HTML page."""
    write(read_study_params(study, AskedReport), out, results, per_condition)


def write(
    request: AskedReport, out: Path, results: Path, per_condition: int = 400, progress: Progress | None = None
) -> None:
    """Write the page of what a study's results hold; those of a run at work with its progress; InputError where a
    record file is missing or broken.
    """
    calls, folders = results / "calls/calls.zip", (results / "tables", results / "figures")
    uses(calls)
    shown = request.tables if request.conditions else (PAIRS,)
    sections = list(sections_of("edct", (TABLES, FIGURES), shown, folders, out.parent))
    make = _page if request.conditions else pairs_page
    archive = calls if calls.is_file() else None
    write_text(out, make(request, results, sections, archive, out, per_condition, progress))


def _page(
    request: AskedReport,
    results: Path,
    sections: Sequence[Section],
    calls: Path | None,
    out: Path,
    most: int,
    progress: Progress | None,
) -> str:
    study = Study(results, request.conditions, request.shards)
    rows = {section.name: section.rows for section in sections}
    shown = [line.condition for line in lines(rows, {})]
    evidence = {condition: gather(condition, study) for condition in shown if condition in study.conditions}
    report_lines = lines(rows, evidence)
    shows: dict[int, Sequence[Example]] = {}
    gallery = _gallery(study, out, most, report_lines, shows)
    panel = checks(report_lines, rows.get("instrument", ()))
    cards = [(line, shows.get(number, ())) for number, line in enumerate(report_lines)]
    times = Path(request.edit_times) if request.edit_times else None
    uses(*[times] if times else ())
    edits = cost_lines(study, calls, times, request.usd_per_gpu_hour)
    total = calls_total(calls) if calls else None
    not_used = not_used_of(results / "items", (condition.dataset for condition in request.conditions), request.shards)
    return page(sections, report_lines, panel, cards, gallery, total, edits, progress, not_used)


def _gallery(
    study: Study, out: Path, most: int, shown_lines: Sequence[Line], shows: dict[int, Sequence[Example]]
) -> Gallery:
    """The items of every view; fills in `shows`, the examples by the numbers of the lines."""
    images = Images(out.parent)

    def shown() -> Iterator[tuple[Item, Sequence[Item], int]]:
        for number, view in enumerate(views(study.conditions)):
            rows, others = items_of(view, study, images, most)
            for place, line in enumerate(shown_lines):
                if line.model in view.models and view.condition(line.model, line.condition.judge) == line.condition:
                    shows[place] = [_linked(example, images) for example in examples(line.model, number, rows)]
            yield view.as_json(), rows, others

    return gallery_of(shown(), images, out)


def _linked(example: Example, images: Images) -> Example:
    """The same with links instead of the images' numbers."""
    turns = [{**turn, "img": images.links[turn["img"]]} if "img" in turn else turn for turn in example.cell["t"]]
    item: Item = {**example.item, "img": images.links[example.item["img"]], "cell": {**example.cell, "t": turns}}
    return Example(example.view, item, example.ending, example.share)
