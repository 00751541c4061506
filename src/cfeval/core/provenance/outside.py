"""The code that no result rests on: in no plan, so that an edit of it reruns nothing.

Whoever adds a line here claims that equal inputs give equal outputs whatever that code says;
tests/core/provenance/test_outside.py runs stages with such code changed and compares bytes.
"""

from functools import cache

MODULES = (
    "cfeval.core.errors",  # how a run ends that gives no result
    "cfeval.core.environment",  # keys
    "cfeval.core.leaving",
    "cfeval.core.progress",
    "cfeval.core.provenance",
    "cfeval.core.names",  # what it imports, the plan names
    "cfeval.verbs",  # which of them a job runs, too
    "cfeval.edct.verbs",
    "cfeval.vce.verbs",
    "cfeval.cvqa.verbs",
    "cfeval.cli",
    "cfeval.stage",
    "cfeval.warm",
    "cfeval.core.gpu_leases",  # which GPU a process takes
    "cfeval.inference.remote.client",  # transport of calls: retries, limits, cache
    "cfeval.inference.remote.batches",  # calls by batches
    "cfeval.inference.remote.batch_api",
    "cfeval.inference.remote.batch_db",
    "cfeval.inference.remote.batch_lanes",
    "cfeval.inference.remote.cache_db",
    "cfeval.inference.remote.ledger_db",
    "cfeval.inference.remote.rate_limit",
    "cfeval.inference.remote.settings",
    "cfeval.inference.remote.cost",
    "cfeval.inference.remote.prices",
    "cfeval.inference.remote.cache",
    "cfeval.inference.remote.http",
    "cfeval.inference.remote.images_once",
    "cfeval.inference.remote.retries",
    "cfeval.inference.remote.sdks",
    "cfeval.inference.remote.sessions",
    "cfeval.inference.remote.spending",
    "cfeval.inference.remote.stops",
)
"""Modules, and packages with all that is in them."""
HOOKS = ("resources", "dependencies", "diagnose", "demand", "class_names", "estimate_calls")
"""Methods of a plugin's class, whose name ends with `Plugin`, that only planning and the checks before a run ask."""
FATAL = ("ParamsError", "OutputError", "PluginError")
"""Errors that end a run: their wording is no part of a result."""
FATAL_IN = (
    "cfeval.core.cli_options:build",
    "cfeval.core.cli_options:from_json",
    "cfeval.core.csv_files",
    "cfeval.core.images:_imported",
    "cfeval.core.images:_refuse_unusable",
    "cfeval.core.images:load",
    "cfeval.core.images:center_crop",
    "cfeval.core.index",
    "cfeval.core.jsonl",
    "cfeval.core.sampling:_check_whole",
    "cfeval.core.sampling:listed",
    "cfeval.core.sampling:read_list",
    "cfeval.core.shards",
    "cfeval.core.streams:StreamingLookup",
    "cfeval.cvqa.cli:run_table",
    "cfeval.cvqa.decisions_file",
    "cfeval.cvqa.gender_labels",
    "cfeval.cvqa.stages.builds:_refuse_loss",
    "cfeval.datasets.files:_check_columns",
    "cfeval.datasets.files:_folder",
    "cfeval.datasets.files:_jsonl",
    "cfeval.datasets.files:_reader",
    "cfeval.datasets.files:_row",
    "cfeval.datasets.files:sample_of",
    "cfeval.datasets.sample:as_frozen",
    "cfeval.datasets.sample:as_record",
    "cfeval.datasets.vqa_format:_annotation",
    "cfeval.datasets.vqa_format:_check_release",
    "cfeval.datasets.vqa_format:_list",
    "cfeval.datasets.vqa_format:_load",
    "cfeval.datasets.vqa_format:_number",
    "cfeval.datasets.vqa_format:_split",
    "cfeval.datasets.vqa_format:_text",
    "cfeval.datasets.vqa_format:image_path",
    "cfeval.datasets.vqa_format:read_annotations",
    "cfeval.datasets.vqa_format:read_questions",
    "cfeval.edct.cli:run_table",
    "cfeval.edct.files",
    "cfeval.edct.labelling.files",
    "cfeval.edct.options:conditions_of",
    "cfeval.edct.stages.scores:_condition",
    "cfeval.inference.cli:_keys",
    "cfeval.inference.cli:opened",
    "cfeval.inference.prompts:fill",
    "cfeval.inference.prompts:load_prompt",
    "cfeval.inference.remote.archive",
    "cfeval.inference.remote.cache",
    "cfeval.inference.remote.cache_db",
    "cfeval.inference.remote.prices",
    "cfeval.inference.remote.settings",
    "cfeval.report.from_tables:_name",
    "cfeval.report.from_tables:draw_figure",
    "cfeval.vce.cli:run_table",
    "cfeval.vce.contact_sheet_cli:_Files",
    "cfeval.vce.contact_sheet_cli:run",
    "cfeval.vce.files:views_of",
    "cfeval.vce.stages.counterfactuals:run",
    "cfeval.vce.wordnet",
)
"""Modules, packages and `module:name` where `InputError` ends a run too: what the command line says of arguments.

Elsewhere its text may be recorded, or shown to a model that is to try again.
"""
WORDING = {"Field": ("description", "title"), "Option": ("help",), "Argument": ("help",)}
"""Arguments of calls that only say what something means."""


@cache
def is_outside(module: str) -> bool:
    """Whether no result rests on a module."""
    return _within(module, MODULES)


def fatal(module: str, name: str) -> frozenset[str]:
    """The errors that end a run where a definition raises them."""
    ends = f"{module}:{name}" in FATAL_IN or _within(module, FATAL_IN)
    return frozenset({*FATAL, *(("InputError",) if ends else ())})


def _within(module: str, names: tuple[str, ...]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)
