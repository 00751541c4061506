"""The commands `cfeval edct …` and the stages `cfeval stage edct …`, and the function that each is."""

from collections.abc import Mapping

HELP = "Explanation-Driven Counterfactual Testing: is a model's explanation faithful?"
VERBS: Mapping[str, str] = {
    "card": "cfeval.edct.faithfulness.cli:run",
    "curation": "cfeval.edct.stages.curation:run",
    "edit-bank": "cfeval.edct.edit_bank:run",
    "edit-cost": "cfeval.edct.edit_cost:run",
    "exam": "cfeval.edct.exam.cli:run",
    "import": "cfeval.edct.stages.items:run_import",
    "label-agreement": "cfeval.edct.labelling.cli:run_agreement",
    "label-sheet": "cfeval.edct.labelling.cli:run_sheet",
    "labels": "cfeval.edct.labelling.cli:run_labels",
    "sample-size": "cfeval.edct.sample_size:run",
    "selection": "cfeval.edct.stages.selection:run",
    "training-set": "cfeval.edct.training_set.cli:run",
}
"""What people call, by name, in the order of the help."""
STAGES: Mapping[str, str] = {
    "baselines": "cfeval.edct.stages.baselines:run",
    "calls": "cfeval.edct.cli:run_calls",
    "checks": "cfeval.edct.stages.checks:run",
    "counterfactuals": "cfeval.edct.stages.counterfactuals:run",
    "figure": "cfeval.edct.cli:run_figure",
    "instructions": "cfeval.edct.stages.instructions:run",
    "items": "cfeval.edct.stages.items:run",
    "metrics": "cfeval.edct.cli:run_metrics",
    "pair_baselines": "cfeval.edct.pairs.baselines:run",
    "pair_items": "cfeval.edct.pairs.items:run",
    "pair_report": "cfeval.edct.report.pairs:run",
    "pair_table": "cfeval.edct.pairs.table:run",
    "pair_verdicts": "cfeval.edct.pairs.verdicts:run",
    "report": "cfeval.edct.report.page:run",
    "requeries": "cfeval.edct.stages.requeries:run",
    "scores": "cfeval.edct.stages.scores:run",
    "table": "cfeval.edct.cli:run_table",
    "verdicts": "cfeval.edct.stages.verdicts:run",
}
"""What jobs run, by name, in the order of the help."""
