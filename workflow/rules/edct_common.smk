"""What the rules of edct share: patterns of files, and small functions of wildcards and params.yaml."""

import shlex

from cfeval.core.sampling import derive_seed
from cfeval.edct import asked
from cfeval.edct.protocols.rules import EDCT_2025, NULL_EDIT

EDCT = PARAMS.edct
EDCT_CONDITIONS = EDCT.conditions()
PAIRS = EDCT.pair_conditions()

ITEMS = "<results>/edct/items/{dataset}{shard}.jsonl"
BASELINES = "<results>/edct/baselines/{dataset}/{vlm}{shard}.jsonl"
INSTRUCTIONS = "<results>/edct/instructions/{dataset}/{vlm}/{writer}{shard}"
EDCT_COUNTERFACTUALS = "<results>/edct/counterfactuals/{dataset}/{vlm}/{writer}/{editor}{shard}"
CHECKS = "<results>/edct/checks/{dataset}/{vlm}/{writer}/{editor}{shard}"
REQUERIES = "<results>/edct/requeries/{dataset}/{vlm}/{writer}/{editor}{shard}"
VERDICTS = "<results>/edct/verdicts/{dataset}/{vlm}/{writer}/{editor}/{judge}{shard}"
EDCT_SCORES = "<results>/edct/scores/{dataset}/{vlm}"
PAIR_ITEMS = "<results>/edct/pair_items/{pair_set}{shard}.jsonl"
PAIR_BASELINES = "<results>/edct/pair_baselines/{pair_set}/{vlm}{shard}.jsonl"
PAIR_VERDICTS = "<results>/edct/pair_verdicts/{pair_set}/{vlm}/{pair_judge}{shard}.jsonl"
EDCT_CALLS = "<results>/edct/calls/calls.zip"
EDCT_REPORT = "<results>/edct/report/index.html"
EDCT_TABLES = [
    f"<results>/edct/tables/edct_{table}.{ending}" for table in asked.tables_of(EDCT) for ending in ("csv", "md", "tex")
]
TABLE_RESOURCES = asked.resources_of_tables(EDCT)
EDCT_METRICS = "<results>/edct/tables/metrics.json"
EDCT_FIGURES = [
    f"<results>/edct/figures/edct_{figure}.{ending}"
    for figure in asked.figures_of(EDCT)
    for ending in ("png", "svg", "pdf")
]
EDCT_RESULTS = [*EDCT_TABLES, EDCT_METRICS, *EDCT_FIGURES, EDCT_CALLS, EDCT_REPORT]


@functools.cache
def _protocols(names):
    return tuple(asked.protocols_of(EDCT, **dict(names)))


def protocols(wildcards):
    """The protocols of a target, writer and so on, as a command names them."""
    names = {name: value for name, value in wildcards.items() if name != "shard"}
    return ",".join(_protocols(tuple(names.items())))


def edits(wildcards):
    """Whether some protocol of a job has edits written and made."""
    return asked.edits_anything(protocols(wildcards).split(","))


def seed_of(wildcards):
    """A target's seed: each repeat of a target has its own."""
    repeat = EDCT.vlms[wildcards.vlm].repeat
    return EDCT.seed if repeat == 1 else derive_seed(EDCT.seed, "repeat", repeat)


def wording(wildcards):
    """The option by which a target is asked in the second wording."""
    name = EDCT.vlms[wildcards.vlm].wording
    return "" if name == "a" else f"--wording {name}"


def again(wildcards):
    """Whether a target is asked once more where that can tell something."""
    return "--again" * asked.asks_again(EDCT, wildcards.vlm)


def again_of(wildcards, input):
    """The answers with which those about edited images are compared, to ask once more where they may have changed."""
    return f"--baselines {input.baselines}" * asked.asks_again(EDCT, wildcards.vlm)


def compare(wildcards):
    """Whether the judge also says whether the answer moved: where there are controls."""
    names = {name: value for name, value in wildcards.items() if name != "shard"}
    return "--compare" * asked.is_compared(EDCT, **names)


def cited(wildcards, input):
    """The cited instructions, which the judge of null edits is told as sham edits."""
    return f"--cited {input.instructions}/edct-2025.jsonl" * (NULL_EDIT in protocols(wildcards))


def reader(wildcards):
    """The second model that answers the questions about edited images, where a data set has one."""
    if wildcards.dataset not in EDCT.readers:
        return ""
    spec = shlex.quote(plugin(EDCT.readers, wildcards.dataset))
    return f"--reader={spec} --prompts={shlex.quote(EDCT.prompts or '')}"


def readings(wildcards):
    """The checks of a judge's edits, which hold what a reader answers; none where nobody read."""
    read = wildcards.dataset in EDCT.readers and EDCT_2025 in protocols(wildcards).split(",")
    return CHECKS.format(**dict(wildcards.items())) if read else []


def compare_readings(wildcards, input):
    """The option by which a judge is shown what a reader answers."""
    return f"--checks {input.checks}/{{protocol}}.jsonl" * bool(readings(wildcards))


def of_target(pattern):
    """A rule's input: the files of a pattern for all conditions of a target."""
    return lambda wildcards: each(
        pattern, [one for one in EDCT_CONDITIONS if (one.dataset, one.vlm) == (wildcards.dataset, wildcards.vlm)]
    )


wildcard_constraints:
    dataset=one_of(EDCT.datasets),
    vlm=one_of(EDCT.vlms),
    writer=one_of(EDCT.instruction_writers),
    editor=one_of(EDCT.editors),
    judge=one_of(EDCT.judges),
    pair_set=one_of(EDCT.pair_sets),
    pair_judge=one_of(EDCT.pair_judges),
