"""EDCT: from samples to the report, one job a data set or condition (and shard) (EDCT 2025, Section 3; EDCT-Bench 2026).

Inputs: what params.yaml names: plugins, their weights and prompts, own data; the papers' published figures.
Outputs: results/edct/{items,baselines,instructions,counterfactuals,checks,requeries,verdicts,scores}/…, a file a condition and
shard, pictures in the folder of the record file's name; results/edct/{calls,tables,figures,report}/.
Steps: 1. samples. 2. baseline: question, then reason. 3. instructions: cited concept and edit. 4. counterfactuals and their
checks. 5. requery: the same two turns on the edited image. 6. verdicts, then scores with status, accuracy and checks. 7. the
calls to models outside. 8. tables, figures, headline figures. 9. the report.
What a job is given beside its inputs, and what each pattern is, stands in src/cfeval/edct/jobs.py. A record names its images
by SHA-256, so that an input with images is its record file alone, unless its pictures lie in an archive.
"""


wildcard_constraints:
    dataset=one_of(PARAMS.edct.datasets),
    vlm=one_of(PARAMS.edct.vlms),
    writer=one_of(PARAMS.edct.instruction_writers),
    protocol=one_of(condition.protocol for condition in PARAMS.edct.conditions()),
    editor=one_of(PARAMS.edct.editors),
    judge=one_of(PARAMS.edct.judges),


localrules:
    edct_items_all,
    edct_baselines_all,
    edct_instructions_all,
    edct_counterfactuals_all,
    edct_requeries_all,
    edct_verdicts_all,
    edct_tables_all,


rule edct_items_all:
    """Phase: the samples of every data set."""
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


rule edct_tables_all:
    """Phase: the papers' tables, figures and metrics."""
    input:
        phase("edct.table", "edct.figure", "edct.metrics"),


