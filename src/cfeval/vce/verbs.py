"""The commands `cfeval vce …` and the stages `cfeval stage vce …`, and the function that each is."""

from collections.abc import Mapping

HELP = "Visual counterfactual explanations: what would the classifier have to see to say something else?"
VERBS: Mapping[str, str] = {
    "try": "cfeval.vce.stages.try_one:run",
    "targets": "cfeval.vce.stages.targets:run",
}
"""What people call, by name, in the order of the help."""
STAGES: Mapping[str, str] = {
    "contact-sheet": "cfeval.vce.contact_sheet_cli:run",
    "counterfactuals": "cfeval.vce.stages.counterfactuals:run",
    "figure": "cfeval.vce.cli:run_figure",
    "group-scores": "cfeval.vce.stages.group_scores:run",
    "images": "cfeval.vce.stages.images:run",
    "metrics": "cfeval.vce.cli:run_metrics",
    "report": "cfeval.vce.report.page:run",
    "scores": "cfeval.vce.stages.scores:run",
    "table": "cfeval.vce.cli:run_table",
}
"""What jobs run, by name, in the order of the help."""
