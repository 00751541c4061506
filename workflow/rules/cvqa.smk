"""CVQA: pairs of questions, built ones included, answers and their scores, one job an arm and shard (C-VQA, Sections 3, 4).

Inputs: the backends that params.yaml names and their files; people's decisions about drafts, where there are some.
Outputs: results/cvqa/{questions,drafts,reviews,fates,answers,scores}/…, a file a set or arm (and shard); pictures in the folder of
the record file's name.
Steps: 1. pairs of every set. 2. of every build: drafts, reviews, and the pairs that both let pass. 3. answers to both
questions of every pair. 4. scores by both readers.
"""


rule cvqa_questions:
    """Phase: pairs of questions."""
    input:
        PHASES["cvqa_questions"],


rule cvqa_answers:
    """Phase: what everyone answers."""
    input:
        PHASES["cvqa_answers"],


rule cvqa_scores:
    """Phase: answers, read and compared."""
    input:
        PHASES["cvqa_scores"],


rule run_cvqa_questions:
    """File the pairs of a set and their pictures, all shards at once."""
    input:
        files=files_behind(cvqa_set),
    output:
        expand(QUESTIONS, shard=SHARDS, allow_missing=True),
    log:
        "logs/cvqa/questions/{set}.log",
    benchmark:
        "benchmarks/cvqa/questions/{set}.tsv"
    wildcard_constraints:
        set=one_of(CVQA.sets) if CVQA else "-",
    resources:
        gpu=gpus_behind(cvqa_set),
        gpu_model=gpu_model_behind(cvqa_set),
        api_slots=slots_behind(cvqa_set),
        mem_mb=memory(2000, gpus_behind(cvqa_set)),
        runtime="1h",
    params:
        set=only(cvqa_set),
        n_items=lambda wildcards: (
            ["--items", str(CVQA.sets[wildcards.set].items)] if CVQA.sets[wildcards.set].items else []
        ),
        seed=CVQA.seed if CVQA else 0,
        shards=PARAMS.shards,
        out=cvqa_all_shards(QUESTIONS),
        before=cvqa_all_shards(QUESTIONS, ending=""),
        code=code_behind("cvqa.questions", cvqa_set),
    message:
        "questions of {wildcards.set}"
    shell:
        """
        rm -rf {params.before:q}
        cfeval cvqa questions \
            --set {params.set:q} \
            {params.n_items} \
            --seed {params.seed} \
            --shards {params.shards} \
            --out {params.out:q} \
            2>{log:q}
        """


rule run_cvqa_draft:
    """Have counterfactual questions written from original ones, all shards at once."""
    input:
        files=files_behind(cvqa_drafting),
    output:
        expand(DRAFTS, shard=SHARDS, allow_missing=True),
    log:
        "logs/cvqa/drafts/{set}.log",
    benchmark:
        "benchmarks/cvqa/drafts/{set}.tsv"
    wildcard_constraints:
        set=one_of(CVQA_BUILDS) or "-",
    resources:
        gpu=gpus_behind(cvqa_drafting),
        gpu_model=gpu_model_behind(cvqa_drafting),
        api_slots=slots_behind(cvqa_drafting),
        mem_mb=memory(2000, gpus_behind(cvqa_drafting)),
        runtime="8h",
    params:
        source=lambda wildcards: as_json(cvqa_drafting(wildcards)[0][1]),
        builder=lambda wildcards: as_json(cvqa_drafting(wildcards)[1][1]),
        n_items=lambda wildcards: CVQA.builds[wildcards.set].items,
        seed=CVQA.seed if CVQA else 0,
        shards=PARAMS.shards,
        out=cvqa_all_shards(DRAFTS),
        before=cvqa_all_shards(DRAFTS, ending=""),
        code=code_behind("cvqa.draft", cvqa_drafting),
    message:
        "drafts of {wildcards.set}"
    shell:
        """
        rm -rf {params.before:q}
        cfeval cvqa draft \
            --source {params.source:q} \
            --builder {params.builder:q} \
            --items {params.n_items} \
            --seed {params.seed} \
            --shards {params.shards} \
            --out {params.out:q} \
            2>{log:q}
        """


