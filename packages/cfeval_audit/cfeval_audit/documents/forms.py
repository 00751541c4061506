"""The documents: what the EU AI Act asks, cards for registries, NIST AI 800-2 and Eval Factsheets.

Sources: Regulation (EU) 2024/1689, Annex IV point 2 (g), Annex XI Section 2 point 1, Article 13 (3) (b); model cards
after Mitchell et al. 2019; NIST AI 800-2 (initial public draft, January 2026), written for language models, whose nine
practices for automated benchmark evaluations head the parts; Eval Factsheets (Bordes et al. 2025, arXiv:2512.04062),
with the fields and values of its questionnaire, where fields of which the run knows nothing or one half are marked
places.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.files import ensure_writable, write_text
from cfeval.core.folder import Folder, Name, ParamsFiles, study_in
from cfeval.edct.protocols.rules import PAIRS_2026
from cfeval.study.whole import whole
from cfeval_audit.bundle.cli import valid_jobs
from cfeval_audit.documents.parts import (
    Document,
    Facts,
    blank,
    calls,
    claims,
    data,
    exams,
    joined,
    limits,
    load_facts,
    method,
    metrics,
    pair_sizes,
    repeated,
    repeats,
    results,
    settings,
    tests,
    to_state,
)

# The questionnaire's values for the number of samples, by the number that they stay under.
SIZES = (
    (1_000, "Small (< 1K samples)"),
    (100_000, "Medium (1K - 100K samples)"),
    (1_000_000, "Large (100K - 1M samples)"),
)
# Readers of data that a program draws.
DRAWN = ("world", "easy_vqa")
# Judges that are rules alone.
RULES = ("grammar", "lexical")
Field = tuple[str, Callable[[Facts], str]]


def _items(facts: Facts) -> int:
    items = {row.dataset: row.n for row in sorted(facts.cards, key=lambda row: row.n)}
    return sum(items.values()) + sum(pair_sizes(facts).values())


def _size(facts: Facts) -> str:
    return next((name for under, name in SIZES if _items(facts) < under), "Very Large (> 1M samples)")


def _readers(facts: Facts) -> set[str]:
    return {facts.study.datasets[row.dataset].plugin for row in facts.cards} | {
        facts.study.pair_sets[row.pair_set].plugin for row in facts.pairs
    }


def _source(facts: Facts) -> str:
    return (
        "Procedurally generated" if _readers(facts) <= set(DRAWN) else blank("the source of the images and questions")
    )


def _judges(facts: Facts) -> str:
    plugins = {name: facts.study.judges[name].plugin for name in dict.fromkeys(row.judge for row in facts.cards)}
    plugins |= {
        name: facts.study.pair_judges[name].plugin for name in dict.fromkeys(row.pair_judge for row in facts.pairs)
    }
    rules = all(plugin in RULES for plugin in plugins.values())
    kind = "Automatic (Reference-free)" if rules else blank("Model-based: Expert, Model-based: In the wild, or Hybrid")
    return f"{kind}: {', '.join(f'`{name}` (plugin `{plugin}`)' for name, plugin in plugins.items())}"


def _robustness(facts: Facts) -> str:
    again = ["Repeated evaluations"] * bool(repeated(facts))
    intervals = ["Confidence intervals"] * any([*(row.ci for row in facts.cards), *(row.ci for row in facts.pairs)])
    return "; ".join([*again, "Negative controls", *intervals])


def _limitations(facts: Facts) -> str:
    lost = [f"{row.vlm} on {row.dataset}: {row.missing}" for row in facts.cards if row.missing]
    lost += [f"{row.vlm} on {row.pair_set}: {row.missing}" for row in facts.pairs if row.missing]
    scope = "the figures hold for these items and edits alone"
    return f"{scope}; without a score: {'; '.join(lost)}" if lost else scope


def _title(facts: Facts) -> str:
    done = ["Explanation-Driven Counterfactual Testing"] * bool(facts.cards) + ["Given pairs"] * bool(facts.pairs)
    return f"{'; '.join(done)}: faithfulness of explanations"


def _description(facts: Facts) -> str:
    edited = "What a model's explanation cites is edited in the image; answer and explanation should follow."
    given = "Two images differ in one thing; an explanation should name it where it moves the answer."
    return " ".join([edited] * bool(facts.cards) + [given] * bool(facts.pairs))


def _kind_of_data(facts: Facts) -> str:
    dynamic = "Dynamic data-driven (adaptive/interactive): edits follow each explanation"
    static = "Static: pairs are given, the same for every model"
    return "; ".join([dynamic] * bool(facts.cards) + [static] * bool(facts.pairs))


def _protocols(facts: Facts) -> str:
    protocols = [*(row.protocol for row in facts.cards), *([PAIRS_2026] if facts.pairs else [])]
    return ", ".join(f"`{name}`" for name in dict.fromkeys(protocols))


def _references(facts: Facts) -> str:
    with_answers = any(row.pair_accuracy is not None for row in facts.pairs)
    given = "; of given pairs right answers as the set has them" if with_answers else ""
    return f"No reference (reference-free){given}"


def _always(text: str) -> Callable[[Facts], str]:
    def value(facts: Facts) -> str:
        del facts
        return text

    return value


def _blank(what: str) -> Callable[[Facts], str]:
    return _always(blank(what))


# By dimension: each field of the questionnaire, and its value.
FIELDS: dict[str, tuple[Field, ...]] = {
    "Context": (
        ("Title", _title),
        ("Description", _description),
        ("Authors", _blank("who made this evaluation")),
        ("Code", lambda facts: f"cfeval; revision {facts.revision['revision'] or 'of an installed package'}"),
        ("Paper", _blank("the paper that this evaluation belongs to")),
        ("Date", _blank("when it was made")),
    ),
    "Scope": (
        ("Purpose", _blank("Development, Selection, Deployment or Research")),
        ("Capabilities Tested", _always("faithfulness of explanations about images")),
        ("Model Properties Evaluated", _always("Interpretability")),
        ("Input Modality", _always("Text + Vision")),
        ("Output Modality", _always("Text")),
    ),
    "Structure": (
        ("Input Data Source", _source),
        ("Output Reference/Ground Truth Source", _references),
        ("Size", lambda facts: f"{_size(facts)}: {_items(facts):,}"),
        ("Evaluation Splits", _blank("splits of the data, and which was used")),
        ("Evaluation Data Type", _kind_of_data),
    ),
    "Method": (
        ("Judge Type", _judges),
        ("Evaluation Protocol", _protocols),
        ("Model Access Level Required", _always("Outputs")),
        ("Held-out Test Details", _blank("whether items are held back, and how")),
    ),
    "Alignment": (
        ("Measurement Validation", _blank("how it was shown, on these data, that the figures mean what they say")),
        ("Construct validity checklist (Bean et al. 2025)", _blank("how many conditions were checked")),
        ("Baselines", _blank("with which models or people the figures are compared")),
        ("Robustness Measures Applied", _robustness),
        ("Known Sensitivities & Limitations", _limitations),
        ("Similar Evaluations", _blank("which others measure the same")),
    ),
}


def _part(fields: tuple[Field, ...]) -> Callable[[Facts], Iterator[str]]:
    def part(facts: Facts) -> Iterator[str]:
        lines = [f"| {name} | {value(facts).replace('|', '/')} |" for name, value in fields]
        yield "\n".join(["| field | value |", "|---|---|", *lines])

    return part


def _qualified(facts: Facts) -> Iterator[str]:
    cards = ["the conclusions, which follow from the figures by the bounds of the trust card"] * bool(facts.cards)
    given = ["of given pairs, whether the whole interval of φ is above 0"] * bool(facts.pairs)
    yield (
        "Observations: the figures, about these items under these edits. Inferences: "
        f"{'; '.join([*cards, *given])}. Nothing is predicted about other data or about use."
    )


# By the names of their files: title and parts.
DOCUMENTS: dict[str, Document] = {
    "annex-iv-2g": (
        "Validation and testing (EU AI Act, Annex IV, point 2 (g))",
        (
            ("System", to_state("the AI system, its version and intended purpose; which of the models below it uses")),
            ("Procedures", method),
            ("Validation and testing data", data),
            ("Metrics", metrics),
            ("Results", results),
            ("Robustness: what each model's figures support", claims),
            ("Potentially discriminatory impacts", to_state("how they were examined; this run did not measure them")),
            ("Limits", limits),
            ("Test logs and reports", tests),
        ),
    ),
    "annex-xi-section-2": (
        "Evaluation strategies (EU AI Act, Annex XI, Section 2, point 1)",
        (
            ("Model", to_state("the general-purpose model, its version, and why it was evaluated")),
            ("Methodology", method),
            ("Evaluation criteria and metrics", metrics),
            ("Data", data),
            ("Results", results),
            ("How limitations were identified", claims),
            ("Limitations", limits),
            ("Models as they named themselves", calls),
        ),
    ),
    "article-13": (
        "For the instructions for use (EU AI Act, Article 13 (3) (b))",
        (
            ("Purpose and foreseeable misuse", to_state("intended purpose; circumstances that may lead to risks")),
            ("How far its explanations can be relied upon", claims),
            ("Accuracy of that statement", results),
            ("What it does not say", limits),
            ("Use", to_state("how deployers should read an explanation, and when they must not rely on it")),
        ),
    ),
    "model-card": (
        "Model card: faithfulness of explanations",
        (
            ("Model details", to_state("developer, date, version, licence of the model")),
            ("Metrics", metrics),
            ("Evaluation data", data),
            ("Quantitative analyses", results),
            ("Caveats", limits),
        ),
    ),
    "evaluation-card": (
        "Evaluation card",
        (
            ("What is measured", metrics),
            ("How", method),
            ("On what", data),
            ("Contamination", to_state("whether items may be in the training data of the models")),
            ("Results", results),
            ("Claims", claims),
            ("Limits", limits),
            ("Models as they named themselves", calls),
            ("How to check it", tests),
        ),
    ),
    "nist-ai-800-2": (
        "Automated benchmark evaluation, by the practices of NIST AI 800-2 (initial public draft)",
        (
            (
                "1.1 Define evaluation objectives",
                joined(
                    metrics,
                    to_state("which decision the results serve; what was fixed before the run was made, and where"),
                ),
            ),
            (
                "1.2 Select benchmarks",
                joined(data, to_state("which other benchmarks were weighed; whether items may be in training data")),
            ),
            (
                "2.1 Design the evaluation protocol",
                joined(method, settings, to_state("safeguards and tools that a provider adds; why these settings")),
            ),
            ("2.2 Write evaluation code", to_state("changes to cfeval and plugins of your own; who reviewed them")),
            ("2.3 Run the evaluation and track results", joined(calls, tests)),
            (
                "2.4 Debug the evaluation",
                joined(
                    exams,
                    limits,
                    to_state(
                        "who read transcripts, and how many; signs that a model noticed the test or gamed it",
                        "refusals and failures that were looked into",
                    ),
                ),
            ),
            (
                "3.1 Conduct statistical analysis and uncertainty quantification",
                joined(results, repeats, to_state("further comparisons that were made, and how they were corrected")),
            ),
            (
                "3.2 Share details about evaluations and evaluation data",
                to_state("where transcripts, items and code are published, or why not; what the evaluation cost"),
            ),
            (
                "3.3 Report qualified claims",
                joined(_qualified, claims, to_state("what is concluded for the intended use")),
            ),
        ),
    ),
    "eval-factsheet": ("Eval Factsheet", tuple((name, _part(fields)) for name, fields in FIELDS.items())),
}


def documents(facts: Facts) -> Iterator[tuple[str, str]]:
    """Each document's name, and its text as Markdown."""
    for name, (title, parts) in DOCUMENTS.items():
        sections = (f"## {heading}\n\n{_paragraphs(part(facts))}" for heading, part in parts)
        yield name, "\n\n".join([f"# {title}", _ABOUT, *sections]) + "\n"


