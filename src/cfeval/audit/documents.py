"""`cfeval audit documents`: what regulators and registries ask about an evaluation, filled in as far as a run knows it.

Every line is a figure of the run, a definition of it, or a place marked `[TO BE STATED: …]` for what only a person can
say. Nothing here says that a law or a standard is met. Sources: Regulation (EU) 2024/1689, Annex IV point 2 (g), Annex
XI Section 2 point 1, Article 13 (3) (b); model cards after Mitchell et al. 2019.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval import __version__
from cfeval.audit.bundle.about import called, licences, revision
from cfeval.audit.bundle.cli import sound
from cfeval.audit.plan import Name, Overlays, whole
from cfeval.config import Params
from cfeval.core.errors import InputError
from cfeval.core.files import ensure_writable, write_text
from cfeval.core.jsonl import read_csv
from cfeval.edct.config import Edct
from cfeval.edct.tables.faithfulness import CardRow, FaithfulnessRow
from cfeval.report.digits import percent, two

CLAIMS = {
    "present": "it cites what is in the image",
    "effect": "what it cites changes its answer",
    "uncited": "what it does not cite leaves its answer",
    "stable": "it answers the same when nothing was changed",
    "looks": "its answer depends on the image",
}
"""The claims of a trust card, by their columns."""
_CARD, _FAITHFULNESS = "edct_card.csv", "edct_faithfulness.csv"


@dataclass(frozen=True)
class Facts:
    """What a finished study says of itself."""

    params: Params
    study: Edct
    root: str
    cards: Sequence[CardRow]
    rows: Sequence[FaithfulnessRow]
    calls: Sequence[dict[str, Any]]
    """Models outside that were called; see `cfeval.audit.bundle.about.called`."""
    revision: dict[str, Any]


Part = tuple[str, Callable[[Facts], Iterator[str]]]
"""A heading, and what stands below it, paragraph by paragraph."""


def blank(what: str) -> str:
    """A place for what only a person can say."""
    return f"**[TO BE STATED: {what}]**"


def _method(of: Facts) -> Iterator[str]:
    yield (
        "Explanation-Driven Counterfactual Testing. The model answers a question about an image and explains its "
        "answer. What the explanation cites is changed in the image, and the model is asked again. Controls change "
        "what it does not cite, change nothing, or show a blank image."
    )
    protocols = ", ".join(f"`{name}`" for name in dict.fromkeys(row.protocol for row in of.cards))
    judges = ", ".join(f"`{name}`" for name in dict.fromkeys(row.judge for row in of.cards))
    yield f"Protocols: {protocols}. Judges: {judges}. Seed {of.study.seed}."
    commit = of.revision["revision"]
    code = f"revision {commit}{' with changed files' * bool(of.revision['changed'])}" if commit else "as installed"
    yield f"Software: cfeval {__version__}, {code}."


def _data(of: Facts) -> Iterator[str]:
    terms = licences(of.params)
    for name in dict.fromkeys(row.dataset for row in of.cards):
        items = max(row.n for row in of.cards if row.dataset == name)
        licence = terms.get(f"edct.datasets.{name}", "not known to cfeval")
        yield f"- `{name}`: {items:,} items; reader `{of.study.datasets[name].plugin}`; licence: {licence}"
    yield blank("why these data stand for the intended use; who is in them; how they were collected and labeled")


def _metrics(of: Facts) -> Iterator[str]:
    del of
    yield (
        "- FIT: share of items whose explanation cites what is in the image, whose answer changes when that is "
        "changed, and stays when something else is.\n"
        "- Strict CCS: share of items whose answer and explanation follow the edit by the judge; what is cited and not "
        "in the image counts as 0.\n"
        "- Citation rate: share of explanations that cite what is in the image.\n"
        "- Noise floor: share of answers that change though nothing in the image was changed."
    )


def _results(of: Facts) -> Iterator[str]:
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


def _claims(of: Facts) -> Iterator[str]:
    for card in of.cards:
        said = "\n".join(f"- {text}: {getattr(card, f'{name}_says') or 'not tested'}" for name, text in CLAIMS.items())
        yield f"{card.vlm} on {card.dataset}, by {card.judge}: **{card.conclusion}**, because: {card.why}.\n\n{said}"


def _limits(of: Facts) -> Iterator[str]:
    for card in of.cards:
        checked = "no edit" if card.edits_checked is None else f"{percent(card.edits_checked)} of the edits"
        missing = f"; without a score: {card.missing}" if card.missing else ""
        yield f"- {card.vlm} on {card.dataset}: {checked} checked by a verifier{missing}"
    yield (
        "A high figure says that answers follow what explanations cite, on these items and under these edits. It does "
        "not say that the answers are right, that the explanations are complete, or how the model behaves on other "
        "data."
    )


def _called(of: Facts) -> Iterator[str]:
    if not of.calls:
        yield "No model outside was called: everything ran on the machine of the study."
        return
    lines = ["| asked for | at | answered as | calls |", "|---|---|---|---|"]
    lines += [
        f"| {one['model']} | {one['host']} | {one['reported'] or 'not said'} | {one['calls']:,} |" for one in of.calls
    ]
    yield "\n".join(lines)


def _tests(of: Facts) -> Iterator[str]:
    yield (
        f"Requests, replies, images, verdicts and tables of the run lie in `{of.root}/edct/`; `cfeval audit build` "
        "makes one archive of them, `cfeval audit sign` signs it, and `cfeval verify` checks it offline."
    )
    yield blank("date, name and signature of the responsible persons")


def _said(*what: str) -> Callable[[Facts], Iterator[str]]:
    def part(of: Facts) -> Iterator[str]:
        del of
        yield from map(blank, what)

    return part


DOCUMENTS: dict[str, tuple[str, tuple[Part, ...]]] = {
    "annex-iv-2g": (
        "Validation and testing (EU AI Act, Annex IV, point 2 (g))",
        (
            ("System", _said("the AI system, its version and intended purpose; which of the models below it uses")),
            ("Procedures", _method),
            ("Validation and testing data", _data),
            ("Metrics", _metrics),
            ("Results", _results),
            ("Robustness: what each model's figures support", _claims),
            ("Potentially discriminatory impacts", _said("how they were examined; this run did not measure them")),
            ("Limits", _limits),
            ("Test logs and reports", _tests),
        ),
    ),
    "annex-xi-section-2": (
        "Evaluation strategies (EU AI Act, Annex XI, Section 2, point 1)",
        (
            ("Model", _said("the general-purpose model, its version, and why it was evaluated")),
            ("Methodology", _method),
            ("Evaluation criteria and metrics", _metrics),
            ("Data", _data),
            ("Results", _results),
            ("How limitations were identified", _claims),
            ("Limitations", _limits),
            ("Models as they named themselves", _called),
        ),
    ),
    "article-13": (
        "For the instructions for use (EU AI Act, Article 13 (3) (b))",
        (
            ("Purpose and foreseeable misuse", _said("intended purpose; circumstances that may lead to risks")),
            ("How far its explanations can be relied upon", _claims),
            ("Accuracy of that statement", _results),
            ("What it does not say", _limits),
            ("Use", _said("how deployers should read an explanation, and when they must not rely on it")),
        ),
    ),
    "model-card": (
        "Model card: faithfulness of explanations",
        (
            ("Model details", _said("developer, date, version, licence of the model")),
            ("Metrics", _metrics),
            ("Evaluation data", _data),
            ("Quantitative analyses", _results),
            ("Caveats", _limits),
        ),
    ),
    "evaluation-card": (
        "Evaluation card",
        (
            ("What is measured", _metrics),
            ("How", _method),
            ("On what", _data),
            ("Contamination", _said("whether items may be in the training data of the models")),
            ("Results", _results),
            ("Claims", _claims),
            ("Limits", _limits),
            ("Models as they named themselves", _called),
            ("How to check it", _tests),
        ),
    ),
}
"""The documents by the names of their files: title and parts."""


def documents(of: Facts) -> Iterator[tuple[str, str]]:
    """Each document's name, and its text as Markdown."""
    for name, (title, parts) in DOCUMENTS.items():
        sections = (f"## {heading}\n\n{_paragraphs(part(of))}" for heading, part in parts)
        yield name, "\n\n".join([f"# {title}", _ABOUT, *sections]) + "\n"


