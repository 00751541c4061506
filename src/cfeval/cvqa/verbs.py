"""The verbs `cfeval cvqa VERB`, and the function that each is."""

from collections.abc import Mapping

HELP = "Counterfactual questions: would the model still be right if something were different?"
VERBS: Mapping[str, str] = {
    "answers": "cfeval.cvqa.stages.answers:run",
    "builds": "cfeval.cvqa.stages.builds:run",
    "decisions": "cfeval.cvqa.stages.builds:run_decisions",
    "drafts": "cfeval.cvqa.stages.drafts:run",
    "export": "cfeval.cvqa.stages.questions:run_export",
    "figure": "cfeval.cvqa.cli:run_figure",
    "generate": "cfeval.cvqa.synthetic.release:run",
    "metrics": "cfeval.cvqa.cli:run_metrics",
    "questions": "cfeval.cvqa.stages.questions:run",
    "rate": "cfeval.cvqa.cli:run_rate",
    "reviews": "cfeval.cvqa.stages.reviews:run",
    "scores": "cfeval.cvqa.stages.scores:run",
    "statistics": "cfeval.cvqa.cli:run_statistics",
    "table": "cfeval.cvqa.cli:run_table",
}
"""By name, in the order of the help."""
