"""NIST AI 800-2 (initial public draft, January 2026): its nine practices for automated benchmark evaluations.

It is written for language models; a part is headed by the number and title of its practice.
"""

from collections.abc import Iterator

from cfeval_audit.documents.facts import Facts
from cfeval_audit.documents.parts import (
    Document,
    calls,
    claims,
    data,
    exams,
    joined,
    limits,
    method,
    metrics,
    repeats,
    results,
    said,
    settings,
    tests,
)


def _qualified(of: Facts) -> Iterator[str]:
    cards = ["the conclusions, which follow from the figures by the bounds of the trust card"] * bool(of.cards)
    given = ["of given pairs, whether the whole interval of φ is above 0"] * bool(of.pairs)
    yield (
        "Observations: the figures, about these items under these edits. Inferences: "
        f"{'; '.join([*cards, *given])}. Nothing is predicted about other data or about use."
    )


DOCUMENTS: dict[str, Document] = {
    "nist-ai-800-2": (
        "Automated benchmark evaluation, by the practices of NIST AI 800-2 (initial public draft)",
        (
            (
                "1.1 Define evaluation objectives",
                joined(
                    metrics,
                    said("which decision the results serve; what was fixed before the run was made, and where"),
                ),
            ),
            (
                "1.2 Select benchmarks",
                joined(data, said("which other benchmarks were weighed; whether items may be in training data")),
            ),
            (
                "2.1 Design the evaluation protocol",
                joined(method, settings, said("safeguards and tools that a provider adds; why these settings")),
            ),
            ("2.2 Write evaluation code", said("changes to cfeval and plugins of your own; who reviewed them")),
            ("2.3 Run the evaluation and track results", joined(calls, tests)),
            (
                "2.4 Debug the evaluation",
                joined(
                    exams,
                    limits,
                    said(
                        "who read transcripts, and how many; signs that a model noticed the test or gamed it",
                        "refusals and failures that were looked into",
                    ),
                ),
            ),
            (
                "3.1 Conduct statistical analysis and uncertainty quantification",
                joined(results, repeats, said("further comparisons that were made, and how they were corrected")),
            ),
            (
                "3.2 Share details about evaluations and evaluation data",
                said("where transcripts, items and code are published, or why not; what the evaluation cost"),
            ),
            ("3.3 Report qualified claims", joined(_qualified, claims, said("what is concluded for the intended use"))),
        ),
    )
}
