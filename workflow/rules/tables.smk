"""Tables, figures, headline figures and the report.

Inputs: score files of the arms that edct.tables names; the papers' published figures.
Outputs: results/tables/edct_{table}.{csv,md,tex}, results/tables/metrics.json, results/figures/edct_{figure}.{png,svg},
results/report/index.html.
Steps: 1. tables. 2. figures and metrics from the tables. 3. the report.
"""

REFERENCE = ["data/reference/edct-2025.csv", "data/reference/edct-bench-2026.csv"]
REPEATS = EDCT.repeats()
# Beside the tables that params.yaml fills: those that follow from them.
TABLE_ARMS = {
    **{table: [arm.model_dump() for arm in EDCT.tables.arms(table)] for table in type(EDCT.tables).model_fields},
    "instrument": [arm.model_dump() for arm in EDCT.tables.arms("calibration")],
    "agreement": ARMS,
    "repeats": [arm for arm in ARMS if arm["vlm"] in {*REPEATS, *REPEATS.values()}],
    "comparisons": [arm.model_dump() for table in ("table1", "bench") for arm in EDCT.tables.arms(table)],
}
OF_KNOWN = ("calibration", "instrument")
OF_REPEATS = ("variance", "repeats")
# Arms whose scores a table rests on beside those that it is about: the placebo edits tell the completeness of targets.
PLACEBOS = [{**arm, "protocol": "placebo-edit"} for arm in TABLE_ARMS["calibration"]]
BESIDE = dict.fromkeys(TABLE_ARMS, []) | {"calibration": [arm for arm in PLACEBOS if arm in ARMS]}


rule edct_tables:
    """Phase: the paper's tables, figures and metrics."""
    input:
        PHASES["edct_tables"],


rule edct_report:
    """Phase: the report."""
    input:
        PHASES["edct_report"],


rule run_edct_table:
    """One table, from the scores of its arms and of those it rests on beside."""
    input:
        scores=lambda wildcards: made(SCORES, TABLE_ARMS[wildcards.table] + BESIDE[wildcards.table]),
        reference=REFERENCE,
    output:
        csv=report(
            "results/tables/edct_{table}.csv",
            caption="../report/table.rst",
            category="EDCT",
            subcategory="Tables",
            labels={"table": "{table}"},
        ),
        md="results/tables/edct_{table}.md",
        tex="results/tables/edct_{table}.tex",
    log:
        "logs/edct/tables/{table}.log",
    benchmark:
        "benchmarks/edct/tables/{table}.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=2000,
        runtime="30m",
    params:
        arms=lambda wildcards: as_json(TABLE_ARMS[wildcards.table]),
        beside=lambda wildcards: as_json(BESIDE[wildcards.table]),
        shards=PARAMS.shards,
        interval=as_json(EDCT.interval.model_dump()),
        known=lambda wildcards: as_json(EDCT.known if wildcards.table in OF_KNOWN else {}),
        judge_error=lambda wildcards: as_json(EDCT.judge_error if wildcards.table in OF_KNOWN else ()),
        repeats=lambda wildcards: as_json(REPEATS if wildcards.table in OF_REPEATS else {}),
        test_targets=lambda wildcards: as_json(test_targets(TABLE_ARMS[wildcards.table])),
        references=" ".join(f"--reference {file}" for file in REFERENCE),
        out=lambda wildcards, output: output.csv.removesuffix(".csv"),
        code=lambda wildcards: fingerprint.code("cfeval.cli.edct.table", f"cfeval.tables.edct_{wildcards.table}"),
    message:
        "table {wildcards.table}"
    shell:
        """
        cfeval edct table {wildcards.table:q} \
            --results results/edct \
            --shards {params.shards} \
            --arms {params.arms:q} \
            --beside {params.beside:q} \
            --interval {params.interval:q} \
            {params.references} \
            --known {params.known:q} \
            --judge-error {params.judge_error:q} \
            --repeats {params.repeats:q} \
            --test-targets {params.test_targets:q} \
            --out {params.out:q} \
            2>{log:q}
        """


rule run_edct_metrics:
    """Headline figures for `dvc metrics`."""
    input:
        expand("results/tables/edct_{table}.csv", table=["table1", "table2", "bench", "controls", "calibration"]),
    output:
        METRICS,
    log:
        "logs/edct/tables/metrics.log",
    benchmark:
        "benchmarks/edct/tables/metrics.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=1000,
        runtime="10m",
    params:
        code=code("metrics"),
    message:
        "metrics"
    shell:
        """
        cfeval edct metrics \
            {input:q} \
            --out {output:q} \
            2>{log:q}
        """


rule run_edct_figure:
    """One figure, from the table that it shows."""
    input:
        table=lambda wildcards: f"results/tables/edct_{figures.TABLE_OF['edct'][wildcards.figure]}.csv",
    output:
        png=report(
            "results/figures/edct_{figure}.png",
            caption="../report/figure.rst",
            category="EDCT",
            subcategory="Figures",
            labels={"figure": "{figure}"},
        ),
        svg="results/figures/edct_{figure}.svg",
    log:
        "logs/edct/figures/{figure}.log",
    benchmark:
        "benchmarks/edct/figures/{figure}.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=2000,
        runtime="10m",
    params:
        out=lambda wildcards, output: output.png.removesuffix(".png"),
        code=lambda wildcards: fingerprint.code(
            "cfeval.cli.edct.figure", f"cfeval.report.figure_edct_{wildcards.figure}"
        ),
    message:
        "figure {wildcards.figure}"
    shell:
        """
        cfeval edct figure {wildcards.figure:q} \
            --table {input.table:q} \
            --out {params.out:q} \
            2>{log:q}
        """


rule run_edct_report:
    """The static page: tables, plots and a gallery of items."""
    input:
        tables=expand("results/tables/edct_{table}.csv", table=tables.NAMES["edct"]),
        figures=expand("results/figures/edct_{figure}.svg", figure=figures.TABLE_OF["edct"]),
        samples=made(SAMPLES),
        baseline=made(BASELINE),
        instructions=made(INSTRUCTIONS),
        counterfactuals=made(COUNTERFACTUALS),
        requery=made(REQUERY),
        scores=made(SCORES),
    output:
        REPORT,
    log:
        "logs/edct/report.log",
    benchmark:
        "benchmarks/edct/report.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=4000,
        runtime="1h",
    params:
        arms=as_json(ARMS),
        shards=PARAMS.shards,
        code=fingerprint.code(
            "cfeval.cli.edct.report", *(f"cfeval.tables.edct_{name}" for name in tables.NAMES["edct"])
        ),
        looks=fingerprint.texts(ROOT / "src/cfeval/report/templates"),
    message:
        "report"
    shell:
        """
        cfeval edct report \
            --results results/edct \
            --arms {params.arms:q} \
            --shards {params.shards} \
            --tables results/tables \
            --figures results/figures \
            --out {output:q} \
            2>{log:q}
        """
