"""VCE: from images to tables and contact sheets (DBVCE, Sections 2 to 4).

Inputs: what params.yaml names: plugins and their weights, own images and masks; the papers' published figures.
Outputs: <results>/vce/STEP/…: a record file each, images in the folder, or the archive, of the record file's name; beside
each output its record, OUTPUT.made.json.
Steps: 1. images of every source class. 2. counterfactuals towards every target. 3. scores of each. 4. scores of groups,
all shards together. 5. tables with headline figures, and figures. 6. contact sheets. 7. the report.
A record names its images by SHA-256, so that an input with images is its record file alone, unless its images lie in an
archive.
"""


include: "vce_common.smk"


localrules:
    vce_images_all,
    vce_counterfactuals_all,
    vce_scores_all,
    vce_tables_all,
    vce_sheets_all,


rule vce_images_all:
    """Phase: the images that counterfactuals are made of."""
    input:
        each(VCE_IMAGES, VCE_CONDITIONS),


rule vce_counterfactuals_all:
    """Phase: the counterfactuals."""
    input:
        each(VCE_COUNTERFACTUALS, VCE_CONDITIONS),


rule vce_scores_all:
    """Phase: scores of counterfactuals and of groups."""
    input:
        each(VCE_SCORES, VCE_CONDITIONS),
        each(VCE_GROUPS, VCE_CONDITIONS),


rule vce_tables_all:
    """Phase: the paper's tables, figures and metrics."""
    input:
        VCE_TABLES,
        VCE_METRICS,
        VCE_FIGURES,


rule vce_sheets_all:
    """Phase: contact sheets."""
    input:
        each(VCE_SHEETS, VCE_CONDITIONS),


rule vce_images:
    """File some images of every source class, all shards at once (Section 4)."""
    output:
        whole(VCE_IMAGES),
        made("<results>/vce/images/{image_set}.jsonl"),
    log:
        "logs/vce/images/{image_set}.log",
    priority: 90
    resources:
        **needs("image_sets", VCE.image_sets, "image_set", mem_mb=2000, runtime="1h"),
    params:
        out=vce_whole(VCE_IMAGES),
        image_set=lambda wildcards: plugin(VCE.image_sets, wildcards.image_set),
        labels=[f"--label={one.source}" for one in VCE.groups],
        number=VCE.images,
        size=VCE.size,
        seed=VCE.seed,
        cut=CUT,
    message:
        "images of {wildcards.image_set}"
    shell:
        "cfeval vce images --image-set {params.image_set:q} {params.labels:q} --count {params.number} "
        "--size {params.size} --seed {params.seed} {params.cut} --out {params.out} 2> {log:q}"


rule vce_counterfactuals:
    """Make the counterfactuals of a condition: images towards the targets of their classes (Sections 2.3 and 4)."""
    input:
        images=with_images(VCE_IMAGES),
    output:
        out=with_images(VCE_COUNTERFACTUALS),
        record=made(VCE_COUNTERFACTUALS),
    log:
        "logs/vce/counterfactuals/{image_set}/{denoiser}/{classifier}/{method}{shard}.log",
    wildcard_constraints:
        method=one_of(VCE.methods),
    priority: 60
    resources:
        **vce_needs(vce_asked.makers, mem_mb=8000, runtime="24h"),
    params:
        denoiser=lambda wildcards: plugin(VCE.denoisers, wildcards.denoiser),
        classifier=lambda wildcards: plugin(VCE.classifiers, wildcards.classifier),
        robust=lambda wildcards: plugin(VCE.classifiers, vce_asked.robust_of(VCE, vce_condition(wildcards))),
        perceptual=lambda wildcards: plugin(
            VCE.perceptual_metrics, vce_asked.perceptual_of(VCE, vce_condition(wildcards))
        ),
        method=lambda wildcards: as_json(VCE.methods[wildcards.method].resolved()),
        groups=lambda wildcards: as_json([one.model_dump() for one in VCE.groups_of(vce_condition(wildcards))]),
        repeats=lambda wildcards: VCE.repeats_of(vce_condition(wildcards)),
        noise="--same-noise" if VCE.same_noise else "--no-same-noise",
        seed=VCE.seed,
        precision=VCE.compute.precision,
        compute=lambda wildcards: as_json(VCE.compute.model_dump()),
        archive=ARCHIVE,
    message:
        "counterfactuals of {wildcards.classifier} by {wildcards.method} on {wildcards.image_set}{wildcards.shard}"
    shell:
        "cfeval vce counterfactuals --images {input.images[0]} --denoiser {params.denoiser:q} "
        "--classifier {params.classifier:q} --robust={params.robust:q} --perceptual={params.perceptual:q} "
        "--method {params.method:q} --groups {params.groups:q} --repeats {params.repeats} {params.noise} "
        "--seed {params.seed} --precision {params.precision} --compute {params.compute:q} {params.archive} "
        "--out {output.out[0]} 2> {log:q}"


