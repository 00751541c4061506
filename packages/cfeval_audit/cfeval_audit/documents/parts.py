"""Paragraphs of the documents: each follows from the facts of a run, or is a marked place.

Those about given pairs (`pairs-2026`) stand below those about trust cards, or alone where a study has given pairs only.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cfeval import __version__
from cfeval.config import Params
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_csv
from cfeval.edct.config import Edct
from cfeval.edct.pairs.table import PairRow
from cfeval.edct.protocols.rules import PAIRS_2026
from cfeval.edct.tables.card import CardRow
from cfeval.edct.tables.faithfulness import FaithfulnessRow
from cfeval.report.digits import percent, two
from cfeval.report.tables import limits as interval_of
from cfeval_audit.bundle.contents import called, licences, revision

_CARD, _FAITHFULNESS, _PAIRS, _CALLS = "edct_card.csv", "edct_faithfulness.csv", "edct_pairs.csv", "calls.zip"
_SHOWN = ("strict_ccs", "citation_rate", "noise_floor")
# The claims of a trust card, by their columns.
CLAIMS = {
    "present": "it cites what is in the image",
    "effect": "what it cites changes its answer",
    "uncited": "what it does not cite leaves its answer",
    "stable": "it answers the same when nothing was changed",
    "looks": "its answer depends on the image",
    "alike": "it answers about edited images as about others",
}
ROLES = {"vlm": "Target model", "writer": "Instruction writer", "editor": "Editor", "judge": "Judge"}
_PAIR_ROLES = (("vlms", "vlm", "Target model"), ("pair_judges", "pair_judge", "Judge of given pairs"))
_COLUMNS = ("phi", "moved", "named_if_moved", "named_if_unmoved", "pair_accuracy", "noise", "sham")
_HEADINGS = ("φ", "moved", "named, answer moved", "named, answer stayed", "both right", "noise", "sham")


@dataclass(frozen=True)
class Facts:
    """What a finished study's parameters and tables hold."""

    params: Params
    study: Edct
    root: str
    cards: Sequence[CardRow]
    rows: Sequence[FaithfulnessRow]
    # Given pairs: a row for each condition, over all kinds of change.
    pairs: Sequence[PairRow]
    # Models outside that were called; see `cfeval_audit.bundle.contents.called`.
    calls: Sequence[dict[str, Any]]
    revision: dict[str, Any]


def load_facts(params: Params, root: str) -> Facts:
    """Load the facts of a finished study from its parameters and tables.

    Raises:
        InputError: it has no edct, its tables are not made, or it has neither trust cards nor given pairs.
    """
    if params.edct is None:
        raise InputError("the study has no edct, which alone these documents are about")
    folder, given = Path(root, "edct"), bool(params.edct.pairs)
    carded = bool(params.edct.tables.conditions("controls")) or not given
    tables = [name for name, wanted in ((_CARD, carded), (_FAITHFULNESS, carded), (_PAIRS, given)) if wanted]
    files = {name: folder / "tables" / name for name in tables} | {_CALLS: folder / "calls" / _CALLS}
    if lost := next((file for file in files.values() if not file.is_file()), None):
        raise InputError(f"{lost}: not made yet; run the study to its end, with controls, first")
    cards = list(read_csv(files[_CARD], CardRow)) if carded else []
    pairs = [row for row in read_csv(files[_PAIRS], PairRow) if not row.kind] if given else []
    if not cards and not pairs:
        raise InputError(f"{files[tables[0]]}: has no row; name conditions in params.yaml, and run the study again")
    rows = list(read_csv(files[_FAITHFULNESS], FaithfulnessRow)) if carded else []
    return Facts(params, params.edct, root, cards, rows, pairs, list(called([str(files[_CALLS])])), revision())


def as_json(options: Any) -> str:
    """Parameters as JSON, the same text for the same content."""
    return json.dumps(options, sort_keys=True, ensure_ascii=False)


# A heading, and what stands below it, paragraph by paragraph.
Part = tuple[str, Callable[[Facts], Iterator[str]]]
# A title, and the parts below it.
Document = tuple[str, tuple[Part, ...]]


