"""EDCT: the stages of the study, one job an arm and shard (Explanation-Driven Counterfactual Testing, 2025, Section 3).

Inputs: samples (data.smk), the backends that params.yaml names and their model files, prompts.
Outputs: results/edct/{baseline,instructions,counterfactuals,checks,requery,verdicts,scores}/…, a file an arm and shard;
counterfactual images in the folder of the record file's name.
Steps: 1. baseline: question, then reason. 2. instructions: cited concept and edit. 3. counterfactuals and their checks.
4. requery: the same two turns on the edited image. 5. verdicts, then scores with status, accuracy and checks.
A record names its images by SHA-256, so that an input with images is its record file alone.
"""


rule edct_baseline:
    """Phase: what every target says about the original images."""
    input:
        PHASES["edct_baseline"],


rule edct_instructions:
    """Phase: what every explanation cites, and the edit that changes it."""
    input:
        PHASES["edct_instructions"],


rule edct_counterfactuals:
    """Phase: the edited images and how good the edits are."""
    input:
        PHASES["edct_counterfactuals"],


rule edct_requery:
    """Phase: what every target says about the edited images."""
    input:
        PHASES["edct_requery"],


rule edct_judge:
    """Phase: verdicts and scores."""
    input:
        PHASES["edct_judge"],


rule edct_calls:
    """Phase: the calls that the records name, for a replay without a key."""
    input:
        PHASES["edct_calls"],


rule run_edct_baseline:
    """Ask a target model every question and, in the same conversation, the reason (Stage 1)."""
    input:
        samples=SAMPLES,
        files=model_files("vlms", "vlm"),
    output:
        BASELINE,
    log:
        "logs/edct/baseline/{dataset}/{vlm}{shard}.log",
    benchmark:
        "benchmarks/edct/baseline/{dataset}/{vlm}{shard}.tsv"
    resources:
        gpu=gpus("vlms", "vlm"),
        gpu_model=gpu_model("vlms", "vlm"),
        api_slots=api_slots("vlms", "vlm"),
        mem_mb=memory(4000, gpus("vlms", "vlm")),
        runtime="4h",
    params:
        vlm=backend("vlms", "vlm"),
        seed=target_seed,
        prompts=PROMPTS,
        templates=PROMPT_HASH,
        code=code("baseline", "vlms", "vlm"),
    message:
        "baseline of {wildcards.vlm} on {wildcards.dataset}{wildcards.shard}"
    shell:
        """
        cfeval edct baseline \
            --samples {input.samples:q} \
            --vlm {params.vlm:q} \
            --seed {params.seed} \
            --prompts={params.prompts:q} \
            --out {output:q} \
            2>{log:q}
        """


rule run_edct_instruct:
    """Find the cited concept in every explanation and write the edit that changes it (Stage 2)."""
    input:
        samples=SAMPLES,
        baseline=BASELINE,
        files=model_files("writers", "writer"),
    output:
        INSTRUCTIONS,
    log:
        "logs/edct/instructions/{dataset}/{vlm}/{writer}/{protocol}{shard}.log",
    benchmark:
        "benchmarks/edct/instructions/{dataset}/{vlm}/{writer}/{protocol}{shard}.tsv"
    resources:
        gpu=gpus("writers", "writer"),
        gpu_model=gpu_model("writers", "writer"),
        api_slots=api_slots("writers", "writer"),
        mem_mb=memory(2000, gpus("writers", "writer")),
        runtime="2h",
    params:
        writer=backend("writers", "writer"),
        edits=lambda wildcards: EDCT.edits if RULES[wildcards.protocol].several else 1,
        seed=EDCT.seed,
        code=code("instruct", "writers", "writer"),
    message:
        "instructions of {wildcards.writer} for {wildcards.vlm} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"
    shell:
        """
        cfeval edct instruct \
            --samples {input.samples:q} \
            --baseline {input.baseline:q} \
            --writer={params.writer:q} \
            --protocol {wildcards.protocol:q} \
            --edits {params.edits} \
            --seed {params.seed} \
            --out {output:q} \
            2>{log:q}
        """


rule run_edct_edit:
    """Apply every instruction to its original image (Stage 3)."""
    input:
        samples=SAMPLES,
        instructions=INSTRUCTIONS,
        files=model_files("editors", "editor"),
    output:
        COUNTERFACTUALS,
    log:
        "logs/edct/counterfactuals/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.log",
    benchmark:
        "benchmarks/edct/counterfactuals/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.tsv"
    resources:
        gpu=gpus("editors", "editor"),
        gpu_model=gpu_model("editors", "editor"),
        api_slots=api_slots("editors", "editor"),
        mem_mb=memory(4000, gpus("editors", "editor")),
        runtime="8h",
    params:
        editor=backend("editors", "editor"),
        pictures=lambda wildcards, output: pictures_of(output),
        seed=EDCT.seed,
        code=code("edit", "editors", "editor"),
    message:
        "counterfactuals by {wildcards.editor} for {wildcards.vlm} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"
    shell:
        """
        rm -rf {params.pictures:q}
        cfeval edct edit \
            --samples {input.samples:q} \
            --instructions {input.instructions:q} \
            --editor={params.editor:q} \
            --protocol {wildcards.protocol:q} \
            --seed {params.seed} \
            --out {output:q} \
            2>{log:q}
        """


