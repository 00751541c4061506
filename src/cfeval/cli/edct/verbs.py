"""The verbs `cfeval edct VERB`, and the function that each is."""

from collections.abc import Mapping

HELP = "Explanation-Driven Counterfactual Testing: is a model's explanation faithful?"
VERBS: Mapping[str, str] = {
    "baseline": "cfeval.cli.edct.baseline:run",
    "calls": "cfeval.cli.edct.calls:run",
    "check": "cfeval.cli.edct.check:run",
    "edit": "cfeval.cli.edct.edit:run",
    "figure": "cfeval.cli.edct.figure:run",
    "filter": "cfeval.cli.edct.filter:run",
    "generate": "cfeval.cli.edct.generate:run",
    "import": "cfeval.cli.edct.import_:run",
    "instruct": "cfeval.cli.edct.instruct:run",
    "judge": "cfeval.cli.edct.judge:run",
    "label-agreement": "cfeval.cli.edct.label_agreement:run",
    "labels": "cfeval.cli.edct.labels:run",
    "metrics": "cfeval.cli.edct.metrics:run",
    "plan": "cfeval.cli.edct.plan:run",
    "report": "cfeval.cli.edct.report:run",
    "requery": "cfeval.cli.edct.requery:run",
    "score": "cfeval.cli.edct.score:run",
    "select": "cfeval.cli.edct.select:run",
    "sheet": "cfeval.cli.edct.sheet:run",
    "table": "cfeval.cli.edct.table:run",
    "training-set": "cfeval.cli.edct.training_set:run",
    "verify": "cfeval.cli.edct.verify:run",
}
"""By name, in the order of the help."""
