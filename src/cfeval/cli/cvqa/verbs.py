"""The verbs `cfeval cvqa VERB`, and the function that each is."""

from collections.abc import Mapping

HELP = "Counterfactual questions: would the model still be right if something were different?"
VERBS: Mapping[str, str] = {
    "answer": "cfeval.cli.cvqa.answer:run",
    "assemble": "cfeval.cli.cvqa.assemble:run",
    "decisions": "cfeval.cli.cvqa.decisions:run",
    "draft": "cfeval.cli.cvqa.draft:run",
    "export": "cfeval.cli.cvqa.export:run",
    "figure": "cfeval.cli.cvqa.figure:run",
    "generate": "cfeval.cli.cvqa.generate:run",
    "metrics": "cfeval.cli.cvqa.metrics:run",
    "questions": "cfeval.cli.cvqa.questions:run",
    "rate": "cfeval.cli.cvqa.rate:run",
    "review": "cfeval.cli.cvqa.review:run",
    "score": "cfeval.cli.cvqa.score:run",
    "statistics": "cfeval.cli.cvqa.statistics:run",
    "table": "cfeval.cli.cvqa.table:run",
}
"""By name, in the order of the help."""