def blank(what: str) -> str:
    """A place for what only a person can say."""
    return f"**[TO BE STATED: {what}]**"


def method(facts: Facts) -> Iterator[str]:
    """How the evaluation was made."""
    if facts.cards:
        yield (
            "Explanation-Driven Counterfactual Testing. The model answers a question about an image and explains its "
            "answer. What the explanation cites is changed in the image, and the model is asked again. Controls change "
            "what it does not cite, change nothing, or show a blank image."
        )
        protocols = ", ".join(f"`{name}`" for name in dict.fromkeys(row.protocol for row in facts.cards))
        judges = ", ".join(f"`{name}`" for name in dict.fromkeys(row.judge for row in facts.cards))
        yield f"Protocols: {protocols}. Judges: {judges}. Seed {facts.study.seed}."
    if facts.pairs:
        yield from pair_method(facts)
    commit = facts.revision["revision"]
    code = f"revision {commit}{' with changed files' * bool(facts.revision['changed'])}" if commit else "as installed"
    yield f"Software: cfeval {__version__}, {code}."


def data(facts: Facts) -> Iterator[str]:
    """On which items."""
    terms = licences(facts.params)
    for name in dict.fromkeys(row.dataset for row in facts.cards):
        items = max(row.n for row in facts.cards if row.dataset == name)
        licence = terms.get(f"edct.datasets.{name}", "not known to cfeval")
        yield f"- `{name}`: {items:,} items; reader `{facts.study.datasets[name].plugin}`; licence: {licence}"
    yield from pair_data(facts)
    yield blank("why these data stand for the intended use; who is in them; how they were collected and labeled")


def metrics(facts: Facts) -> Iterator[str]:
    """What the figures are."""
    if facts.cards:
        yield (
            "- FIT: share of items whose explanation cites what is in the image, whose answer changes when that is "
            "changed, and stays when something else is.\n"
            "- Strict CCS: share of items whose answer and explanation follow the edit by the judge; what is cited and "
            "not in the image counts as 0.\n"
            "- Citation rate: share of explanations that cite what is in the image.\n"
            "- Noise floor: share of answers that change though nothing in the image was changed."
        )
    if facts.pairs:
        yield pair_metrics()


def results(facts: Facts) -> Iterator[str]:
    """The figures of each model."""
    if facts.cards:
        faithfulness = {_names(row): row for row in facts.rows}
        lines = ["| model | data | conclusion | FIT | strict CCS | citation rate | noise floor | items with FIT |"]
        lines.append("|---|---|---|---|---|---|---|---|")
        for card in facts.cards:
            row = faithfulness.get(_names(card))
            figures = [_with_interval(card, "fit"), *(_with_interval(row, name) for name in _SHOWN)]
            cells = (card.vlm, card.dataset, card.conclusion, *figures, f"{card.n_fit} of {card.n}")
            lines.append(f"| {' | '.join(map(str, cells))} |")
        yield "\n".join(lines)
        yield from _notes(facts.cards)
    if facts.pairs:
        yield from pair_results(facts)


def _notes(rows: Sequence[CardRow] | Sequence[PairRow]) -> Iterator[str]:
    intervals = "; ".join(dict.fromkeys(row.ci for row in rows if row.ci))
    yield f"Intervals: {intervals}." if intervals else "No interval could be computed."
    if any(row.test_world for row in rows):
        yield "Some of these models are built-in test models, which stand for no real one."


def claims(facts: Facts) -> Iterator[str]:
    """What the trust cards say, and what given pairs support."""
    for card in facts.cards:
        lines = "\n".join(f"- {text}: {getattr(card, f'{name}_says') or 'not tested'}" for name, text in CLAIMS.items())
        yield f"{card.vlm} on {card.dataset}, by {card.judge}: **{card.conclusion}**, because: {card.why}.\n\n{lines}"
    if facts.pairs:
        yield from pair_claims(facts)


