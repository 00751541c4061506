"""The report of a study that has given pairs alone: phi of every target, the table and its figure, and every pair.

One static HTML page without external resources, which works from the file system. A study that also has edits has the
page of `cfeval.edct.report.page`, with the table of given pairs among its tables.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path

from markupsafe import Markup, escape

from cfeval.core.images import folder_of
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import ImageRef
from cfeval.datasets.pair import pair_of
from cfeval.datasets.sample import Sample
from cfeval.edct.asked import AskedReport
from cfeval.edct.pairs.records import (
    PairBaseline,
    PairCondition,
    PairVerdict,
    baseline_files,
    item_files,
    verdict_files,
)
from cfeval.edct.pairs.table import NAMES, PairRow
from cfeval.inference.remote.archive import calls_total
from cfeval.report.bars import Estimated, interval_bar
from cfeval.report.digits import percent, two
from cfeval.report.gallery import Item, gallery_of
from cfeval.report.html import Images
from cfeval.report.page import Progress, Row, Section, not_used_of, page_of
from cfeval.report.tables import limits, varying

# How a pair ends for a target: in two words, in a sentence, and its sign.
ENDINGS: Mapping[str, tuple[str, str, str]] = {
    "moved-named": ("moved, named", "The answer moved, and an explanation names the changed thing", "fits"),
    "moved-unnamed": ("moved, not named", "The answer moved, and no explanation names the changed thing", "also"),
    "stayed-named": ("stayed, named", "The answer stayed, and an explanation names the changed thing", "changed"),
    "stayed-unnamed": ("stayed, not named", "The answer stayed, and no explanation names the changed thing", "stayed"),
    "moved": ("moved", "Natural pair: the answers differ; what moved them is not told", "one"),
    "stayed": ("stayed", "Natural pair: the answers are the same", "zero"),
    "missing": ("no score", "A conversation or a ruling is missing", "missing"),
}


@dataclass(frozen=True)
class PairView:
    """What one gallery shows: a set of pairs and a judge, and which targets in which order."""

    pair_set: str
    judge: str
    models: tuple[str, ...]

    def condition(self, model: str) -> PairCondition:
        """The condition of a target."""
        return PairCondition(pair_set=self.pair_set, vlm=model, pair_judge=self.judge)

    def as_json(self) -> Item:
        """What the page's script knows of it."""
        return {"title": f"{self.pair_set} · {self.judge}", "models": self.models, "judges": [self.judge]}


def pair_views(conditions: Sequence[PairCondition]) -> list[PairView]:
    """The views of some conditions, in their order."""
    by_view: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for condition in conditions:
        by_view[condition.pair_set, condition.pair_judge][condition.vlm] = None
    return [PairView(*names, tuple(models)) for names, models in by_view.items()]


def pair_items(view: PairView, results: Path, shards: int, images: Images, most: int) -> tuple[list[Item], int]:
    """The rows of a view, the first `most` pairs by their ids; and how many more there are; InputError where a record
    file is missing or broken.
    """
    samples: dict[str, dict[str, tuple[Sample, Path]]] = defaultdict(dict)
    for file in item_files(results, view.pair_set, shards):
        for sample in read_jsonl(file, Sample):
            pair = pair_of(sample)
            samples[pair.pair][pair.side] = sample, folder_of(file)
    ids = nsmallest(most, samples)
    cells = {model: _cells(view.condition(model), results, shards, set(ids)) for model in view.models}
    return [_gallery_row(name, samples[name], cells, images) for name in ids], len(samples) - len(ids)


