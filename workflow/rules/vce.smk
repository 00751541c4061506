"""VCE: images, counterfactuals and their scores, one job an arm and shard (DBVCE, Sections 2 to 4).

Inputs: the backends that params.yaml names and their model files.
Outputs: results/vce/{images,counterfactuals,scores,groups}/…, a file an arm (and shard), pictures in the folder of the
record file's name; results/vce/sheets/…, a contact sheet a classifier and group.
Steps: 1. images of every source class. 2. counterfactuals towards every target. 3. scores of each. 4. scores of groups.
5. contact sheets.
"""


rule vce_images:
    """Phase: the images that counterfactuals are made of."""
    input:
        PHASES["vce_images"],


rule vce_counterfactuals:
    """Phase: the counterfactuals."""
    input:
        PHASES["vce_counterfactuals"],


rule vce_scores:
    """Phase: scores of counterfactuals and of groups."""
    input:
        PHASES["vce_scores"],


rule vce_sheets:
    """Phase: contact sheets."""
    input:
        PHASES["vce_sheets"],


rule run_vce_images:
    """File some images of every source class, all shards at once."""
    input:
        files=files_behind(vce_source),
    output:
        expand(IMAGES, shard=SHARDS, allow_missing=True),
    log:
        "logs/vce/images/{image_set}.log",
    benchmark:
        "benchmarks/vce/images/{image_set}.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=2000,
        runtime="1h",
    params:
        image_set=lambda wildcards: as_json(vce_spec("image_sets", wildcards.image_set)),
        labels=lambda wildcards: each("--label", [one.source for one in VCE.groups]),
        n_images=VCE.images if VCE else 0,
        size=VCE.size if VCE else 0,
        seed=VCE.seed if VCE else 0,
        shards=PARAMS.shards,
        out=vce_all_shards(IMAGES),
        before=vce_all_shards(IMAGES, ending=""),
        code=code_behind("vce.images", vce_source),
    message:
        "images of {wildcards.image_set}"
    shell:
        """
        rm -rf {params.before:q}
        cfeval vce images \
            --image-set {params.image_set:q} \
            {params.labels:q} \
            --count {params.n_images} \
            --size {params.size} \
            --seed {params.seed} \
            --shards {params.shards} \
            --out {params.out:q} \
            2>{log:q}
        """


rule run_vce_explain:
    """Make the counterfactuals of an arm."""
    input:
        images=IMAGES,
        files=files_behind(vce_backends),
    output:
        EXPLAINED,
    log:
        "logs/vce/counterfactuals/{image_set}/{denoiser}/{classifier}/{method}{shard}.log",
    benchmark:
        "benchmarks/vce/counterfactuals/{image_set}/{denoiser}/{classifier}/{method}{shard}.tsv"
    resources:
        gpu=gpus_behind(vce_backends),
        gpu_model=gpu_model_behind(vce_backends),
        api_slots=0,
        compute=VCE_COMPUTE,
        mem_mb=memory(8000, gpus_behind(vce_backends)),
        runtime="24h",
    params:
        denoiser=lambda wildcards: as_json(vce_spec("denoisers", wildcards.denoiser)),
        classifier=lambda wildcards: as_json(vce_spec("classifiers", wildcards.classifier)),
        robust=vce_robust,
        perceptual=vce_perceptual,
        method=lambda wildcards: as_json(VCE.methods[wildcards.method].resolved()),
        groups=lambda wildcards: as_json([group.model_dump() for group in VCE.groups_of(vce_arm(wildcards))]),
        repeats=lambda wildcards: VCE.repeats_of(vce_arm(wildcards)),
        noise=lambda wildcards: "--same-noise" if VCE.same_noise else "--no-same-noise",
        seed=VCE.seed if VCE else 0,
        precision=lambda wildcards: VCE.compute.precision,
        pictures=lambda wildcards, output: pictures_of(output),
        code=code_behind("vce.explain", vce_backends),
    message:
        "counterfactuals of {wildcards.classifier} by {wildcards.method} on {wildcards.image_set}{wildcards.shard}"
    shell:
        """
        rm -rf {params.pictures:q}
        cfeval vce explain \
            --images {input.images:q} \
            --denoiser {params.denoiser:q} \
            --classifier {params.classifier:q} \
            --robust={params.robust:q} \
            --perceptual={params.perceptual:q} \
            --method {params.method:q} \
            --groups {params.groups:q} \
            --repeats {params.repeats} \
            {params.noise} \
            --seed {params.seed} \
            --compute {resources.compute:q} \
            --out {output:q} \
            2>{log:q}
        """


