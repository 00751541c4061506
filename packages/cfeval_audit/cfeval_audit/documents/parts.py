"""Paragraphs of the documents: each follows from the run, or is a marked place."""

from collections.abc import Callable, Iterator

from cfeval import __version__
from cfeval.edct.tables.card import CardRow
from cfeval.edct.tables.faithfulness import FaithfulnessRow
from cfeval.report.digits import percent, two
from cfeval_audit.bundle.contents import licences
from cfeval_audit.documents import pairs
from cfeval_audit.documents.facts import Facts, as_json

CLAIMS = {
    "present": "it cites what is in the image",
    "effect": "what it cites changes its answer",
    "uncited": "what it does not cite leaves its answer",
    "stable": "it answers the same when nothing was changed",
    "looks": "its answer depends on the image",
    "alike": "it answers about edited images as about others",
}
"""The claims of a trust card, by their columns."""
ROLES = {"vlm": "Target model", "writer": "Instruction writer", "editor": "Editor", "judge": "Judge"}
Part = tuple[str, Callable[[Facts], Iterator[str]]]
"""A heading, and what stands below it, paragraph by paragraph."""
Document = tuple[str, tuple[Part, ...]]
"""A title, and the parts below it."""


def blank(what: str) -> str:
    """A place for what only a person can say."""
    return f"**[TO BE STATED: {what}]**"


def method(of: Facts) -> Iterator[str]:
    """How the evaluation was made."""
    if of.cards:
        yield (
            "Explanation-Driven Counterfactual Testing. The model answers a question about an image and explains its "
            "answer. What the explanation cites is changed in the image, and the model is asked again. Controls change "
            "what it does not cite, change nothing, or show a blank image."
        )
        protocols = ", ".join(f"`{name}`" for name in dict.fromkeys(row.protocol for row in of.cards))
        judges = ", ".join(f"`{name}`" for name in dict.fromkeys(row.judge for row in of.cards))
        yield f"Protocols: {protocols}. Judges: {judges}. Seed {of.study.seed}."
    if of.pairs:
        yield from pairs.method(of)
    commit = of.revision["revision"]
    code = f"revision {commit}{' with changed files' * bool(of.revision['changed'])}" if commit else "as installed"
    yield f"Software: cfeval {__version__}, {code}."


def data(of: Facts) -> Iterator[str]:
    """On which items."""
    terms = licences(of.params)
    for name in dict.fromkeys(row.dataset for row in of.cards):
        items = max(row.n for row in of.cards if row.dataset == name)
        licence = terms.get(f"edct.datasets.{name}", "not known to cfeval")
        yield f"- `{name}`: {items:,} items; reader `{of.study.datasets[name].plugin}`; licence: {licence}"
    yield from pairs.data(of)
    yield blank("why these data stand for the intended use; who is in them; how they were collected and labeled")


def metrics(of: Facts) -> Iterator[str]:
    """What the figures are."""
    if of.cards:
        yield (
            "- FIT: share of items whose explanation cites what is in the image, whose answer changes when that is "
            "changed, and stays when something else is.\n"
            "- Strict CCS: share of items whose answer and explanation follow the edit by the judge; what is cited and "
            "not in the image counts as 0.\n"
            "- Citation rate: share of explanations that cite what is in the image.\n"
            "- Noise floor: share of answers that change though nothing in the image was changed."
        )
    if of.pairs:
        yield pairs.metrics()


def results(of: Facts) -> Iterator[str]:
    """The figures of each model."""
    if of.cards:
        yield from _results_of_cards(of)
    if of.pairs:
        yield from pairs.results(of)


def _results_of_cards(of: Facts) -> Iterator[str]:
    known = {_names(row): row for row in of.rows}
    lines = ["| model | data | conclusion | FIT | strict CCS | citation rate | noise floor | items with FIT |"]
    lines.append("|---|---|---|---|---|---|---|---|")
    for card in of.cards:
        row = known.get(_names(card))
        figures = [_with_interval(card, "fit"), *(_with_interval(row, name) for name in _SHOWN)]
        lines.append(
            f"| {card.vlm} | {card.dataset} | {card.conclusion} | {' | '.join(figures)} | {card.n_fit} of {card.n} |"
        )
    yield "\n".join(lines)
    intervals = "; ".join(dict.fromkeys(card.ci for card in of.cards if card.ci))
    yield f"Intervals: {intervals}." if intervals else "No interval could be computed."
    if any(card.test_world for card in of.cards):
        yield "Some of these models are built-in test models, which stand for no real one."


_SHOWN = ("strict_ccs", "citation_rate", "noise_floor")


