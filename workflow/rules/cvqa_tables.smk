"""Tables, figures and headline figures of the cvqa study.

Inputs: questions, answers, scores, drafts and reviews; the paper's published figures; labels of perceived gender, where the
user names some.
Outputs: results/tables/cvqa_{table}.{csv,md,tex}, results/tables/cvqa_metrics.json, results/figures/cvqa_{figure}.{png,svg}.
Steps: 1. tables. 2. figures and metrics from the tables.
"""


rule cvqa_tables:
    """Phase: the paper's tables, figures and metrics."""
    input:
        PHASES["cvqa_tables"],


rule run_cvqa_table:
    """One table, from the files of the study that it is made from."""
    input:
        made=cvqa_made_from,
        genders=[CVQA.genders] if CVQA and CVQA.genders else [],
        reference="data/reference/cvqa.csv",
    output:
        csv=report(
            "results/tables/cvqa_{table}.csv",
            caption="../report/table.rst",
            category="CVQA",
            subcategory="Tables",
            labels={"table": "{table}"},
        ),
        md="results/tables/cvqa_{table}.md",
        tex="results/tables/cvqa_{table}.tex",
    log:
        "logs/cvqa/tables/{table}.log",
    benchmark:
        "benchmarks/cvqa/tables/{table}.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=2000,
        runtime="30m",
    params:
        shards=PARAMS.shards,
        arms=as_json([arm.model_dump() for arm in CVQA_ARMS]),
        sets=as_json(CVQA_SET_FACTS),
        answerers=lambda wildcards: as_json(cvqa_facts()),
        builds=each("--build", CVQA_BUILDS),
        interval=as_json(CVQA.interval.model_dump() if CVQA else {}),
        genders=lambda wildcards, input: each("--genders", input.genders),
        out=lambda wildcards, output: output.csv.removesuffix(".csv"),
        code=lambda wildcards: fingerprint.code("cfeval.cli.cvqa.table", f"cfeval.tables.cvqa_{wildcards.table}"),
    message:
        "table {wildcards.table} of cvqa"
    shell:
        """
        cfeval cvqa table {wildcards.table:q} \
            --results results/cvqa \
            --shards {params.shards} \
            --arms {params.arms:q} \
            --sets {params.sets:q} \
            --answerers {params.answerers:q} \
            {params.builds:q} \
            --interval {params.interval:q} \
            {params.genders:q} \
            --reference {input.reference:q} \
            --out {params.out:q} \
            2>{log:q}
        """


rule run_cvqa_metrics:
    """Headline figures for `dvc metrics`."""
    input:
        expand("results/tables/cvqa_{table}.csv", table=tables.NAMES["cvqa"]),
    output:
        CVQA_METRICS,
    log:
        "logs/cvqa/tables/metrics.log",
    benchmark:
        "benchmarks/cvqa/tables/metrics.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=1000,
        runtime="10m",
    params:
        code=fingerprint.code("cfeval.cli.cvqa.metrics"),
    message:
        "metrics of cvqa"
    shell:
        """
        cfeval cvqa metrics \
            {input:q} \
            --out {output:q} \
            2>{log:q}
        """


rule run_cvqa_figure:
    """One figure, from the table that it shows."""
    input:
        table=lambda wildcards: f"results/tables/cvqa_{figures.TABLE_OF['cvqa'][wildcards.figure]}.csv",
    output:
        png=report(
            "results/figures/cvqa_{figure}.png",
            caption="../report/figure.rst",
            category="CVQA",
            subcategory="Figures",
            labels={"figure": "{figure}"},
        ),
        svg="results/figures/cvqa_{figure}.svg",
    log:
        "logs/cvqa/figures/{figure}.log",
    benchmark:
        "benchmarks/cvqa/figures/{figure}.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=2000,
        runtime="10m",
    params:
        out=lambda wildcards, output: output.png.removesuffix(".png"),
        code=lambda wildcards: fingerprint.code(
            "cfeval.cli.cvqa.figure", f"cfeval.report.figure_cvqa_{wildcards.figure}"
        ),
    message:
        "figure {wildcards.figure} of cvqa"
    shell:
        """
        cfeval cvqa figure {wildcards.figure:q} \
            --table {input.table:q} \
            --out {params.out:q} \
            2>{log:q}
        """