def limits(facts: Facts) -> Iterator[str]:
    """What was not checked or is missing, and what does not follow."""
    for card in facts.cards:
        checked = "no edit" if card.edits_checked is None else f"{percent(card.edits_checked)} of the edits"
        missing = f"; without a score: {card.missing}" if card.missing else ""
        yield f"- {card.vlm} on {card.dataset}: {checked} checked by a verifier{missing}"
    if facts.pairs:
        yield from pair_limits(facts)
    yield (
        "A high figure says that answers follow what explanations cite, on these items and under these edits. It does "
        "not say that the answers are right, that the explanations are complete, or how the model behaves on other "
        "data."
    )


def calls(facts: Facts) -> Iterator[str]:
    """Models outside as they named themselves."""
    if not facts.calls:
        yield "No model outside was called: everything ran on the machine of the study."
        return
    lines = ["| asked for | at | answered as | calls |", "|---|---|---|---|"]
    for call in facts.calls:
        lines.append(f"| {call['model']} | {call['host']} | {call['reported'] or 'not said'} | {call['calls']:,} |")
    yield "\n".join(lines)


def tests(facts: Facts) -> Iterator[str]:
    """Where the evidence is."""
    yield (
        f"Requests, replies, images, verdicts and tables of the run lie in `{facts.root}/edct/`; `cfeval audit build` "
        "makes one archive of them, `cfeval audit sign` signs it, and `cfeval verify` checks it offline."
    )
    yield blank("date, name and signature of the responsible persons")


def settings(facts: Facts) -> Iterator[str]:
    """Who took part, with the options that the parameters give each."""
    sections = (("vlms", "vlm"), ("instruction_writers", "writer"), ("editors", "editor"), ("judges", "judge"))
    for section, field in sections:
        for name in dict.fromkeys(getattr(row, field) for row in facts.cards):
            options = as_json(getattr(facts.study, section)[name].plugin_options())
            yield f"- {ROLES[field]} `{name}`: `{options}`"
    if facts.pairs:
        yield from pair_settings(facts)
    own = f"those of the folder `{facts.study.prompts}`" if facts.study.prompts else "those that come with cfeval"
    controls = f" Controls are made of one item in so many: {as_json(facts.study.one_item_in)}." if facts.cards else ""
    yield f"Prompts: {own}.{controls}"


def repeated(facts: Facts) -> dict[str, str]:
    """The models of the study that repeat another one, which they name."""
    vlms = {condition.vlm for condition in facts.study.conditions()}
    vlms |= {condition.vlm for condition in facts.study.pair_conditions()}
    return {name: base for name, base in facts.study.repeats().items() if {name, base} <= vlms}


def repeats(facts: Facts) -> Iterator[str]:
    """Whether what varies from run to run was measured."""
    if bases := repeated(facts):
        pairs = ", ".join(f"`{name}` repeats `{base}`" for name, base in sorted(bases.items()))
        yield f"Repeated runs: {pairs}."
        return
    yield "No model was run again under the same settings: the intervals are over items, not over runs."


def exams(facts: Facts) -> Iterator[str]:
    """Whether the error of the judges was measured."""
    for judge in dict.fromkeys(row.judge for row in facts.cards):
        file = facts.study.exams.get(judge)
        yield f"- Judge `{judge}`: {f'its exam is `{file}`' if file else 'no exam of it is named in the parameters'}"
    yield from pair_judges(facts)


def joined(*parts: Callable[[Facts], Iterator[str]]) -> Callable[[Facts], Iterator[str]]:
    """Several paragraphs below one heading."""

    def part(facts: Facts) -> Iterator[str]:
        for paragraphs in parts:
            yield from paragraphs(facts)

    return part


def to_state(*what: str) -> Callable[[Facts], Iterator[str]]:
    """Places for what only a person can say."""

    def part(facts: Facts) -> Iterator[str]:
        del facts
        yield from map(blank, what)

    return part


def _names(row: CardRow | FaithfulnessRow) -> tuple[str, ...]:
    return row.dataset, row.vlm, row.writer, row.protocol, row.editor, row.judge


def _with_interval(row: CardRow | FaithfulnessRow | PairRow | None, name: str) -> str:
    value, low, high = (getattr(row, f"{name}{end}", None) for end in ("", "_lo", "_hi"))
    if value is None:
        return ""
    return two(value) if low is None or high is None else f"{two(value)} [{two(low)}, {two(high)}]"


