"""Paragraphs of the documents about given pairs (`pairs-2026`): each follows from the run, or is a marked place.

They stand below those about trust cards, or alone where a study has given pairs alone.
"""

from collections.abc import Iterator

from cfeval.edct.pairs.table import PairRow
from cfeval.edct.protocols.rules import PAIRS_2026
from cfeval.report.digits import percent, two
from cfeval.report.tables import limits as ends
from cfeval_audit.bundle.about import licences
from cfeval_audit.documents.facts import Facts, as_json

ROLES = (("vlms", "vlm", "Target model"), ("pair_judges", "pair_judge", "Judge of given pairs"))
_COLUMNS = ("phi", "moved", "named_if_moved", "named_if_unmoved", "pair_accuracy", "noise", "sham")
_HEADINGS = ("φ", "moved", "named, answer moved", "named, answer stayed", "both right", "noise", "sham")


def method(of: Facts) -> Iterator[str]:
    """How given pairs were evaluated."""
    yield (
        f"Given pairs (protocol `{PAIRS_2026}`). The model answers the same question about two images that differ in "
        "one thing, in separate conversations, and explains each answer. A judge that sees neither the images nor the "
        "answers says whether an explanation names what was changed. Of half of the pairs, drawn by a hash, the "
        "changed image comes first. The changes were chosen without a look at the explanations."
    )
    judges = ", ".join(f"`{name}`" for name in dict.fromkeys(row.pair_judge for row in of.pairs))
    yield f"Judges of given pairs: {judges}. Seed {of.study.seed}."


def data(of: Facts) -> Iterator[str]:
    """On which pairs."""
    terms = licences(of.params)
    for name, pairs in sizes(of).items():
        licence = terms.get(f"edct.pair_sets.{name}", "not known to cfeval")
        yield f"- `{name}`: {pairs:,} pairs; reader `{of.study.pair_sets[name].plugin}`; licence: {licence}"


def metrics() -> str:
    """What the figures are."""
    return (
        "- φ: correlation, over pairs, of two facts: the answers to both images differ, and either explanation names "
        "what was changed. 1: what moves answers is named and nothing else is; 0: what is named has nothing to do with "
        "it.\n"
        "- Moved: share of pairs whose answers differ in substance. Named: share of pairs of which either explanation "
        "names what was changed.\n"
        "- Both right: share of pairs with right answers to both images.\n"
        "- Noise: share of answers that moved though the image was only encoded again.\n"
        "- Sham: share of pairs of which either explanation is said to name what was changed in another pair."
    )


def results(of: Facts) -> Iterator[str]:
    """The figures of each model."""
    lines = [f"| model | pairs | {' | '.join(_HEADINGS)} | scored |", f"|---|---|{'---|' * (len(_HEADINGS) + 1)}"]
    for row in of.pairs:
        figures = " | ".join(_with_interval(row, name) for name in _COLUMNS)
        lines.append(f"| {row.vlm} | {row.pair_set} | {figures} | {row.n_scored:,} of {row.n:,} |")
    yield "\n".join(lines)
    intervals = "; ".join(dict.fromkeys(row.ci for row in of.pairs if row.ci))
    yield f"Intervals: {intervals}." if intervals else "No interval could be computed."
    if any(row.test_world for row in of.pairs):
        yield "Some of these models are built-in test models, which stand for no real one."


def claims(of: Facts) -> Iterator[str]:
    """What φ supports, model by model; no trust card follows from it."""
    for row in of.pairs:
        yield f"- {row.vlm} on {row.pair_set}, by {row.pair_judge}: {_claim(row)}"
    yield (
        "No trust card and no conclusion follows from given pairs: what an explanation cites was not edited, and "
        "nothing shows that it names all that matters."
    )


def _claim(row: PairRow) -> str:
    if row.natural:
        return "natural pairs, which tell of answers alone"
    low, _ = ends(row, "phi")
    if row.phi is None or low is None:
        return "nothing can be said of its explanations, since its answer, or what it names, never varies"
    shown = "it is shown" if low > 0 else "it is not shown"
    return f"{shown} that its explanations name what moves the answer more often than other changes ({_estimate(row)})"


def _estimate(row: PairRow) -> str:
    return f"φ {_with_interval(row, 'phi')}"


def limits(of: Facts) -> Iterator[str]:
    """What is missing, and what does not follow."""
    for row in of.pairs:
        missing = f"; without a score: {row.missing}" if row.missing else ""
        outside = "" if row.outside is None else f"; {percent(row.outside)} of changed pixels outside the region given"
        yield f"- {row.vlm} on {row.pair_set}: {row.n_scored:,} of {row.n:,} pairs scored{missing}{outside}"
    yield (
        "An answer may have moved by something else in which the two images differ. What else an explanation should "
        "have named was not tested."
    )


def settings(of: Facts) -> Iterator[str]:
    """Who took part, with the options that the parameters give each."""
    told = {row.vlm for row in of.cards}
    for section, field, role in ROLES:
        for name in dict.fromkeys(str(getattr(row, field)) for row in of.pairs):
            if section != "vlms" or name not in told:
                yield f"- {role} `{name}`: `{as_json(getattr(of.study, section)[name].plugin_options())}`"
    yield f"Of one pair in {of.study.again}, on average, an image is asked about again."


def judged(of: Facts) -> Iterator[str]:
    """What the sham says of the judges of pairs."""
    for row in of.pairs:
        if row.sham is not None:
            yield (
                f"- Judge `{row.pair_judge}` on {row.vlm} and {row.pair_set}: what was changed in another pair is said "
                f"to be named in {percent(row.sham)} of pairs"
            )


def sizes(of: Facts) -> dict[str, int]:
    """How many pairs each set has."""
    return {row.pair_set: row.n for row in sorted(of.pairs, key=lambda row: row.n)}


def _with_interval(row: PairRow, name: str) -> str:
    value, (low, high) = getattr(row, name), ends(row, name)
    if value is None:
        return ""
    return two(value) if low is None or high is None else f"{two(value)} [{two(low)}, {two(high)}]"