def claims(of: Facts) -> Iterator[str]:
    """What the trust cards say, and what given pairs support."""
    for card in of.cards:
        said = "\n".join(f"- {text}: {getattr(card, f'{name}_says') or 'not tested'}" for name, text in CLAIMS.items())
        yield f"{card.vlm} on {card.dataset}, by {card.judge}: **{card.conclusion}**, because: {card.why}.\n\n{said}"
    if of.pairs:
        yield from pairs.claims(of)


def limits(of: Facts) -> Iterator[str]:
    """What was not checked or is missing, and what does not follow."""
    for card in of.cards:
        checked = "no edit" if card.edits_checked is None else f"{percent(card.edits_checked)} of the edits"
        missing = f"; without a score: {card.missing}" if card.missing else ""
        yield f"- {card.vlm} on {card.dataset}: {checked} checked by a verifier{missing}"
    if of.pairs:
        yield from pairs.limits(of)
    yield (
        "A high figure says that answers follow what explanations cite, on these items and under these edits. It does "
        "not say that the answers are right, that the explanations are complete, or how the model behaves on other "
        "data."
    )


def calls(of: Facts) -> Iterator[str]:
    """Models outside as they named themselves."""
    if not of.calls:
        yield "No model outside was called: everything ran on the machine of the study."
        return
    lines = ["| asked for | at | answered as | calls |", "|---|---|---|---|"]
    lines += [
        f"| {one['model']} | {one['host']} | {one['reported'] or 'not said'} | {one['calls']:,} |" for one in of.calls
    ]
    yield "\n".join(lines)


def tests(of: Facts) -> Iterator[str]:
    """Where the evidence is."""
    yield (
        f"Requests, replies, images, verdicts and tables of the run lie in `{of.root}/edct/`; `cfeval audit build` "
        "makes one archive of them, `cfeval audit sign` signs it, and `cfeval verify` checks it offline."
    )
    yield blank("date, name and signature of the responsible persons")


def settings(of: Facts) -> Iterator[str]:
    """Who took part, with the options that the parameters give each."""
    sections = (("vlms", "vlm"), ("instruction_writers", "writer"), ("editors", "editor"), ("judges", "judge"))
    for section, field in sections:
        for name in dict.fromkeys(getattr(row, field) for row in of.cards):
            options = as_json(getattr(of.study, section)[name].plugin_options())
            yield f"- {ROLES[field]} `{name}`: `{options}`"
    if of.pairs:
        yield from pairs.settings(of)
    own = f"those of the folder `{of.study.prompts}`" if of.study.prompts else "those that come with cfeval"
    controls = f" Controls are made of one item in so many: {as_json(of.study.one_item_in)}." if of.cards else ""
    yield f"Prompts: {own}.{controls}"


def repeated(of: Facts) -> dict[str, str]:
    """The models of the study that repeat another one, which they name."""
    asked = {one.vlm for one in of.study.conditions()} | {one.vlm for one in of.study.pair_conditions()}
    return {name: base for name, base in of.study.repeats().items() if {name, base} <= asked}


def repeats(of: Facts) -> Iterator[str]:
    """Whether what varies from run to run was measured."""
    if found := repeated(of):
        told = ", ".join(f"`{name}` repeats `{base}`" for name, base in sorted(found.items()))
        yield f"Repeated runs: {told}."
        return
    yield "No model was run again under the same settings: the intervals are over items, not over runs."


def exams(of: Facts) -> Iterator[str]:
    """Whether the error of the judges was measured."""
    for judge in dict.fromkeys(row.judge for row in of.cards):
        file = of.study.exams.get(judge)
        yield f"- Judge `{judge}`: {f'its exam is `{file}`' if file else 'no exam of it is named in the parameters'}"
    yield from pairs.judged(of)


def joined(*parts: Callable[[Facts], Iterator[str]]) -> Callable[[Facts], Iterator[str]]:
    """Several paragraphs below one heading."""

    def part(of: Facts) -> Iterator[str]:
        for one in parts:
            yield from one(of)

    return part


def said(*what: str) -> Callable[[Facts], Iterator[str]]:
    """Places for what only a person can say."""

    def part(of: Facts) -> Iterator[str]:
        del of
        yield from map(blank, what)

    return part


def _names(row: CardRow | FaithfulnessRow) -> tuple[str, ...]:
    return row.dataset, row.vlm, row.writer, row.protocol, row.editor, row.judge


def _with_interval(row: CardRow | FaithfulnessRow | None, name: str) -> str:
    value, low, high = (getattr(row, f"{name}{end}", None) for end in ("", "_lo", "_hi"))
    if value is None:
        return ""
    return two(value) if low is None or high is None else f"{two(value)} [{two(low)}, {two(high)}]"
