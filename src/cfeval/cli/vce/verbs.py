"""The verbs `cfeval vce VERB`, and the function that each is."""

from collections.abc import Mapping

HELP = "Visual counterfactual explanations: what would the classifier have to see to say something else?"
VERBS: Mapping[str, str] = {
    "explain": "cfeval.cli.vce.explain:run",
    "figure": "cfeval.cli.vce.figure:run",
    "group": "cfeval.cli.vce.group:run",
    "images": "cfeval.cli.vce.images:run",
    "metrics": "cfeval.cli.vce.metrics:run",
    "score": "cfeval.cli.vce.score:run",
    "sheet": "cfeval.cli.vce.sheet:run",
    "table": "cfeval.cli.vce.table:run",
    "targets": "cfeval.cli.vce.targets:run",
}
"""By name, in the order of the help."""
