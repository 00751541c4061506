"""The verbs `cfeval edct VERB`, and the function that each is."""

from collections.abc import Mapping

HELP = "Explanation-Driven Counterfactual Testing: is a model's explanation faithful?"
VERBS: Mapping[str, str] = {
    "baseline": "cfeval.edct.stages.baseline:run",
    "calls": "cfeval.edct.cli:run_calls",
    "check": "cfeval.edct.stages.checks:run",
    "edit": "cfeval.edct.stages.counterfactuals:run",
    "figure": "cfeval.edct.cli:run_figure",
    "filter": "cfeval.edct.stages.curation:run",
    "generate": "cfeval.edct.stages.samples:run",
    "import": "cfeval.edct.stages.samples:run_import",
    "instruct": "cfeval.edct.stages.instructions:run",
    "judge": "cfeval.edct.stages.verdicts:run",
    "label-agreement": "cfeval.edct.labelling.cli:run_agreement",
    "labels": "cfeval.edct.labelling.cli:run_labels",
    "metrics": "cfeval.edct.cli:run_metrics",
    "plan": "cfeval.edct.sample_size:run",
    "report": "cfeval.edct.report.page:run",
    "requery": "cfeval.edct.stages.requery:run",
    "score": "cfeval.edct.stages.scores:run",
    "select": "cfeval.edct.stages.selection:run",
    "sheet": "cfeval.edct.labelling.cli:run_sheet",
    "table": "cfeval.edct.cli:run_table",
    "training-set": "cfeval.edct.training_set.cli:run",
    "verify": "cfeval.edct.verification.cli:run",
}
"""By name, in the order of the help."""
