"""The verbs `cfeval vce VERB`, and the function that each is."""

from collections.abc import Mapping

HELP = "Visual counterfactual explanations: what would the classifier have to see to say something else?"
VERBS: Mapping[str, str] = {
    "explain": "cfeval.vce.stages.counterfactuals:run",
    "figure": "cfeval.vce.cli:run_figure",
    "group": "cfeval.vce.stages.groups:run",
    "images": "cfeval.vce.stages.images:run",
    "metrics": "cfeval.vce.cli:run_metrics",
    "score": "cfeval.vce.stages.scores:run",
    "sheet": "cfeval.vce.contact_sheet_cli:run",
    "table": "cfeval.vce.cli:run_table",
    "targets": "cfeval.vce.stages.targets:run",
}
"""By name, in the order of the help."""
