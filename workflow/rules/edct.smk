"""EDCT: from samples to the report, one job a dataset or condition (and shard) (EDCT 2025, Section 3; EDCT-Bench 2026).

Inputs: what params.yaml names: plugins, their weights and prompts, own data; the papers' published figures.
Outputs: results/edct/{items,baselines,instructions,counterfactuals,checks,requeries,verdicts,scores,pair_items,
pair_baselines,pair_verdicts}/…, a file a condition and shard, images in the folder of the record file's name; results/edct/{calls,tables,figures,report}/.
Steps: 1. items. 2. baselines: question, then reason. 3. instructions: cited concept and edit. 4. counterfactuals and their
checks. 5. requeries: the same two turns about the edited image. 6. verdicts, then scores. Given pairs need only pair_items,
pair_baselines and pair_verdicts. 7. the calls to models outside. 8. tables, figures, headline figures. 9. the report.
What a job is given beside its inputs, and what each pattern is, stands in src/cfeval/edct/jobs.py. A record names its images
by SHA-256, so that an input with images is its record file alone, unless its images lie in an archive.
"""


wildcard_constraints:
    dataset=one_of(PARAMS.edct.datasets if PARAMS.edct else ()),
    vlm=one_of(PARAMS.edct.vlms if PARAMS.edct else ()),
    writer=one_of(PARAMS.edct.instruction_writers if PARAMS.edct else ()),
    protocol=one_of(condition.protocol for condition in (PARAMS.edct.conditions() if PARAMS.edct else ())),
    editor=one_of(PARAMS.edct.editors if PARAMS.edct else ()),
    judge=one_of(PARAMS.edct.judges if PARAMS.edct else ()),
    pair_set=one_of(PARAMS.edct.pair_sets if PARAMS.edct else ()),
    pair_judge=one_of(PARAMS.edct.pair_judges if PARAMS.edct else ()),


localrules:
    edct_pairs_all,
    edct_items_all,
    edct_baselines_all,
    edct_instructions_all,
    edct_counterfactuals_all,
    edct_requeries_all,
    edct_verdicts_all,
    edct_tables_all,


rule edct_items_all:
    """Phase: the samples of every dataset."""
    input:
        phase("edct.items"),


rule edct_baselines_all:
    """Phase: what every target says about the original images."""
    input:
        phase("edct.baselines"),


rule edct_instructions_all:
    """Phase: what every explanation cites, and the edit that changes it."""
    input:
        phase("edct.instructions"),


rule edct_counterfactuals_all:
    """Phase: the edited images and how good the edits are."""
    input:
        phase("edct.counterfactuals", "edct.checks"),


rule edct_requeries_all:
    """Phase: what every target says about the edited images."""
    input:
        phase("edct.requeries"),


rule edct_verdicts_all:
    """Phase: verdicts and scores."""
    input:
        phase("edct.verdicts", "edct.scores"),


rule edct_pairs_all:
    """Phase: given pairs, from their images to the verdicts."""
    input:
        phase("edct.pair_items", "edct.pair_verdicts"),


rule edct_tables_all:
    """Phase: the papers' tables, figures and metrics."""
    input:
        phase("edct.table", "edct.pair_table", "edct.figure", "edct.metrics"),


use rule stage as edct_items with:
    """File the samples of a dataset and their images, all shards at once (Section 4)."""
    input:
        stale=stale(edct.ITEMS),
    output:
        **makes(records=with_images(whole(edct.ITEMS))),
    log:
        log_of(edct.ITEMS, shard=""),
    resources:
        **resources_for(mem_mb=2000, runtime="1h"),
    message:
        "samples of {wildcards.dataset}"


use rule stage as edct_baselines with:
    """Ask a target model every question and, in the same conversation, the reason (Stage 1)."""
    input:
        samples=with_images(at(edct.ITEMS)),
        stale=stale(edct.BASELINES),
    output:
        **makes(records=at(edct.BASELINES)),
    log:
        log_of(edct.BASELINES),
    resources:
        **resources_for(mem_mb=4000, runtime="4h"),
    message:
        "baseline of {wildcards.vlm} on {wildcards.dataset}{wildcards.shard}"