def pair_method(facts: Facts) -> Iterator[str]:
    """How given pairs were evaluated."""
    yield (
        f"Given pairs (protocol `{PAIRS_2026}`). The model answers the same question about two images that differ in "
        "one thing, in separate conversations, and explains each answer. A judge that sees neither the images nor the "
        "answers says whether an explanation names what was changed. Of half of the pairs, drawn by a hash, the "
        "changed image comes first. The changes were chosen without a look at the explanations."
    )
    judges = ", ".join(f"`{name}`" for name in dict.fromkeys(row.pair_judge for row in facts.pairs))
    yield f"Judges of given pairs: {judges}. Seed {facts.study.seed}."


def pair_data(facts: Facts) -> Iterator[str]:
    """On which pairs."""
    terms = licences(facts.params)
    for name, pairs in pair_sizes(facts).items():
        licence = terms.get(f"edct.pair_sets.{name}", "not known to cfeval")
        yield f"- `{name}`: {pairs:,} pairs; reader `{facts.study.pair_sets[name].plugin}`; licence: {licence}"


def pair_metrics() -> str:
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


def pair_results(facts: Facts) -> Iterator[str]:
    """The figures of each model."""
    lines = [f"| model | pairs | {' | '.join(_HEADINGS)} | scored |", f"|---|---|{'---|' * (len(_HEADINGS) + 1)}"]
    for row in facts.pairs:
        figures = " | ".join(_with_interval(row, name) for name in _COLUMNS)
        lines.append(f"| {row.vlm} | {row.pair_set} | {figures} | {row.n_scored:,} of {row.n:,} |")
    yield "\n".join(lines)
    yield from _notes(facts.pairs)


def pair_claims(facts: Facts) -> Iterator[str]:
    """What φ supports, model by model; no trust card follows from it."""
    for row in facts.pairs:
        yield f"- {row.vlm} on {row.pair_set}, by {row.pair_judge}: {_claim(row)}"
    yield (
        "No trust card and no conclusion follows from given pairs: what an explanation cites was not edited, and "
        "nothing shows that it names all that matters."
    )


def _claim(row: PairRow) -> str:
    if row.natural:
        return "natural pairs, which tell of answers alone"
    low, _ = interval_of(row, "phi")
    if row.phi is None or low is None:
        return "nothing can be said of its explanations, since its answer, or what it names, never varies"
    shown = "it is shown" if low > 0 else "it is not shown"
    phi = f"φ {_with_interval(row, 'phi')}"
    return f"{shown} that its explanations name what moves the answer more often than other changes ({phi})"


def pair_limits(facts: Facts) -> Iterator[str]:
    """What is missing, and what does not follow."""
    for row in facts.pairs:
        missing = f"; without a score: {row.missing}" if row.missing else ""
        outside = "" if row.outside is None else f"; {percent(row.outside)} of changed pixels outside the region given"
        yield f"- {row.vlm} on {row.pair_set}: {row.n_scored:,} of {row.n:,} pairs scored{missing}{outside}"
    yield (
        "An answer may have moved by something else in which the two images differ. What else an explanation should "
        "have named was not tested."
    )


def pair_settings(facts: Facts) -> Iterator[str]:
    """Who took part, with the options that the parameters give each."""
    listed = {row.vlm for row in facts.cards}
    for section, field, role in _PAIR_ROLES:
        for name in dict.fromkeys(str(getattr(row, field)) for row in facts.pairs):
            if section != "vlms" or name not in listed:
                yield f"- {role} `{name}`: `{as_json(getattr(facts.study, section)[name].plugin_options())}`"
    yield f"Of one pair in {facts.study.again}, on average, an image is asked about again."


def pair_judges(facts: Facts) -> Iterator[str]:
    """What the sham says of the judges of pairs."""
    for row in facts.pairs:
        if row.sham is not None:
            yield (
                f"- Judge `{row.pair_judge}` on {row.vlm} and {row.pair_set}: what was changed in another pair is said "
                f"to be named in {percent(row.sham)} of pairs"
            )


def pair_sizes(facts: Facts) -> dict[str, int]:
    """How many pairs each set has."""
    return {row.pair_set: row.n for row in sorted(facts.pairs, key=lambda row: row.n)}