rule edct_items:
    """File the samples of a data set and their pictures, all shards at once (Section 4)."""
    input:
        stale=stale(edct.ITEMS),
    output:
        kept(pictured(whole(edct.ITEMS))),
        made=sidecar(whole(edct.ITEMS)),
    log:
        "logs/edct/items/{dataset}.log",
    resources:
        **needs(edct.ITEMS, mem_mb=2000),
        runtime="1h",
    params:
        job=job_name,
    message:
        "samples of {wildcards.dataset}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule edct_baselines:
    """Ask a target model every question and, in the same conversation, the reason (Stage 1)."""
    input:
        samples=pictured(at(edct.ITEMS)),
        stale=stale(edct.BASELINES),
    output:
        kept(at(edct.BASELINES)),
        made=sidecar(at(edct.BASELINES)),
    log:
        "logs/edct/baselines/{dataset}/{vlm}{shard}.log",
    priority: waiting(edct.BASELINES)
    resources:
        **needs(edct.BASELINES, mem_mb=4000),
        runtime="4h",
    params:
        job=job_name,
    message:
        "baseline of {wildcards.vlm} on {wildcards.dataset}{wildcards.shard}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule edct_instructions:
    """Find the cited concept in every explanation and write the edit that changes it (Stage 2)."""
    input:
        samples=pictured(at(edct.ITEMS)),
        baseline=at(edct.BASELINES),
        stale=stale(edct.INSTRUCTIONS),
    output:
        kept(at(edct.INSTRUCTIONS)),
        made=sidecar(at(edct.INSTRUCTIONS)),
    log:
        "logs/edct/instructions/{dataset}/{vlm}/{writer}/{protocol}{shard}.log",
    priority: waiting(edct.INSTRUCTIONS)
    resources:
        **needs(edct.INSTRUCTIONS, mem_mb=2000),
        runtime="2h",
    params:
        job=job_name,
    message:
        "instructions of {wildcards.writer} for {wildcards.vlm} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule edct_counterfactuals:
    """Apply every instruction to its original image (Stage 3)."""
    input:
        samples=pictured(at(edct.ITEMS)),
        instructions=at(edct.INSTRUCTIONS),
        stale=stale(edct.COUNTERFACTUALS),
    output:
        kept(pictured(at(edct.COUNTERFACTUALS))),
        made=sidecar(at(edct.COUNTERFACTUALS)),
    log:
        "logs/edct/counterfactuals/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.log",
    priority: waiting(edct.COUNTERFACTUALS)
    resources:
        **needs(edct.COUNTERFACTUALS, mem_mb=4000),
        runtime="8h",
    params:
        job=job_name,
    message:
        "counterfactuals by {wildcards.editor} for {wildcards.vlm} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule edct_checks:
    """Check every edit: intended attribute, the rest unchanged, changed area."""
    input:
        samples=pictured(at(edct.ITEMS)),
        instructions=at(edct.INSTRUCTIONS),
        counterfactuals=pictured(at(edct.COUNTERFACTUALS)),
        stale=stale(edct.CHECKS),
    output:
        kept(pictured(at(edct.CHECKS))),
        made=sidecar(at(edct.CHECKS)),
    log:
        "logs/edct/checks/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.log",
    resources:
        **needs(edct.CHECKS, mem_mb=4000),
        runtime="2h",
    params:
        job=job_name,
    message:
        "checks of {wildcards.editor} for {wildcards.vlm} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule edct_requeries:
    """Ask the target model the same two turns about every edited image (Stage 4)."""
    input:
        samples=pictured(at(edct.ITEMS)),
        counterfactuals=pictured(at(edct.COUNTERFACTUALS)),
        stale=stale(edct.REQUERIES),
    output:
        kept(at(edct.REQUERIES)),
        made=sidecar(at(edct.REQUERIES)),
    log:
        "logs/edct/requeries/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.log",
    resources:
        **needs(edct.REQUERIES, mem_mb=4000),
        runtime="4h",
    params:
        job=job_name,
    message:
        "requery of {wildcards.vlm} after {wildcards.editor} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule edct_verdicts:
    """Compare answer and explanation before and after every edit (Stage 4, consistency)."""
    input:
        baseline=at(edct.BASELINES),
        instructions=at(edct.INSTRUCTIONS),
        counterfactuals=pictured(at(edct.COUNTERFACTUALS)),
        requery=at(edct.REQUERIES),
        stale=stale(edct.VERDICTS),
    output:
        kept(at(edct.VERDICTS)),
        made=sidecar(at(edct.VERDICTS)),
    log:
        "logs/edct/verdicts/{dataset}/{vlm}/{writer}/{protocol}/{editor}/{judge}{shard}.log",
    resources:
        **needs(edct.VERDICTS, mem_mb=2000),
        runtime="4h",
    params:
        job=job_name,
    message:
        "verdicts of {wildcards.judge} on {wildcards.vlm} after {wildcards.editor} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule edct_scores:
    """Bring verdicts, checks and right answers together, a row per item and edit."""
    input:
        samples=at(edct.ITEMS),
        baseline=at(edct.BASELINES),
        instructions=at(edct.INSTRUCTIONS),
        checks=at(edct.CHECKS),
        verdicts=at(edct.VERDICTS),
        stale=stale(edct.SCORES),
    output:
        kept(at(edct.SCORES)),
        made=sidecar(at(edct.SCORES)),
    log:
        "logs/edct/scores/{dataset}/{vlm}/{writer}/{protocol}/{editor}/{judge}{shard}.log",
    resources:
        **needs(edct.SCORES, mem_mb=1000),
        runtime="30m",
    params:
        job=job_name,
    message:
        "scores of {wildcards.vlm} after {wildcards.editor} by {wildcards.judge} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule edct_calls:
    """Export the calls to models outside that some record came from; those of a former run are kept."""
    input:
        inputs_of(edct.CALLS),
        stale=stale(edct.CALLS),
    output:
        kept(at(edct.CALLS)),
        made=sidecar(at(edct.CALLS)),
    log:
        "logs/edct/calls.log",
    resources:
        **needs(edct.CALLS, mem_mb=2000),
        runtime="30m",
    params:
        job=job_name,
    message:
        "export of the calls"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule edct_table:
    """One table, from the scores of its conditions and of those it rests on beside."""
    input:
        inputs_of(edct.TABLE),
        stale=stale(edct.TABLE),
    output:
        csv=report(
            kept(at(edct.TABLE)),
            caption="../report/table.rst",
            category="EDCT",
            subcategory="Tables",
            labels={"table": "{table}"},
        ),
        md=kept(at(edct.TABLE).replace(".csv", ".md")),
        tex=kept(at(edct.TABLE).replace(".csv", ".tex")),
        made=sidecar(at(edct.TABLE)),
    log:
        "logs/edct/tables/{table}.log",
    wildcard_constraints:
        table=one_of(edct.TABLES),
    resources:
        **needs(edct.TABLE, mem_mb=2000),
        runtime="30m",
    params:
        job=job_name,
    message:
        "table {wildcards.table}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule edct_metrics:
    """Headline figures for `dvc metrics`."""
    input:
        tables=inputs_of(edct.METRICS),
        stale=stale(edct.METRICS),
    output:
        kept(at(edct.METRICS)),
        made=sidecar(at(edct.METRICS)),
    log:
        "logs/edct/tables/metrics.log",
    resources:
        **needs(edct.METRICS, mem_mb=1000),
        runtime="10m",
    params:
        job=job_name,
    message:
        "metrics"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule edct_figure:
    """One figure, from the table that it shows."""
    input:
        table=inputs_of(edct.FIGURE),
        stale=stale(edct.FIGURE),
    output:
        png=report(
            kept(at(edct.FIGURE)),
            caption="../report/figure.rst",
            category="EDCT",
            subcategory="Figures",
            labels={"figure": "{figure}"},
        ),
        svg=kept(at(edct.FIGURE).replace(".png", ".svg")),
        made=sidecar(at(edct.FIGURE)),
    log:
        "logs/edct/figures/{figure}.log",
    wildcard_constraints:
        figure=one_of(edct.FIGURES),
    resources:
        **needs(edct.FIGURE, mem_mb=2000),
        runtime="10m",
    params:
        job=job_name,
    message:
        "figure {wildcards.figure}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule edct_report:
    """The static page: tables, plots and a gallery of items."""
    input:
        inputs_of(edct.REPORT),
        stale=stale(edct.REPORT),
    output:
        kept(at(edct.REPORT)),
        made=sidecar(at(edct.REPORT)),
    log:
        "logs/edct/report.log",
    resources:
        **needs(edct.REPORT, mem_mb=4000),
        runtime="1h",
    params:
        job=job_name,
    message:
        "report"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"