rule vce_concept_edits:
    """Make the counterfactuals of a condition by edits of what sets source and target apart, one concept at a time."""
    input:
        images=with_images(VCE_IMAGES),
    output:
        out=with_images(VCE_COUNTERFACTUALS),
        record=made(VCE_COUNTERFACTUALS),
    log:
        "logs/vce/counterfactuals/{image_set}/{denoiser}/{classifier}/{method}{shard}.log",
    wildcard_constraints:
        method=one_of(VCE.concept_editors),
    priority: 60
    resources:
        **vce_needs(vce_asked.makers, mem_mb=8000, runtime="24h"),
    params:
        editor=lambda wildcards: plugin(VCE.concept_editors, wildcards.method),
        classifier=lambda wildcards: plugin(VCE.classifiers, wildcards.classifier),
        groups=lambda wildcards: as_json([one.model_dump() for one in VCE.groups_of(vce_condition(wildcards))]),
        seed=VCE.seed,
        archive=ARCHIVE,
    message:
        "edits for {wildcards.classifier} by {wildcards.method} on {wildcards.image_set}{wildcards.shard}"
    shell:
        "cfeval vce concept-edits --images {input.images[0]} --editor {params.editor:q} "
        "--classifier {params.classifier:q} --groups {params.groups:q} --seed {params.seed} {params.archive} "
        "--out {output.out[0]} 2> {log:q}"


rule vce_scores:
    """Score every counterfactual of a condition: what classifiers say, how far it is from its original (Section 3)."""
    input:
        images=with_images(VCE_IMAGES),
        counterfactuals=with_images(VCE_COUNTERFACTUALS),
    output:
        out=VCE_SCORES,
        record=made(VCE_SCORES),
    log:
        "logs/vce/scores/{image_set}/{denoiser}/{classifier}/{method}{shard}.log",
    priority: 50
    resources:
        **vce_needs(vce_asked.measures, mem_mb=8000, runtime="8h"),
    params:
        classifier=lambda wildcards: plugin(VCE.classifiers, wildcards.classifier),
        oracles=lambda wildcards: as_json(VCE.oracles_of(vce_condition(wildcards))),
        perceptual=lambda wildcards: vce_plugins(VCE.perceptual_metrics),
        embeddings=lambda wildcards: vce_plugins(VCE.embeddings),
        cout_steps=VCE.cout_steps,
        evaluation=vce_evaluation,
        batch=VCE.compute.batch,
    message:
        "scores of {wildcards.classifier} by {wildcards.method} on {wildcards.image_set}{wildcards.shard}"
    shell:
        "cfeval vce scores --images {input.images[0]} --counterfactuals {input.counterfactuals[0]} "
        "--classifier {params.classifier:q} --oracles {params.oracles:q} --perceptual {params.perceptual:q} "
        "--embeddings {params.embeddings:q} --cout-steps {params.cout_steps} {params.evaluation} --batch {params.batch} "
        "--out {output.out} 2> {log:q}"


rule vce_groups:
    """Score the groups of a condition, all shards together (Section 3, Table 2)."""
    input:
        images=whole(VCE_IMAGES),
        counterfactuals=whole(VCE_COUNTERFACTUALS),
        scores=expand(VCE_SCORES, shard=SHARDS, allow_missing=True),
    output:
        out=VCE_GROUPS,
        record=made(VCE_GROUPS),
    log:
        "logs/vce/groups/{image_set}/{denoiser}/{classifier}/{method}.log",
    priority: 40
    resources:
        **vce_needs(vce_asked.measures_of_groups, mem_mb=8000, runtime="4h"),
    params:
        scores=vce_whole(VCE_SCORES),
        images=vce_whole(VCE_IMAGES),
        counterfactuals=vce_whole(VCE_COUNTERFACTUALS),
        shards=PARAMS.shards,
        condition=lambda wildcards: as_json(vce_condition(wildcards).model_dump()),
        perceptual=lambda wildcards: vce_plugins(VCE.perceptual_metrics),
        features=lambda wildcards: vce_plugins(VCE.feature_extractors),
        attributes=lambda wildcards: vce_plugins(VCE.attribute_classifiers),
        targets=vce_targets,
        evaluation=vce_evaluation,
        seed=VCE.seed,
    message:
        "groups of {wildcards.classifier} by {wildcards.method} on {wildcards.image_set}"
    shell:
        "cfeval vce group-scores {params.scores} --cut {params.shards} --condition {params.condition:q} "
        "--images {params.images} --counterfactuals {params.counterfactuals} --perceptual {params.perceptual:q} "
        "--features {params.features:q} --attributes {params.attributes:q} {params.targets:q} {params.evaluation} "
        "--seed {params.seed} --out {output.out} 2> {log:q}"


