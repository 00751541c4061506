"""Tables, figures, headline figures and contact sheets of the vce study.

Inputs: scores of groups and of counterfactuals, the paper's published figures.
Outputs: results/tables/vce_{table}.{csv,md,tex}, results/tables/vce_metrics.json, results/figures/vce_{figure}.{png,svg},
results/vce/sheets/{image_set}/{denoiser}/{classifier}.jsonl with SOURCE--TARGET.png in the folder beside.
Steps: 1. tables. 2. figures and metrics from the tables. 3. contact sheets.
"""


rule vce_tables:
    """Phase: the paper's tables, figures and metrics."""
    input:
        PHASES["vce_tables"],


rule run_vce_table:
    """One table, from the scores of groups; hypotheses are tested on the scores of counterfactuals."""
    input:
        groups=vce_made(GROUPS),
        scores=lambda wildcards: vce_made(VCE_SCORES) if wildcards.table == "hypotheses" else [],
        reference="data/reference/dbvce.csv",
    output:
        csv=report(
            "results/tables/vce_{table}.csv",
            caption="../report/table.rst",
            category="VCE",
            subcategory="Tables",
            labels={"table": "{table}"},
        ),
        md="results/tables/vce_{table}.md",
        tex="results/tables/vce_{table}.tex",
    log:
        "logs/vce/tables/{table}.log",
    benchmark:
        "benchmarks/vce/tables/{table}.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=2000,
        runtime="30m",
    params:
        arms=as_json([arm.model_dump() for arm in VCE_ARMS]),
        shards=PARAMS.shards,
        roles=as_json(VCE.roles.model_dump() if VCE else {}),
        cost=as_json({name: {"denoiser_calls": how.denoiser_calls} for name, how in VCE.methods.items()} if VCE else {}),
        scores=lambda wildcards: ["--scores", "results/vce/scores"] if wildcards.table == "hypotheses" else [],
        out=lambda wildcards, output: output.csv.removesuffix(".csv"),
        code=lambda wildcards: fingerprint.code("cfeval.cli.vce.table", f"cfeval.tables.vce_{wildcards.table}"),
    message:
        "table {wildcards.table} of vce"
    shell:
        """
        cfeval vce table {wildcards.table:q} \
            --groups results/vce/groups \
            {params.scores:q} \
            --shards {params.shards} \
            --arms {params.arms:q} \
            --roles {params.roles:q} \
            --cost {params.cost:q} \
            --reference {input.reference:q} \
            --out {params.out:q} \
            2>{log:q}
        """


rule run_vce_metrics:
    """Headline figures for `dvc metrics`."""
    input:
        expand("results/tables/vce_{table}.csv", table=tables.NAMES["vce"]),
    output:
        VCE_METRICS,
    log:
        "logs/vce/tables/metrics.log",
    benchmark:
        "benchmarks/vce/tables/metrics.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=1000,
        runtime="10m",
    params:
        code=fingerprint.code("cfeval.cli.vce.metrics"),
    message:
        "metrics of vce"
    shell:
        """
        cfeval vce metrics \
            {input:q} \
            --out {output:q} \
            2>{log:q}
        """


rule run_vce_figure:
    """One figure, from the table that it shows."""
    input:
        table=lambda wildcards: f"results/tables/vce_{figures.TABLE_OF['vce'][wildcards.figure]}.csv",
    output:
        png=report(
            "results/figures/vce_{figure}.png",
            caption="../report/figure.rst",
            category="VCE",
            subcategory="Figures",
            labels={"figure": "{figure}"},
        ),
        svg="results/figures/vce_{figure}.svg",
    log:
        "logs/vce/figures/{figure}.log",
    benchmark:
        "benchmarks/vce/figures/{figure}.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=2000,
        runtime="10m",
    params:
        out=lambda wildcards, output: output.png.removesuffix(".png"),
        code=lambda wildcards: fingerprint.code("cfeval.cli.vce.figure", f"cfeval.report.figure_vce_{wildcards.figure}"),
    message:
        "figure {wildcards.figure} of vce"
    shell:
        """
        cfeval vce figure {wildcards.figure:q} \
            --table {input.table:q} \
            --out {params.out:q} \
            2>{log:q}
        """


rule run_vce_sheet:
    """The contact sheets of a classifier: originals, and by every method the counterfactual and what changed."""
    input:
        images=lambda wildcards: expand(IMAGES, shard=SHARDS, image_set=wildcards.image_set),
        counterfactuals=vce_beside(EXPLAINED),
        scores=vce_beside(VCE_SCORES),
    output:
        SHEETS,
    log:
        "logs/vce/sheets/{image_set}/{denoiser}/{classifier}.log",
    benchmark:
        "benchmarks/vce/sheets/{image_set}/{denoiser}/{classifier}.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=2000,
        runtime="30m",
    params:
        images=lambda wildcards: IMAGES.format(shard="", image_set=wildcards.image_set),
        rows=vce_rows,
        across=min(VCE.images, 8) if VCE else 1,
        shards=PARAMS.shards,
        pictures=lambda wildcards, output: pictures_of(output),
        code=fingerprint.code("cfeval.cli.vce.sheet"),
    message:
        "contact sheets of {wildcards.classifier}"
    shell:
        """
        rm -rf {params.pictures:q}
        cfeval vce sheet \
            --images {params.images:q} \
            {params.rows:q} \
            --across {params.across} \
            --cut {params.shards} \
            --out {output:q} \
            2>{log:q}
        """