def _gallery_row(
    name: str, sides: Mapping[str, tuple[Sample, Path]], cells: Mapping[str, Mapping[str, Item]], images: Images
) -> Item:
    (first, folder), (second, beside) = sides["before"], sides["after"]
    pair = pair_of(first)

    def image(place: Path, ref: ImageRef) -> dict[str, object]:
        return {"img": images.number(place, ref), "sha": ref.sha256}

    return {
        "id": name,
        "q": first.question,
        "kind": pair.kind,
        "ref": " / ".join(baseline.reference for baseline in (first, second) if baseline.reference),
        "what": " → ".join(thing or "(not there)" for thing in (pair.before, pair.after)),
        "checked": pair.verified,
        "after": image(beside, second.image),
        "m": {model: cells_of_item[name] for model, cells_of_item in cells.items() if name in cells_of_item},
        **image(folder, first.image),
    }


def _cells(condition: PairCondition, results: Path, shards: int, ids: set[str]) -> dict[str, Item]:
    baselines: dict[str, PairBaseline] = {}
    for file in baseline_files(results, condition, shards):
        baselines.update((record.id, record) for record in read_jsonl(file, PairBaseline))
    cells: dict[str, Item] = {}
    for file in verdict_files(results, condition, shards):
        for verdict in read_jsonl(file, PairVerdict):
            if verdict.id in ids:
                first, second = (baselines[f"{verdict.id}.{side}"] for side in ("before", "after"))
                cell: Item = {"o": _ending(verdict), "kind": verdict.kind, "a0": first.answer, "e0": first.explanation}
                cell |= {"a1": second.answer, "e1": second.explanation}
                cell |= {"n0": verdict.named_before, "n1": verdict.named_after}
                cell |= {"r0": verdict.correct_before, "r1": verdict.correct_after}
                cell |= {"why": verdict.reason or verdict.completion}
                cells[verdict.id] = {name: value for name, value in cell.items() if value not in ("", None)}
    return cells


def _ending(verdict: PairVerdict) -> str:
    if verdict.moved is None or (verdict.named is None and not verdict.natural):
        return "missing"
    moved = "moved" if verdict.moved else "stayed"
    return moved if verdict.natural else f"{moved}-{'named' if verdict.named else 'unnamed'}"


_BAR = 220.0
_TITLE = "Does the explanation name what moved the answer?"
_CAPTION = (
    "φ: correlation of two facts about a pair, that the answer moved and that an explanation names the changed thing, "
    "with its 95 % interval on the line from −1 to 1. 1: what moves answers is named and nothing else is; 0: what is "
    "named has nothing to do with it. There is no φ where one of the two never varies. Named: the share of pairs, "
    "where the answer moved and where it stayed. The change was given, so this is another estimand than CCS."
)
_HEADINGS = (
    ("", "Model"),
    ("fitcol", "φ, 95 % interval"),
    ("num", "Moved"),
    ("num", "Named, moved"),
    ("num", "Named, stayed"),
    ("num", "Noise"),
    ("num", "Sham"),
    ("num", "Scored"),
)
_READING = (
    ("Moved", "The answers to both images differ in substance."),
    ("Named", "Either explanation names the changed thing, as it is in either image, as a reason."),
    ("Noise", "Answers that moved though the image was only encoded again: what moves without a change."),
    ("Sham", "Pairs of which either explanation is said to name what was changed in another pair."),
    ("Scored", "A pair whose conversation or ruling failed is missing, never a 0; the table has the bounds."),
    ("Not measured", "What else the two images differ in, and whether a public pair was in the training data."),
)