rule run_vce_score:
    """Score every counterfactual of an arm."""
    input:
        images=IMAGES,
        counterfactuals=EXPLAINED,
        files=files_behind(vce_judges),
    output:
        VCE_SCORES,
    log:
        "logs/vce/scores/{image_set}/{denoiser}/{classifier}/{method}{shard}.log",
    benchmark:
        "benchmarks/vce/scores/{image_set}/{denoiser}/{classifier}/{method}{shard}.tsv"
    resources:
        gpu=gpus_behind(vce_judges),
        gpu_model=gpu_model_behind(vce_judges),
        api_slots=0,
        batch=VCE_BATCH,
        mem_mb=memory(8000, gpus_behind(vce_judges)),
        runtime="8h",
    params:
        classifier=lambda wildcards: as_json(vce_spec("classifiers", wildcards.classifier)),
        oracles=lambda wildcards: as_json(VCE.oracles_of(vce_arm(wildcards))),
        perceptual=specs_as_json("perceptual"),
        embeddings=specs_as_json("embeddings"),
        cout_steps=VCE.cout_steps if VCE else 0,
        evaluation=lambda wildcards: f"--{VCE.methods[wildcards.method].mode or 'paper'}",
        code=code_behind("vce.score", vce_judges),
    message:
        "scores of {wildcards.classifier} by {wildcards.method} on {wildcards.image_set}{wildcards.shard}"
    shell:
        """
        cfeval vce score \
            --images {input.images:q} \
            --counterfactuals {input.counterfactuals:q} \
            --classifier {params.classifier:q} \
            --oracles {params.oracles:q} \
            --perceptual {params.perceptual:q} \
            --embeddings {params.embeddings:q} \
            --cout-steps {params.cout_steps} \
            --batch {resources.batch} \
            {params.evaluation} \
            --out {output:q} \
            2>{log:q}
        """


rule run_vce_group:
    """Score the groups of an arm, all shards together."""
    input:
        images=lambda wildcards: expand(IMAGES, shard=SHARDS, image_set=wildcards.image_set),
        counterfactuals=lambda wildcards: expand(EXPLAINED, shard=SHARDS, **wildcards),
        scores=lambda wildcards: expand(VCE_SCORES, shard=SHARDS, **wildcards),
        files=files_behind(vce_comparing),
    output:
        GROUPS,
    log:
        "logs/vce/groups/{image_set}/{denoiser}/{classifier}/{method}.log",
    benchmark:
        "benchmarks/vce/groups/{image_set}/{denoiser}/{classifier}/{method}.tsv"
    resources:
        gpu=gpus_behind(vce_comparing),
        gpu_model=gpu_model_behind(vce_comparing),
        api_slots=0,
        mem_mb=memory(8000, gpus_behind(vce_comparing)),
        runtime="4h",
    params:
        arm=lambda wildcards: as_json(vce_arm(wildcards).model_dump()),
        scores=vce_all_shards(VCE_SCORES),
        images=vce_all_shards(IMAGES),
        counterfactuals=vce_all_shards(EXPLAINED),
        perceptual=specs_as_json("perceptual"),
        features=specs_as_json("features"),
        targets=vce_targets,
        evaluation=lambda wildcards: f"--{VCE.methods[wildcards.method].mode or 'paper'}",
        seed=VCE.seed if VCE else 0,
        shards=PARAMS.shards,
        code=code_behind("vce.group", vce_comparing),
    message:
        "groups of {wildcards.classifier} by {wildcards.method} on {wildcards.image_set}"
    shell:
        """
        cfeval vce group \
            {params.scores:q} \
            --cut {params.shards} \
            --arm {params.arm:q} \
            --images {params.images:q} \
            --counterfactuals {params.counterfactuals:q} \
            --perceptual {params.perceptual:q} \
            --features {params.features:q} \
            {params.targets:q} \
            {params.evaluation} \
            --seed {params.seed} \
            --out {output:q} \
            2>{log:q}
        """
