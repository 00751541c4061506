"""The commands `cfeval cvqa …` and the stages `cfeval stage cvqa …`, and the function that each is."""

from collections.abc import Mapping

HELP = "Counterfactual questions: would the model still be right if something were different?"
VERBS: Mapping[str, str] = {
    "dataset": "cfeval.cvqa.published:run",
    "decisions": "cfeval.cvqa.stages.builds:run_decisions",
    "export": "cfeval.cvqa.stages.questions:run_export",
    "generate": "cfeval.cvqa.synthetic.release:run",
    "rate": "cfeval.cvqa.cli:run_rate",
    "statistics": "cfeval.cvqa.cli:run_statistics",
}
"""What people call, by name, in the order of the help."""
STAGES: Mapping[str, str] = {
    "answers": "cfeval.cvqa.stages.answers:run",
    "builds": "cfeval.cvqa.stages.builds:run",
    "calls": "cfeval.cvqa.stages.calls:run",
    "drafts": "cfeval.cvqa.stages.drafts:run",
    "figure": "cfeval.cvqa.cli:run_figure",
    "metrics": "cfeval.cvqa.cli:run_metrics",
    "questions": "cfeval.cvqa.stages.questions:run",
    "readings": "cfeval.cvqa.stages.readings:run",
    "report": "cfeval.cvqa.report.page:run",
    "reviews": "cfeval.cvqa.stages.reviews:run",
    "scores": "cfeval.cvqa.stages.scores:run",
    "table": "cfeval.cvqa.cli:run_table",
}
"""What jobs run, by name, in the order of the help."""
