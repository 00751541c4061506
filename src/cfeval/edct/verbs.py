"""The verbs `cfeval edct VERB`, and the function that each is."""

from collections.abc import Mapping

HELP = "Explanation-Driven Counterfactual Testing: is a model's explanation faithful?"
VERBS: Mapping[str, str] = {
    "baselines": "cfeval.edct.stages.baselines:run",
    "calls": "cfeval.edct.cli:run_calls",
    "card": "cfeval.edct.faithfulness.cli:run",
    "checks": "cfeval.edct.stages.checks:run",
    "counterfactuals": "cfeval.edct.stages.counterfactuals:run",
    "curation": "cfeval.edct.stages.curation:run",
    "exam": "cfeval.edct.exam.cli:run",
    "figure": "cfeval.edct.cli:run_figure",
    "import": "cfeval.edct.stages.items:run_import",
    "instructions": "cfeval.edct.stages.instructions:run",
    "items": "cfeval.edct.stages.items:run",
    "label-agreement": "cfeval.edct.labelling.cli:run_agreement",
    "label-sheet": "cfeval.edct.labelling.cli:run_sheet",
    "labels": "cfeval.edct.labelling.cli:run_labels",
    "metrics": "cfeval.edct.cli:run_metrics",
    "report": "cfeval.edct.report.page:run",
    "requeries": "cfeval.edct.stages.requeries:run",
    "sample-size": "cfeval.edct.sample_size:run",
    "scores": "cfeval.edct.stages.scores:run",
    "selection": "cfeval.edct.stages.selection:run",
    "table": "cfeval.edct.cli:run_table",
    "training-set": "cfeval.edct.training_set.cli:run",
    "verdicts": "cfeval.edct.stages.verdicts:run",
    "verify": "cfeval.edct.verification.cli:run",
}
"""By name, in the order of the help."""