rule run_edct_check:
    """Check every edit: intended attribute, the rest unchanged, changed area."""
    input:
        samples=SAMPLES,
        instructions=INSTRUCTIONS,
        counterfactuals=COUNTERFACTUALS,
        files=model_files("verifiers", "dataset"),
    output:
        CHECKS,
    log:
        "logs/edct/checks/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.log",
    benchmark:
        "benchmarks/edct/checks/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.tsv"
    resources:
        gpu=gpus("verifiers", "dataset"),
        gpu_model=gpu_model("verifiers", "dataset"),
        api_slots=api_slots("verifiers", "dataset"),
        mem_mb=memory(4000, gpus("verifiers", "dataset")),
        runtime="2h",
    params:
        verifier=backend("verifiers", "dataset"),
        pictures=lambda wildcards, output: pictures_of(output),
        seed=EDCT.seed,
        code=code("check", "verifiers", "dataset"),
    message:
        "checks of {wildcards.editor} for {wildcards.vlm} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"
    shell:
        """
        rm -rf {params.pictures:q}
        cfeval edct check \
            --samples {input.samples:q} \
            --instructions {input.instructions:q} \
            --counterfactuals {input.counterfactuals:q} \
            --verifier={params.verifier:q} \
            --protocol {wildcards.protocol:q} \
            --seed {params.seed} \
            --out {output:q} \
            2>{log:q}
        """


rule run_edct_requery:
    """Ask the target model the same two turns about every edited image (Stage 4)."""
    input:
        samples=SAMPLES,
        counterfactuals=COUNTERFACTUALS,
        files=model_files("vlms", "vlm"),
    output:
        REQUERY,
    log:
        "logs/edct/requery/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.log",
    benchmark:
        "benchmarks/edct/requery/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.tsv"
    resources:
        gpu=gpus("vlms", "vlm"),
        gpu_model=gpu_model("vlms", "vlm"),
        api_slots=api_slots("vlms", "vlm"),
        mem_mb=memory(4000, gpus("vlms", "vlm")),
        runtime="4h",
    params:
        vlm=backend("vlms", "vlm"),
        seed=target_seed,
        prompts=PROMPTS,
        templates=PROMPT_HASH,
        code=code("requery", "vlms", "vlm"),
    message:
        "requery of {wildcards.vlm} after {wildcards.editor} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"
    shell:
        """
        cfeval edct requery \
            --samples {input.samples:q} \
            --counterfactuals {input.counterfactuals:q} \
            --vlm {params.vlm:q} \
            --seed {params.seed} \
            --prompts={params.prompts:q} \
            --out {output:q} \
            2>{log:q}
        """


rule run_edct_judge:
    """Compare answer and explanation before and after every edit (Stage 4, consistency)."""
    input:
        baseline=BASELINE,
        instructions=INSTRUCTIONS,
        counterfactuals=COUNTERFACTUALS,
        requery=REQUERY,
        files=model_files("judges", "judge"),
    output:
        VERDICTS,
    log:
        "logs/edct/verdicts/{dataset}/{vlm}/{writer}/{protocol}/{editor}/{judge}{shard}.log",
    benchmark:
        "benchmarks/edct/verdicts/{dataset}/{vlm}/{writer}/{protocol}/{editor}/{judge}{shard}.tsv"
    resources:
        gpu=gpus("judges", "judge"),
        gpu_model=gpu_model("judges", "judge"),
        api_slots=api_slots("judges", "judge"),
        mem_mb=memory(2000, gpus("judges", "judge")),
        runtime="4h",
    params:
        judge=backend("judges", "judge"),
        seed=EDCT.seed,
        code=code("judge", "judges", "judge"),
    message:
        "verdicts of {wildcards.judge} on {wildcards.vlm} after {wildcards.editor} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"
    shell:
        """
        cfeval edct judge \
            --baseline {input.baseline:q} \
            --instructions {input.instructions:q} \
            --counterfactuals {input.counterfactuals:q} \
            --requery {input.requery:q} \
            --judge {params.judge:q} \
            --protocol {wildcards.protocol:q} \
            --seed {params.seed} \
            --out {output:q} \
            2>{log:q}
        """


rule run_edct_score:
    """Bring verdicts, checks and right answers together, a row per item and edit."""
    input:
        samples=SAMPLES,
        baseline=BASELINE,
        instructions=INSTRUCTIONS,
        checks=CHECKS,
        verdicts=VERDICTS,
    output:
        SCORES,
    log:
        "logs/edct/scores/{dataset}/{vlm}/{writer}/{protocol}/{editor}/{judge}{shard}.log",
    benchmark:
        "benchmarks/edct/scores/{dataset}/{vlm}/{writer}/{protocol}/{editor}/{judge}{shard}.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=1000,
        runtime="30m",
    params:
        arm=lambda wildcards: as_json({name: wildcards[name] for name in ARMS[0]}),
        code=code("score"),
    message:
        "scores of {wildcards.vlm} after {wildcards.editor} by {wildcards.judge} ({wildcards.protocol}) on {wildcards.dataset}{wildcards.shard}"
    shell:
        """
        cfeval edct score \
            --arm {params.arm:q} \
            --samples {input.samples:q} \
            --baseline {input.baseline:q} \
            --instructions {input.instructions:q} \
            --checks {input.checks:q} \
            --verdicts {input.verdicts:q} \
            --out {output:q} \
            2>{log:q}
        """


rule run_edct_calls:
    """Export the calls to models outside that some record came from; those of a former run are kept."""
    input:
        [made(template) for template in (BASELINE, INSTRUCTIONS, COUNTERFACTUALS, CHECKS, REQUERY, VERDICTS)],
    output:
        update(CALLS),
    log:
        "logs/edct/calls.log",
    benchmark:
        "benchmarks/edct/calls.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=2000,
        runtime="30m",
    params:
        arms=as_json(ARMS),
        shards=PARAMS.shards,
        code=fingerprint.code("cfeval.cli.edct.calls"),
    message:
        "export of the calls"
    shell:
        """
        cfeval edct calls \
            --results results/edct \
            --arms {params.arms:q} \
            --shards {params.shards} \
            --out {output:q} \
            >{log:q} 2>&1
        """
