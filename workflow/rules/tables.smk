"""Tables, figures, headline figures and the report.

Inputs: score files of the arms that edct.tables and edct.calibration name; the papers' published figures.
Outputs: results/tables/edct_{table1,table2,calibration}.{csv,md,tex}, results/tables/metrics.json,
results/figures/edct_{forest,calibration}.{png,svg}, results/report/index.html.
Steps: 1. tables. 2. figures and metrics from the tables. 3. the report.
"""

TABLE1_ARMS = [arm.model_dump() for block in EDCT.tables.table1 for arm in block.arms()]
TABLE2_ARMS = [arm.model_dump() for block in EDCT.tables.table2 for arm in block.arms()]
CALIBRATION_ARMS = [arm for arm in TABLE1_ARMS if arm["vlm"] in EDCT.calibration]
REFERENCE = "data/reference/edct-2025.csv"


rule edct_tables:
    """Phase: the paper's tables, figures and metrics."""
    input:
        PHASES["edct_tables"],


rule edct_report:
    """Phase: the report."""
    input:
        PHASES["edct_report"],


rule run_edct_table1:
    """Table 1: targets side by side."""
    input:
        scores=made(SCORES, TABLE1_ARMS),
        reference=REFERENCE,
    output:
        csv=report(
            "results/tables/edct_table1.csv",
            caption="../report/table1.rst",
            category="EDCT",
            subcategory="Tables",
            labels={"table": "1, targets"},
        ),
        md="results/tables/edct_table1.md",
        tex="results/tables/edct_table1.tex",
    log:
        "logs/edct/tables/table1.log",
    benchmark:
        "benchmarks/edct/tables/table1.tsv"
    resources:
        gpu=0,
        api_slots=0,
        mem_mb=2000,
        runtime="30m",
    params:
        arms=as_json(TABLE1_ARMS),
        interval=as_json(EDCT.interval.model_dump()),
        test_targets=as_json(test_targets(TABLE1_ARMS)),
        out=lambda wildcards, output: output.csv.removesuffix(".csv"),
        code=code("table1"),
    message:
        "table 1"
    shell:
        """
        cfeval edct table1 \
            {input.scores:q} \
            --arms {params.arms:q} \
            --interval {params.interval:q} \
            --reference {input.reference:q} \
            --test-targets {params.test_targets:q} \
            --out {params.out:q} \
            2>{log:q}
        """


rule run_edct_table2:
    """Table 2: one target under several judges and editors."""
    input:
        scores=made(SCORES, TABLE2_ARMS),
        reference=REFERENCE,
    output:
        csv=report(
            "results/tables/edct_table2.csv",
            caption="../report/table2.rst",
            category="EDCT",
            subcategory="Tables",
            labels={"table": "2, judges and editors"},
        ),
        md="results/tables/edct_table2.md",
        tex="results/tables/edct_table2.tex",
    log:
        "logs/edct/tables/table2.log",
    benchmark:
        "benchmarks/edct/tables/table2.tsv"
    resources:
        gpu=0,
        api_slots=0,
        mem_mb=2000,
        runtime="30m",
    params:
        arms=as_json(TABLE2_ARMS),
        interval=as_json(EDCT.interval.model_dump()),
        test_targets=as_json(test_targets(TABLE2_ARMS)),
        out=lambda wildcards, output: output.csv.removesuffix(".csv"),
        code=code("table2"),
    message:
        "table 2"
    shell:
        """
        cfeval edct table2 \
            {input.scores:q} \
            --arms {params.arms:q} \
            --interval {params.interval:q} \
            --reference {input.reference:q} \
            --test-targets {params.test_targets:q} \
            --out {params.out:q} \
            2>{log:q}
        """


rule run_edct_calibration:
    """Does CCS follow what is known of the built-in targets?"""
    input:
        scores=made(SCORES, CALIBRATION_ARMS),
    output:
        csv=report(
            "results/tables/edct_calibration.csv",
            caption="../report/calibration.rst",
            category="EDCT",
            subcategory="Tables",
            labels={"table": "calibration"},
        ),
        md="results/tables/edct_calibration.md",
        tex="results/tables/edct_calibration.tex",
    log:
        "logs/edct/tables/calibration.log",
    benchmark:
        "benchmarks/edct/tables/calibration.tsv"
    resources:
        gpu=0,
        api_slots=0,
        mem_mb=2000,
        runtime="30m",
    params:
        arms=as_json(CALIBRATION_ARMS),
        known=as_json(EDCT.calibration),
        interval=as_json(EDCT.interval.model_dump()),
        out=lambda wildcards, output: output.csv.removesuffix(".csv"),
        code=code("calibration"),
    message:
        "calibration table"
    shell:
        """
        cfeval edct calibration \
            {input.scores:q} \
            --arms {params.arms:q} \
            --known {params.known:q} \
            --interval {params.interval:q} \
            --out {params.out:q} \
            2>{log:q}
        """


