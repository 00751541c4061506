"""VCE: from images to tables and contact sheets, one job a condition (and shard) (DBVCE, Sections 2 to 4).

Inputs: the plugins that params.yaml names and their model files; the paper's published figures.
Outputs: results/vce/{images,counterfactuals,scores,groups,sheets}/…, a file a condition (and shard), images in the folder of
the record file's name; results/vce/{tables,figures,report}/.
Steps: 1. images of every source class. 2. counterfactuals towards every target. 3. scores of each. 4. scores of groups.
5. tables, figures, headline figures. 6. contact sheets. 7. the report.
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


use rule stage as vce_images with:
    """File some images of every source class, all shards at once."""
    input:
        stale=stale(vce.IMAGES),
    output:
        **makes(records=with_images(whole(vce.IMAGES))),
    log:
        log_of(vce.IMAGES, shard=""),
    resources:
        **resources_for(mem_mb=2000, runtime="1h"),
    message:
        "images of {wildcards.image_set}"


use rule stage as vce_counterfactuals with:
    """Make the counterfactuals of a condition."""
    input:
        images=with_images(at(vce.IMAGES)),
        stale=stale(vce.COUNTERFACTUALS),
    output:
        **makes(records=with_images(at(vce.COUNTERFACTUALS))),
    log:
        log_of(vce.COUNTERFACTUALS),
    resources:
        **resources_for(mem_mb=8000, runtime="24h"),
    message:
        "counterfactuals of {wildcards.classifier} by {wildcards.method} on {wildcards.image_set}{wildcards.shard}"


use rule stage as vce_scores with:
    """Score every counterfactual of a condition."""
    input:
        images=with_images(at(vce.IMAGES)),
        counterfactuals=with_images(at(vce.COUNTERFACTUALS)),
        stale=stale(vce.SCORES),
    output:
        **makes(records=at(vce.SCORES)),
    log:
        log_of(vce.SCORES),
    resources:
        **resources_for(mem_mb=8000, runtime="8h"),
    message:
        "scores of {wildcards.classifier} by {wildcards.method} on {wildcards.image_set}{wildcards.shard}"


use rule stage as vce_groups with:
    """Score the groups of a condition, all shards together."""
    input:
        images=with_images(whole(vce.IMAGES)),
        counterfactuals=with_images(whole(vce.COUNTERFACTUALS)),
        scores=whole(vce.SCORES),
        stale=stale(vce.GROUPS),
    output:
        **makes(records=at(vce.GROUPS)),
    log:
        log_of(vce.GROUPS),
    resources:
        **resources_for(mem_mb=8000, runtime="4h"),
    message:
        "groups of {wildcards.classifier} by {wildcards.method} on {wildcards.image_set}"


use rule stage as vce_table with:
    """One table, from the scores of groups; hypotheses are tested on the scores of counterfactuals."""
    input:
        inputs_of(vce.TABLE),
        stale=stale(vce.TABLE),
    output:
        **makes(**table_files(vce.TABLE)),
    log:
        log_of(vce.TABLE),
    wildcard_constraints:
        table=one_of(vce.TABLES),
    message:
        "table {wildcards.table} of vce"


use rule edct_metrics as vce_metrics with:
    input:
        tables=inputs_of(vce.METRICS),
        stale=stale(vce.METRICS),
    output:
        **makes(records=at(vce.METRICS)),
    log:
        log_of(vce.METRICS),
    message:
        "metrics of vce"


use rule edct_figure as vce_figure with:
    input:
        table=inputs_of(vce.FIGURE),
        stale=stale(vce.FIGURE),
    output:
        **makes(**figure_files(vce.FIGURE)),
    log:
        log_of(vce.FIGURE),
    wildcard_constraints:
        figure=one_of(vce.FIGURES),
    message:
        "figure {wildcards.figure} of vce"


use rule stage as vce_sheet with:
    """The contact sheets of a classifier: originals, and by every method the counterfactual and what changed."""
    input:
        inputs_of(vce.SHEETS),
        stale=stale(vce.SHEETS),
    output:
        **makes(records=at(vce.SHEETS), shown=folder(at(vce.SHEETS))),
    log:
        log_of(vce.SHEETS),
    message:
        "contact sheets of {wildcards.classifier}"


use rule edct_report as vce_report with:
    input:
        inputs_of(vce.REPORT),
        stale=stale(vce.REPORT),
    output:
        **makes(records=at(vce.REPORT)),
    log:
        log_of(vce.REPORT),
    message:
        "report of vce"