_ABOUT = (
    "Made by cfeval from the records of one evaluation. Places marked `[TO BE STATED: …]` are for what the run cannot "
    "know. This text makes no claim that a law or standard is met."
)


def run(
    out: Annotated[Path, typer.Option(help="Folder to write into.")],
    folder: Folder = Path(),
    params: ParamsFiles = None,
    name: Name = "",
) -> None:
    """Write documents for regulators and registries about an evaluation of explanations, as far as the run knows.

    Markdown: Annex IV (2) (g), Annex XI and Article 13 of the EU AI Act, the practices of NIST AI 800-2, an Eval
    Factsheet, a model card's section, an evaluation card. What only a person can state is marked. No document claims
    that a law or standard is met. Outdated results are refused.
    """
    with study_in(folder, params) as files:
        study = whole(files, name)
        made = list(documents(load_facts(study.params, study.root)))
        valid_jobs(study, ["edct"])
    for file, text in made:
        ensure_writable(out / f"{file}.md")
        write_text(out / f"{file}.md", text)
    places = sum(text.count("[TO BE STATED: ") - 1 for _, text in made)
    print(f"{len(made)} documents in {out}; {places} places are marked for you to fill in")


def _paragraphs(parts: Iterator[str]) -> str:
    """Paragraphs, with the lines of a list together."""
    text = ""
    for part in parts:
        listed = part.startswith("- ") and text.rpartition("\n")[2].startswith("- ")
        text += ("\n" if listed else "\n\n") * bool(text) + part
    return text