rule run_edct_metrics:
    """Headline figures for `dvc metrics`."""
    input:
        table1="results/tables/edct_table1.csv",
        table2="results/tables/edct_table2.csv",
        calibration="results/tables/edct_calibration.csv",
    output:
        METRICS,
    log:
        "logs/edct/tables/metrics.log",
    benchmark:
        "benchmarks/edct/tables/metrics.tsv"
    resources:
        gpu=0,
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
            --table1 {input.table1:q} \
            --table2 {input.table2:q} \
            --calibration {input.calibration:q} \
            --out {output:q} \
            2>{log:q}
        """


rule run_edct_forest:
    """Forest plot of CCS with intervals."""
    input:
        table="results/tables/edct_table1.csv",
    output:
        png=report(
            "results/figures/edct_forest.png",
            caption="../report/forest.rst",
            category="EDCT",
            subcategory="Figures",
            labels={"figure": "forest"},
        ),
        svg="results/figures/edct_forest.svg",
    log:
        "logs/edct/figures/forest.log",
    benchmark:
        "benchmarks/edct/figures/forest.tsv"
    resources:
        gpu=0,
        api_slots=0,
        mem_mb=2000,
        runtime="10m",
    params:
        out=lambda wildcards, output: output.png.removesuffix(".png"),
        code=code("forest"),
    message:
        "forest plot"
    shell:
        """
        cfeval edct forest \
            --table {input.table:q} \
            --out {params.out:q} \
            2>{log:q}
        """


rule run_edct_calibration_plot:
    """Calibration plot: CCS against the known share."""
    input:
        table="results/tables/edct_calibration.csv",
    output:
        png=report(
            "results/figures/edct_calibration.png",
            caption="../report/calibration.rst",
            category="EDCT",
            subcategory="Figures",
            labels={"figure": "calibration"},
        ),
        svg="results/figures/edct_calibration.svg",
    log:
        "logs/edct/figures/calibration.log",
    benchmark:
        "benchmarks/edct/figures/calibration.tsv"
    resources:
        gpu=0,
        api_slots=0,
        mem_mb=2000,
        runtime="10m",
    params:
        out=lambda wildcards, output: output.png.removesuffix(".png"),
        code=code("calibration_plot"),
    message:
        "calibration plot"
    shell:
        """
        cfeval edct calibration-plot \
            --table {input.table:q} \
            --out {params.out:q} \
            2>{log:q}
        """


rule run_edct_report:
    """The static page: tables, plots and a gallery of items."""
    input:
        table1="results/tables/edct_table1.csv",
        table2="results/tables/edct_table2.csv",
        calibration="results/tables/edct_calibration.csv",
        forest="results/figures/edct_forest.svg",
        calibration_plot="results/figures/edct_calibration.svg",
        samples=made(SAMPLES),
        baseline=made(BASELINE),
        instructions=made(INSTRUCTIONS),
        counterfactuals=made(COUNTERFACTUALS),
        requery=made(REQUERY),
        verdicts=made(VERDICTS),
        scores=made(SCORES),
    output:
        REPORT,
    log:
        "logs/edct/report.log",
    benchmark:
        "benchmarks/edct/report.tsv"
    resources:
        gpu=0,
        api_slots=0,
        mem_mb=4000,
        runtime="1h",
    params:
        arms=as_json(ARMS),
        shards=PARAMS.shards,
        code=code("report"),
        looks=fingerprint.texts(ROOT / "src/cfeval/report/templates"),
    message:
        "report"
    shell:
        """
        cfeval edct report \
            --results results/edct \
            --arms {params.arms:q} \
            --shards {params.shards} \
            --table1 {input.table1:q} \
            --table2 {input.table2:q} \
            --calibration {input.calibration:q} \
            --forest {input.forest:q} \
            --calibration-plot {input.calibration_plot:q} \
            --out {output:q} \
            2>{log:q}
        """