rule vce_networks:
    """Look at the classifiers of the study: parameters, and accuracy on the originals (Table 1)."""
    input:
        images=whole(VCE_IMAGES),
    output:
        out=VCE_NETWORKS,
        record=made(VCE_NETWORKS),
    log:
        "logs/vce/networks/{image_set}.log",
    resources:
        gpu=lambda wildcards: vce_needs_of_classifiers(wildcards)["gpu"],
        gpu_model=lambda wildcards: vce_needs_of_classifiers(wildcards)["gpu_model"],
        mem_mb=lambda wildcards: max(8000, 32000 * vce_needs_of_classifiers(wildcards)["gpu"]),
        runtime="1h",
    params:
        images=vce_whole(VCE_IMAGES),
        classifiers=lambda wildcards: vce_plugins(vce_classifiers(wildcards)),
        shards=PARAMS.shards,
        batch=VCE.compute.batch,
    message:
        "classifiers on {wildcards.image_set}"
    shell:
        "cfeval vce networks --images {params.images} --classifiers {params.classifiers:q} --cut {params.shards} "
        "--batch {params.batch} --out {output.out} 2> {log:q}"


rule vce_tables:
    """All tables, from the scores of groups and of counterfactuals, and their headline figures for `dvc metrics`."""
    input:
        each(VCE_GROUPS, VCE_CONDITIONS),
        each(VCE_SCORES, VCE_CONDITIONS),
        each(VCE_NETWORKS, VCE_CONDITIONS),
    output:
        in_report("vce", "table", VCE_TABLES),
        VCE_METRICS,
        made("<results>/vce/tables"),
    log:
        "logs/vce/tables.log",
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        study=kept(vce_asked.asked_tables(VCE, PARAMS.shards).as_json(), "vce-tables"),
        results=folder_of("vce"),
    message:
        "tables of vce"
    shell:
        "cfeval vce tables --study {params.study:q} --results {params.results} --out {params.results}/tables 2> {log:q}"


rule vce_figures:
    """All figures, each from the table that it shows."""
    input:
        VCE_TABLES,
    output:
        in_report("vce", "figure", VCE_FIGURES),
        made("<results>/vce/figures"),
    log:
        "logs/vce/figures.log",
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        figures=[f"--figure {figure}" for figure in VCE_DRAWN],
        results=folder_of("vce"),
    message:
        "figures of vce"
    shell:
        "cfeval vce figures --tables {params.results}/tables {params.figures} --out {params.results}/figures 2> {log:q}"


rule vce_sheets:
    """The contact sheets of a classifier: originals, and by every method the counterfactual and what changed."""
    input:
        images=whole(VCE_IMAGES),
        counterfactuals=lambda wildcards: each_with_images(VCE_COUNTERFACTUALS, vce_of_sheet(wildcards)),
        scores=lambda wildcards: each(VCE_SCORES, vce_of_sheet(wildcards)),
    output:
        out=VCE_SHEETS,
        images=[directory(VCE_SHEETS.removesuffix(".jsonl"))] if STORED else [],
        record=made(VCE_SHEETS),
    log:
        "logs/vce/sheets/{image_set}/{denoiser}/{classifier}.log",
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        images=vce_whole(VCE_IMAGES),
        lanes=vce_lanes,
        across=min(VCE.images, VCE_ON_SHEET),
        shards=PARAMS.shards,
    message:
        "contact sheets of {wildcards.classifier}"
    shell:
        "cfeval vce contact-sheet --images {params.images} {params.lanes:q} --across {params.across} "
        "--cut {params.shards} --out {output.out} 2> {log:q}"


rule vce_report:
    """The static page: how counterfactuals end, examples, tables, figures, and every image under all classifiers."""
    input:
        VCE_TABLES,
        VCE_FIGURES,
        each_with_images(VCE_IMAGES, VCE_CONDITIONS),
        each_with_images(VCE_COUNTERFACTUALS, VCE_CONDITIONS),
        each(VCE_SCORES, VCE_CONDITIONS),
    output:
        out=VCE_REPORT,
        record=made(VCE_REPORT),
    log:
        "logs/vce/report.log",
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        study=kept(vce_asked.asked_report(VCE, PARAMS.shards).as_json(), "vce-report"),
        results=folder_of("vce"),
    message:
        "report of vce"
    shell:
        "cfeval vce report --study {params.study:q} --results {params.results} --out {output.out} 2> {log:q}"