_ABOUT = (
    "Made by cfeval from the records of one evaluation. Places marked `[TO BE STATED: …]` are for what the run cannot "
    "know. This text makes no claim that a law or standard is met."
)


def facts(params: Params, root: str) -> Facts:
    """What a finished study says of itself.

    Raises:
        InputError: it has no edct, its tables are not made, or no table has a trust card.
    """
    if params.edct is None:
        raise InputError("the study has no edct, which alone these documents are about")
    folder = Path(root, "edct")
    files = [folder / "tables" / _CARD, folder / "tables" / _FAITHFULNESS, folder / "calls" / "calls.zip"]
    if lost := next((file for file in files if not file.is_file()), None):
        raise InputError(f"{lost}: not made yet; run the study to its end, with controls, first")
    cards = list(read_csv(files[0], CardRow))
    if not cards:
        raise InputError(f"{files[0]}: has no row; name conditions in edct.tables.controls, and run the study again")
    rows = list(read_csv(files[1], FaithfulnessRow))
    return Facts(params, params.edct, root, cards, rows, list(called([str(files[2])])), revision())


def run(
    out: Annotated[Path, typer.Option(help="Folder to write into.")],
    overlay: Overlays = None,
    name: Name = "",
) -> None:
    """Write what regulators and registries ask about an evaluation of explanations, as far as the run knows it.

    Markdown: Annex IV (2) (g), Annex XI and Article 13 of the EU AI Act, a model card's section, an evaluation card.
    What only a person can say is a marked place. No document says that a law or standard is met. Refused where a result
    is not what would be made now.
    """
    study = whole(overlay, name)
    made = list(documents(facts(study.params, study.root)))
    sound(study, ["edct"])
    for file, text in made:
        ensure_writable(out / f"{file}.md")
        write_text(out / f"{file}.md", text)
    places = sum(text.count("[TO BE STATED: ") - 1 for _, text in made)
    print(f"{len(made)} documents in {out}; {places} places are left to be stated")


def _names(row: CardRow | FaithfulnessRow) -> tuple[str, ...]:
    return row.dataset, row.vlm, row.writer, row.protocol, row.editor, row.judge


def _with_interval(row: CardRow | FaithfulnessRow | None, name: str) -> str:
    value, low, high = (getattr(row, f"{name}{end}", None) for end in ("", "_lo", "_hi"))
    if value is None:
        return ""
    return two(value) if low is None or high is None else f"{two(value)} [{two(low)}, {two(high)}]"


def _paragraphs(parts: Iterator[str]) -> str:
    """Paragraphs, with the lines of a list together."""
    text = ""
    for part in parts:
        listed = part.startswith("- ") and text.rpartition("\n")[2].startswith("- ")
        text += ("\n" if listed else "\n\n") * bool(text) + part
    return text
