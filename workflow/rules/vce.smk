"""VCE: from images to tables and contact sheets, one job a condition (and shard) (DBVCE, Sections 2 to 4).

Inputs: the plugins that params.yaml names and their model files; the paper's published figures.
Outputs: results/vce/{images,counterfactuals,scores,groups,sheets}/…, a file a condition (and shard), pictures in the folder of
the record file's name; results/vce/{tables,figures}/.
Steps: 1. images of every source class. 2. counterfactuals towards every target. 3. scores of each. 4. scores of groups.
5. tables, figures, headline figures. 6. contact sheets.
What a job is given beside its inputs, and what each pattern is, stands in src/cfeval/vce/jobs.py.
"""


wildcard_constraints:
    image_set=one_of(PARAMS.vce.image_sets if PARAMS.vce else ()),
    denoiser=one_of(PARAMS.vce.denoisers if PARAMS.vce else ()),
    classifier=one_of(PARAMS.vce.classifiers if PARAMS.vce else ()),
    method=one_of(PARAMS.vce.methods if PARAMS.vce else ()),


localrules:
    vce_images_all,
    vce_counterfactuals_all,
    vce_scores_all,
    vce_tables_all,
    vce_sheets_all,


rule vce_images_all:
    """Phase: the images that counterfactuals are made of."""
    input:
        phase("vce.images"),


rule vce_counterfactuals_all:
    """Phase: the counterfactuals."""
    input:
        phase("vce.counterfactuals"),


rule vce_scores_all:
    """Phase: scores of counterfactuals and of groups."""
    input:
        phase("vce.scores", "vce.group-scores"),


rule vce_tables_all:
    """Phase: the paper's tables, figures and metrics."""
    input:
        phase("vce.table", "vce.figure", "vce.metrics"),


rule vce_sheets_all:
    """Phase: contact sheets."""
    input:
        phase("vce.contact-sheet"),


rule vce_images:
    """File some images of every source class, all shards at once."""
    input:
        stale=stale(vce.IMAGES),
    output:
        kept(pictured(whole(vce.IMAGES))),
        made=sidecar(whole(vce.IMAGES)),
    log:
        "logs/vce/images/{image_set}.log",
    resources:
        **needs(vce.IMAGES, mem_mb=2000),
        runtime="1h",
    params:
        job=job_name,
    message:
        "images of {wildcards.image_set}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule vce_counterfactuals:
    """Make the counterfactuals of a condition."""
    input:
        images=pictured(at(vce.IMAGES)),
        stale=stale(vce.COUNTERFACTUALS),
    output:
        kept(pictured(at(vce.COUNTERFACTUALS))),
        made=sidecar(at(vce.COUNTERFACTUALS)),
    log:
        "logs/vce/counterfactuals/{image_set}/{denoiser}/{classifier}/{method}{shard}.log",
    resources:
        **needs(vce.COUNTERFACTUALS, mem_mb=8000),
        runtime="24h",
    params:
        job=job_name,
    message:
        "counterfactuals of {wildcards.classifier} by {wildcards.method} on {wildcards.image_set}{wildcards.shard}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule vce_scores:
    """Score every counterfactual of a condition."""
    input:
        images=pictured(at(vce.IMAGES)),
        counterfactuals=pictured(at(vce.COUNTERFACTUALS)),
        stale=stale(vce.SCORES),
    output:
        kept(at(vce.SCORES)),
        made=sidecar(at(vce.SCORES)),
    log:
        "logs/vce/scores/{image_set}/{denoiser}/{classifier}/{method}{shard}.log",
    resources:
        **needs(vce.SCORES, mem_mb=8000),
        runtime="8h",
    params:
        job=job_name,
    message:
        "scores of {wildcards.classifier} by {wildcards.method} on {wildcards.image_set}{wildcards.shard}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule vce_groups:
    """Score the groups of a condition, all shards together."""
    input:
        images=pictured(whole(vce.IMAGES)),
        counterfactuals=pictured(whole(vce.COUNTERFACTUALS)),
        scores=whole(vce.SCORES),
        stale=stale(vce.GROUPS),
    output:
        kept(at(vce.GROUPS)),
        made=sidecar(at(vce.GROUPS)),
    log:
        "logs/vce/groups/{image_set}/{denoiser}/{classifier}/{method}.log",
    resources:
        **needs(vce.GROUPS, mem_mb=8000),
        runtime="4h",
    params:
        job=job_name,
    message:
        "groups of {wildcards.classifier} by {wildcards.method} on {wildcards.image_set}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule vce_table:
    """One table, from the scores of groups; hypotheses are tested on the scores of counterfactuals."""
    input:
        inputs_of(vce.TABLE),
        stale=stale(vce.TABLE),
    output:
        csv=report(
            kept(at(vce.TABLE)),
            caption="../report/table.rst",
            category="VCE",
            subcategory="Tables",
            labels={"table": "{table}"},
        ),
        md=kept(at(vce.TABLE).replace(".csv", ".md")),
        tex=kept(at(vce.TABLE).replace(".csv", ".tex")),
        made=sidecar(at(vce.TABLE)),
    log:
        "logs/vce/tables/{table}.log",
    wildcard_constraints:
        table=one_of(vce.TABLES),
    resources:
        **needs(vce.TABLE, mem_mb=2000),
        runtime="30m",
    params:
        job=job_name,
    message:
        "table {wildcards.table} of vce"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule vce_metrics:
    """Headline figures for `dvc metrics`."""
    input:
        tables=inputs_of(vce.METRICS),
        stale=stale(vce.METRICS),
    output:
        kept(at(vce.METRICS)),
        made=sidecar(at(vce.METRICS)),
    log:
        "logs/vce/tables/metrics.log",
    resources:
        **needs(vce.METRICS, mem_mb=1000),
        runtime="10m",
    params:
        job=job_name,
    message:
        "metrics of vce"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule vce_figure:
    """One figure, from the table that it shows."""
    input:
        table=inputs_of(vce.FIGURE),
        stale=stale(vce.FIGURE),
    output:
        png=report(
            kept(at(vce.FIGURE)),
            caption="../report/figure.rst",
            category="VCE",
            subcategory="Figures",
            labels={"figure": "{figure}"},
        ),
        svg=kept(at(vce.FIGURE).replace(".png", ".svg")),
        made=sidecar(at(vce.FIGURE)),
    log:
        "logs/vce/figures/{figure}.log",
    wildcard_constraints:
        figure=one_of(vce.FIGURES),
    resources:
        **needs(vce.FIGURE, mem_mb=2000),
        runtime="10m",
    params:
        job=job_name,
    message:
        "figure {wildcards.figure} of vce"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule vce_sheet:
    """The contact sheets of a classifier: originals, and by every method the counterfactual and what changed."""
    input:
        inputs_of(vce.SHEETS),
        stale=stale(vce.SHEETS),
    output:
        kept(at(vce.SHEETS)),
        shown=folder(at(vce.SHEETS)),
        made=sidecar(at(vce.SHEETS)),
    log:
        "logs/vce/sheets/{image_set}/{denoiser}/{classifier}.log",
    resources:
        **needs(vce.SHEETS, mem_mb=2000),
        runtime="30m",
    params:
        job=job_name,
    message:
        "contact sheets of {wildcards.classifier}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"