use rule stage as edct_instructions with:
    """Find the cited concept in every explanation and write the edit that changes it (Stage 2)."""
    input:
        samples=with_images(at(edct.ITEMS)),
        baseline=at(edct.BASELINES),
        stale=stale(edct.INSTRUCTIONS),
    output:
        **makes(records=at(edct.INSTRUCTIONS)),
    log:
        log_of(edct.INSTRUCTIONS),
    resources:
        **resources_for(mem_mb=2000, runtime="2h"),
    message:
        "instructions of {wildcards.writer} for {wildcards.vlm} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"


use rule stage as edct_counterfactuals with:
    """Apply every instruction to its original image (Stage 3)."""
    input:
        samples=with_images(at(edct.ITEMS)),
        instructions=at(edct.INSTRUCTIONS),
        stale=stale(edct.COUNTERFACTUALS),
    output:
        **makes(records=with_images(at(edct.COUNTERFACTUALS))),
    log:
        log_of(edct.COUNTERFACTUALS),
    resources:
        **resources_for(mem_mb=4000, runtime="8h"),
    message:
        "counterfactuals by {wildcards.editor} for {wildcards.vlm} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"


use rule stage as edct_checks with:
    """Check every edit: intended attribute, the rest unchanged, changed area."""
    input:
        samples=with_images(at(edct.ITEMS)),
        instructions=at(edct.INSTRUCTIONS),
        counterfactuals=with_images(at(edct.COUNTERFACTUALS)),
        stale=stale(edct.CHECKS),
    output:
        **makes(records=with_images(at(edct.CHECKS))),
    log:
        log_of(edct.CHECKS),
    resources:
        **resources_for(mem_mb=4000, runtime="2h"),
    message:
        "checks of {wildcards.editor} for {wildcards.vlm} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"


use rule stage as edct_requeries with:
    """Ask the target model the same two turns about every edited image (Stage 4)."""
    input:
        samples=with_images(at(edct.ITEMS)),
        counterfactuals=with_images(at(edct.COUNTERFACTUALS)),
        stale=stale(edct.REQUERIES),
    output:
        **makes(records=at(edct.REQUERIES)),
    log:
        log_of(edct.REQUERIES),
    resources:
        **resources_for(mem_mb=4000, runtime="4h"),
    message:
        "requery of {wildcards.vlm} after {wildcards.editor} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"


use rule stage as edct_verdicts with:
    """Compare answer and explanation before and after every edit (Stage 4, consistency).

    The judge of null edits is told the cited instructions as sham edits.
    """
    input:
        baseline=at(edct.BASELINES),
        instructions=at(edct.INSTRUCTIONS),
        counterfactuals=with_images(at(edct.COUNTERFACTUALS)),
        requery=at(edct.REQUERIES),
        cited=also(edct.INSTRUCTIONS, "null-edit", of="edct-2025"),
        stale=stale(edct.VERDICTS),
    output:
        **makes(records=at(edct.VERDICTS)),
    log:
        log_of(edct.VERDICTS),
    resources:
        **resources_for(mem_mb=2000, runtime="4h"),
    message:
        "verdicts of {wildcards.judge} on {wildcards.vlm} after {wildcards.editor} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"


use rule stage as edct_scores with:
    """Bring verdicts, checks and right answers together, a row per item and edit."""
    input:
        samples=at(edct.ITEMS),
        baseline=at(edct.BASELINES),
        instructions=at(edct.INSTRUCTIONS),
        checks=at(edct.CHECKS),
        verdicts=at(edct.VERDICTS),
        stale=stale(edct.SCORES),
    output:
        **makes(records=at(edct.SCORES)),
    log:
        log_of(edct.SCORES),
    resources:
        **resources_for(mem_mb=1000, runtime="30m"),
    message:
        "scores of {wildcards.vlm} after {wildcards.editor} by {wildcards.judge} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"