rule run_cvqa_review:
    """Have drafts checked against their pictures by a second model."""
    input:
        drafts=DRAFTS,
        files=files_behind(cvqa_checker),
    output:
        REVIEWS,
    log:
        "logs/cvqa/reviews/{set}{shard}.log",
    benchmark:
        "benchmarks/cvqa/reviews/{set}{shard}.tsv"
    wildcard_constraints:
        set=one_of(CVQA_BUILDS) or "-",
    resources:
        gpu=gpus_behind(cvqa_checker),
        gpu_model=gpu_model_behind(cvqa_checker),
        api_slots=slots_behind(cvqa_checker),
        mem_mb=memory(4000, gpus_behind(cvqa_checker)),
        runtime="8h",
    params:
        checker=only(cvqa_checker),
        seed=CVQA.seed if CVQA else 0,
        code=code_behind("cvqa.review", cvqa_checker),
    message:
        "reviews of {wildcards.set}{wildcards.shard}"
    shell:
        """
        cfeval cvqa review \
            --drafts {input.drafts:q} \
            --checker {params.checker:q} \
            --seed {params.seed} \
            --out {output:q} \
            2>{log:q}
        """


rule run_cvqa_assemble:
    """Let into the set what every check, and where people decide every person, lets pass; all shards at once."""
    input:
        drafts=expand(DRAFTS, shard=SHARDS, allow_missing=True),
        reviews=expand(REVIEWS, shard=SHARDS, allow_missing=True),
        decisions=cvqa_decisions,
    output:
        pairs=expand(QUESTIONS, shard=SHARDS, allow_missing=True),
        fates=FATES,
    log:
        "logs/cvqa/assemble/{set}.log",
    benchmark:
        "benchmarks/cvqa/assemble/{set}.tsv"
    wildcard_constraints:
        set=one_of(CVQA_BUILDS) or "-",
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=2000,
        runtime="1h",
    params:
        drafts=cvqa_all_shards(DRAFTS),
        reviews=cvqa_all_shards(REVIEWS),
        decisions=lambda wildcards, input: each("--decisions", input.decisions),
        people=lambda wildcards: ["--people"] if CVQA.builds[wildcards.set].people else [],
        shards=PARAMS.shards,
        out=cvqa_all_shards(QUESTIONS),
        before=cvqa_all_shards(QUESTIONS, ending=""),
        code=fingerprint.code("cfeval.cli.cvqa.assemble"),
    message:
        "pairs of {wildcards.set}"
    shell:
        """
        rm -rf {params.before:q}
        cfeval cvqa assemble \
            --drafts {params.drafts:q} \
            --reviews {params.reviews:q} \
            {params.decisions:q} \
            {params.people} \
            --cut {params.shards} \
            --shards {params.shards} \
            --out {params.out:q} \
            --fates {output.fates:q} \
            >{log:q} 2>&1
        """


rule run_cvqa_answer:
    """Have both questions of every pair answered, each in a fresh turn."""
    input:
        questions=QUESTIONS,
        files=files_behind(cvqa_answerer),
    output:
        ANSWERS,
    log:
        "logs/cvqa/answers/{set}/{answerer}{shard}.log",
    benchmark:
        "benchmarks/cvqa/answers/{set}/{answerer}{shard}.tsv"
    resources:
        gpu=gpus_behind(cvqa_answerer),
        gpu_model=gpu_model_behind(cvqa_answerer),
        api_slots=slots_behind(cvqa_answerer),
        mem_mb=memory(4000, gpus_behind(cvqa_answerer)),
        runtime="24h",
    params:
        answerer=only(cvqa_answerer),
        orders=lambda wildcards: CVQA.orders_of(CvqaArm(set=wildcards.set, answerer=wildcards.answerer)),
        seed=CVQA.seed if CVQA else 0,
        code=code_behind("cvqa.answer", cvqa_answerer),
    message:
        "answers of {wildcards.answerer} to {wildcards.set}{wildcards.shard}"
    shell:
        """
        cfeval cvqa answer \
            --questions {input.questions:q} \
            --answerer {params.answerer:q} \
            --orders {params.orders} \
            --seed {params.seed} \
            --out {output:q} \
            2>{log:q}
        """


rule run_cvqa_score:
    """Read every answer by both readers and compare it with the right one."""
    input:
        questions=QUESTIONS,
        answers=ANSWERS,
    output:
        CVQA_SCORES,
    log:
        "logs/cvqa/scores/{set}/{answerer}{shard}.log",
    benchmark:
        "benchmarks/cvqa/scores/{set}/{answerer}{shard}.tsv"
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=2000,
        runtime="1h",
    params:
        code=fingerprint.code("cfeval.cli.cvqa.score"),
    message:
        "scores of {wildcards.answerer} on {wildcards.set}{wildcards.shard}"
    shell:
        """
        cfeval cvqa score \
            --questions {input.questions:q} \
            --answers {input.answers:q} \
            --out {output:q} \
            2>{log:q}
        """