def pairs_page(
    request: AskedReport,
    results: Path,
    sections: Sequence[Section],
    calls: Path | None,
    out: Path,
    most: int,
    progress: Progress | None,
) -> str:
    """The page of given pairs alone: phi of every target, table, figure and every pair.

    Args:
        calls: the archive of the calls, for what they cost.
        most: at most so many pairs of each set in the gallery.
        progress: how far the run is; None where it has ended.
    """
    rows = [row for section in sections for row in section.rows if not row.kind]
    images, views = Images(out.parent), pair_views(request.pairs)
    shown = [(view.as_json(), *pair_items(view, results, request.shards, images, most)) for view in views]
    total = calls_total(calls) if calls else None
    models, sizes = len({row.vlm for row in rows}), {row.pair_set: row.n for row in rows}
    parts = ["Given pairs (pairs-2026)", f"{models:,} model{'s' * (models != 1)}"]
    parts += [f"{name}: {n:,} pairs" for name, n in sizes.items()]
    tested = ", ".join(dict.fromkeys(row.vlm for row in rows if row.test_world))
    return page_of(
        "study.html.j2",
        "pairs.js",
        _TITLE,
        sections,
        gallery_of(shown, images, out),
        ENDINGS,
        progress,
        not_used_of(results / "pair_items", (pair.pair_set for pair in request.pairs), request.shards),
        kicker=" · ".join(part for part in (*parts, *((total.text, total.when) if total else ())) if part),
        finding=finding(rows),
        caveat=f"{tested}: built-in test models, which stand for no real model." if tested else "",
        caption=_CAPTION,
        headings=_HEADINGS,
        rows=[_row(row, [name for name in varying(rows, NAMES) if name != "vlm"]) for row in rows],
        about_items="A row is one pair and its question with every model beside it. Open one to compare the images "
        "and to read answers, explanations and rulings.",
        reading=_READING,
    )


def finding(rows: Sequence[PairRow]) -> Markup:
    """What was found, made from the rows: of which targets phi is above 0 with its whole interval, and of which not."""
    measured = [row for row in rows if _estimate(row) is not None]
    above = [row for row in measured if (limits(row, "phi")[0] or 0) > 0]
    rest = [row for row in measured if row not in above]
    without = [row for row in rows if row not in measured and not row.natural]
    natural = [row for row in rows if row.natural]
    sentences = []
    if above:
        sentences.append(
            Markup("Explanations name what moves the answer more often than other changes: {}.").format(_each(above))
        )
    if rest:
        sentences.append(Markup("That is not shown of {}.").format(_each(rest)))
    if without:
        sentences.append(
            Markup("Nothing can be told of {}: its answer, or what it names, never varies.").format(_each(without))
        )
    if natural:
        texts = (
            Markup("<b>{}</b> right about both images of {}").format(
                row.vlm, "no known pair" if row.pair_accuracy is None else percent(row.pair_accuracy)
            )
            for row in natural
        )
        sentences.append(
            Markup("Natural pairs tell of answers only: {}.").format(Markup(", ").join(dict.fromkeys(texts)))
        )
    return Markup(" ").join(sentences) or Markup("No pair has an outcome.")


def _each(rows: Iterable[PairRow]) -> Markup:
    """Names with phi: `grounded (φ 0.99, 0.98 to 1.00)`."""
    names = []
    for row in rows:
        estimate = _estimate(row)
        figures = f" (φ {two(estimate[0])}, {_interval(estimate)})" if estimate else ""
        names.append(Markup("<b>{}</b>").format(row.vlm) + escape(figures))
    return Markup(", ").join(dict.fromkeys(names))


def _estimate(row: PairRow) -> Estimated | None:
    low, high = limits(row, "phi")
    return None if row.phi is None or low is None or high is None else (row.phi, low, high)


def _interval(estimate: Estimated) -> str:
    return f"{two(estimate[1])} to {two(estimate[2])}"


def _row(row: PairRow, names: Sequence[str]) -> Row:
    estimate = _estimate(row)
    label = f"φ of {row.vlm}: {f'{two(estimate[0])}, {_interval(estimate)}' if estimate else 'none'}"
    shares = (row.moved, row.named_if_moved, row.named_if_unmoved, row.noise, row.sham)
    cells = [*("none" if share is None else percent(share) for share in shares), f"{row.n_scored:,} of {row.n:,}"]
    return Row(
        name=row.vlm,
        among=", ".join(str(getattr(row, name)) for name in names),
        bar=interval_bar(estimate, 0.0, None, label, _BAR, (-1.0, 1.0)),
        value=two(estimate[0]) if estimate else "",
        interval=_interval(estimate) if estimate else "",
        cells=tuple(zip((heading for _, heading in _HEADINGS[2:]), cells, strict=True)),
    )