use rule stage as edct_pair_items with:
    """File both images of given pairs as items, and of some the first once more."""
    input:
        stale=stale(edct.PAIR_ITEMS),
    output:
        **makes(records=with_images(whole(edct.PAIR_ITEMS))),
    log:
        log_of(edct.PAIR_ITEMS, shard=""),
    resources:
        **resources_for(mem_mb=2000, runtime="1h"),
    message:
        "given pairs of {wildcards.pair_set}"


use rule stage as edct_pair_baselines with:
    """Ask a target model about both images of given pairs, each in a conversation of its own."""
    input:
        samples=with_images(at(edct.PAIR_ITEMS)),
        stale=stale(edct.PAIR_BASELINES),
    output:
        **makes(records=at(edct.PAIR_BASELINES)),
    log:
        log_of(edct.PAIR_BASELINES),
    resources:
        **resources_for(mem_mb=4000, runtime="4h"),
    message:
        "answers of {wildcards.vlm} about the pairs of {wildcards.pair_set}{wildcards.shard}"


use rule stage as edct_pair_verdicts with:
    """Say of every given pair whether the answer moved, and whether the explanations name what was changed."""
    input:
        samples=at(edct.PAIR_ITEMS),
        baseline=at(edct.PAIR_BASELINES),
        stale=stale(edct.PAIR_VERDICTS),
    output:
        **makes(records=at(edct.PAIR_VERDICTS)),
    log:
        log_of(edct.PAIR_VERDICTS),
    resources:
        **resources_for(mem_mb=2000, runtime="4h"),
    message:
        "verdicts of {wildcards.pair_judge} on {wildcards.vlm} and the pairs of {wildcards.pair_set}{wildcards.shard}"


use rule stage as edct_calls with:
    """Export the calls to models outside that some record came from; those of a former run are kept."""
    input:
        inputs_of(edct.CALLS),
        stale=stale(edct.CALLS),
    output:
        **makes(records=at(edct.CALLS)),
    log:
        log_of(edct.CALLS),
    message:
        "export of the calls"


use rule stage as edct_table with:
    """One table, from the scores of its conditions and of those it rests on beside."""
    input:
        inputs_of(edct.TABLE),
        stale=stale(edct.TABLE),
    output:
        **makes(**table_files(edct.TABLE)),
    log:
        log_of(edct.TABLE),
    wildcard_constraints:
        table=one_of(edct.TABLES),
    message:
        "table {wildcards.table}"


use rule stage as edct_metrics with:
    """Headline figures for `dvc metrics`."""
    input:
        tables=inputs_of(edct.METRICS),
        stale=stale(edct.METRICS),
    output:
        **makes(records=at(edct.METRICS)),
    log:
        log_of(edct.METRICS),
    resources:
        **resources_for(mem_mb=1000, runtime="10m"),
    message:
        "metrics"


use rule stage as edct_figure with:
    """One figure, from the table that it shows."""
    input:
        table=inputs_of(edct.FIGURE),
        stale=stale(edct.FIGURE),
    output:
        **makes(**figure_files(edct.FIGURE)),
    log:
        log_of(edct.FIGURE),
    wildcard_constraints:
        figure=one_of(edct.FIGURES),
    resources:
        **resources_for(mem_mb=2000, runtime="10m"),
    message:
        "figure {wildcards.figure}"


use rule stage as edct_report with:
    """The static page: tables, plots and a gallery of items."""
    input:
        inputs_of(edct.REPORT),
        stale=stale(edct.REPORT),
    output:
        **makes(records=at(edct.REPORT)),
    log:
        log_of(edct.REPORT),
    resources:
        **resources_for(mem_mb=4000, runtime="1h"),
    message:
        "report"
