"""CVQA: from pairs of questions to the report (C-VQA, Sections 3 and 4).

Inputs: what params.yaml names: plugins and their files; people's decisions about drafts and labels of perceived gender,
where there are some; the paper's published figures.
Outputs: <results>/cvqa/STEP/…: a record file a set or condition (and shard), images in the folder, or the archive, of
the record file's name; beside each output its record, OUTPUT.made.json.
Steps: 1. questions: pairs of every set. 2. of every set that is built: drafts, reviews, the pairs that both let pass,
and what became of every draft. 3. answers to both questions of every pair. 4. scores by both readers, and readings by
language models. 5. the calls to models outside. 6. tables with headline figures, and figures. 7. the report.
"""


include: "cvqa_common.smk"


localrules:
    cvqa_questions_all,
    cvqa_answers_all,
    cvqa_scores_all,
    cvqa_tables_all,


rule cvqa_questions_all:
    """Phase: pairs of questions."""
    input:
        each(CVQA_QUESTIONS, CVQA_CONDITIONS),
        each(CVQA_FATES, CVQA_BUILT),


rule cvqa_answers_all:
    """Phase: what everyone answers."""
    input:
        each(CVQA_ANSWERS, CVQA_CONDITIONS),


rule cvqa_scores_all:
    """Phase: answers, read and compared."""
    input:
        each(CVQA_SCORES, CVQA_CONDITIONS),
        each(CVQA_READINGS, CVQA_READ),


rule cvqa_tables_all:
    """Phase: the paper's tables, figures and metrics."""
    input:
        CVQA_TABLES,
        CVQA_METRICS,
        CVQA_FIGURES,


rule cvqa_questions:
    """File the pairs of a set and their images, all shards at once (Sections 3.2 and 3.3)."""
    output:
        whole(CVQA_QUESTIONS),
        made("<results>/cvqa/questions/{set}.jsonl"),
    log:
        "logs/cvqa/questions/{set}.log",
    wildcard_constraints:
        set=one_of(CVQA.sets),
    priority: 90
    resources:
        **needs("question_sets", CVQA.sets, "set", mem_mb=2000, runtime="1h"),
    params:
        out=cvqa_file("questions"),
        plugin=lambda wildcards: plugin(CVQA.sets, wildcards.set),
        number=cvqa_items,
        seed=CVQA.seed,
        cut=CUT,
    message:
        "questions of {wildcards.set}"
    shell:
        "cfeval cvqa questions --set {params.plugin:q} {params.number} --seed {params.seed} {params.cut} "
        "--out {params.out} 2> {log:q}"


rule cvqa_drafts:
    """Have counterfactual questions written from original ones, all shards at once (Section 3.1, Appendix B)."""
    output:
        whole(CVQA_DRAFTS),
        made("<results>/cvqa/drafts/{set}.jsonl"),
    log:
        "logs/cvqa/drafts/{set}.log",
    wildcard_constraints:
        set=one_of(CVQA_BUILDS),
    priority: 90
    resources:
        **needs("question_generators", CVQA_GENERATORS, "set", mem_mb=2000, runtime="8h"),
    params:
        out=cvqa_file("drafts"),
        source=lambda wildcards: plugin(CVQA.sources, CVQA_BUILDS[wildcards.set].source),
        generator=lambda wildcards: plugin(CVQA_GENERATORS, wildcards.set),
        number=lambda wildcards: CVQA_BUILDS[wildcards.set].items,
        seed=CVQA.seed,
        cut=CUT,
    message:
        "drafts of {wildcards.set}"
    shell:
        "cfeval cvqa drafts --source {params.source:q} --question-generator {params.generator:q} "
        "--items {params.number} --seed {params.seed} {params.cut} --out {params.out} 2> {log:q}"


rule cvqa_reviews:
    """Have drafts checked against their images by a second model (Section 3.2)."""
    input:
        drafts=with_images(CVQA_DRAFTS),
    output:
        out=CVQA_REVIEWS,
        record=made(CVQA_REVIEWS),
    log:
        "logs/cvqa/reviews/{set}{shard}.log",
    wildcard_constraints:
        set=one_of(CVQA_BUILDS),
    priority: 80
    resources:
        **needs("question_validators", CVQA_VALIDATORS, "set", mem_mb=4000, runtime="8h"),
    params:
        validator=lambda wildcards: plugin(CVQA_VALIDATORS, wildcards.set),
        seed=CVQA.seed,
    message:
        "reviews of {wildcards.set}{wildcards.shard}"
    shell:
        "cfeval cvqa reviews --drafts {input.drafts[0]} --question-validator {params.validator:q} --seed {params.seed} "
        "--out {output.out} 2> {log:q}"


rule cvqa_builds:
    """Let into the set what every check, and where people decide every person, lets pass; all shards at once."""
    input:
        drafts=whole(CVQA_DRAFTS),
        reviews=expand(CVQA_REVIEWS, shard=SHARDS, allow_missing=True),
    output:
        whole(CVQA_QUESTIONS),
        made("<results>/cvqa/questions/{set}.jsonl"),
    log:
        "logs/cvqa/builds/{set}.log",
    wildcard_constraints:
        set=one_of(CVQA_BUILDS),
    priority: 70
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        drafts=cvqa_file("drafts"),
        reviews=cvqa_file("reviews"),
        out=cvqa_file("questions"),
        decisions=cvqa_decisions,
        people=cvqa_people,
        shards=PARAMS.shards,
        cut=CUT,
    message:
        "pairs of {wildcards.set}"
    shell:
        "cfeval cvqa builds --drafts {params.drafts} --reviews {params.reviews} {params.decisions:q} {params.people} "
        "--cut {params.shards} {params.cut} --out {params.out} 2> {log:q}"


rule cvqa_fates:
    """Say what became of every draft: let into the set, or why not."""
    input:
        drafts=expand(CVQA_DRAFTS, shard=SHARDS, allow_missing=True),
        reviews=expand(CVQA_REVIEWS, shard=SHARDS, allow_missing=True),
    output:
        out=CVQA_FATES,
        record=made(CVQA_FATES),
    log:
        "logs/cvqa/fates/{set}.log",
    wildcard_constraints:
        set=one_of(CVQA_BUILDS),
    priority: 20
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        drafts=cvqa_file("drafts"),
        reviews=cvqa_file("reviews"),
        decisions=cvqa_decisions,
        people=cvqa_people,
        shards=PARAMS.shards,
    message:
        "what became of the drafts of {wildcards.set}"
    shell:
        "cfeval cvqa fates --drafts {params.drafts} --reviews {params.reviews} {params.decisions:q} {params.people} "
        "--cut {params.shards} --out {output.out} 2> {log:q}"


rule cvqa_answers:
    """Have both questions of every pair answered, each in a fresh turn (Section 4)."""
    input:
        questions=with_images(CVQA_QUESTIONS),
    output:
        out=CVQA_ANSWERS,
        record=made(CVQA_ANSWERS),
    log:
        "logs/cvqa/answers/{set}/{solver}{shard}.log",
    priority: 60
    resources:
        **needs("solvers", CVQA.solvers, "solver", mem_mb=4000, runtime="24h"),
    params:
        solver=lambda wildcards: plugin(CVQA.solvers, wildcards.solver),
        orders=cvqa_orders,
        seed=CVQA.seed,
    message:
        "answers of {wildcards.solver} to {wildcards.set}{wildcards.shard}"
    shell:
        "cfeval cvqa answers --questions {input.questions[0]} --solver {params.solver:q} --orders {params.orders} "
        "--seed {params.seed} --out {output.out} 2> {log:q}"


rule cvqa_scores:
    """Read every answer to a set's questions by both readers and compare it with the right one (`calc_acc.py`)."""
    input:
        questions=expand(CVQA_QUESTIONS, shard=SHARDS, allow_missing=True),
        answers=cvqa_of_set(CVQA_ANSWERS),
    output:
        out=directory(CVQA_SCORES),
        record=made(CVQA_SCORES),
    log:
        "logs/cvqa/scores/{set}.log",
    priority: 30
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        questions=cvqa_file("questions"),
        answers=cvqa_answers_to,
        shards=PARAMS.shards,
    message:
        "scores on {wildcards.set}"
    shell:
        "cfeval cvqa scores --questions {params.questions} {params.answers} --cut {params.shards} "
        "--out {output.out} 2> {log:q}"


rule cvqa_readings:
    """Have a language model read what the rules left unread, and a share of the rest."""
    input:
        questions=CVQA_QUESTIONS,
        answers=CVQA_ANSWERS,
    output:
        out=CVQA_READINGS,
        record=made(CVQA_READINGS),
    log:
        "logs/cvqa/readings/{reader}/{set}/{solver}{shard}.log",
    priority: 40
    resources:
        **needs("reply_readers", CVQA.reply_readers, "reader", mem_mb=2000, runtime="8h"),
    params:
        reader=lambda wildcards: plugin(CVQA.reply_readers, wildcards.reader),
        share=CVQA.reread,
        seed=CVQA.seed,
    message:
        "readings by {wildcards.reader} of {wildcards.solver} on {wildcards.set}{wildcards.shard}"
    shell:
        "cfeval cvqa readings --questions {input.questions} --answers {input.answers} --reply-reader {params.reader:q} "
        "--share {params.share} --seed {params.seed} --out {output.out} 2> {log:q}"


rule cvqa_calls:
    """Export the calls to models outside that some record came from; those of a former run are kept."""
    input:
        each(CVQA_DRAFTS, CVQA_BUILT),
        each(CVQA_REVIEWS, CVQA_BUILT),
        each(CVQA_ANSWERS, CVQA_CONDITIONS),
        each(CVQA_READINGS, CVQA_READ),
    output:
        out=CVQA_CALLS,
        record=made(CVQA_CALLS),
    log:
        "logs/cvqa/calls.log",
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        study=kept(cvqa_params.calls_params(CVQA, PARAMS.shards).as_json(), "cvqa-calls"),
        results=folder_of("cvqa"),
    message:
        "export of the calls of cvqa"
    shell:
        "cfeval cvqa calls --study {params.study:q} --results {params.results} --out {output.out} 2> {log:q}"


rule cvqa_tables:
    """All tables, from questions, answers, scores, readings and fates, with headline figures for `dvc metrics`."""
    input:
        each(CVQA_QUESTIONS, CVQA_CONDITIONS),
        each(CVQA_ANSWERS, CVQA_TOLD.of_programs()),
        each(CVQA_SCORES, CVQA_CONDITIONS),
        each(CVQA_READINGS, CVQA_READ),
        each(CVQA_FATES, CVQA_BUILT),
    output:
        in_report("cvqa", "table", CVQA_TABLES),
        CVQA_METRICS,
        made("<results>/cvqa/tables"),
    log:
        "logs/cvqa/tables.log",
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        study=kept(CVQA_TOLD.as_json(), "cvqa-tables"),
        results=folder_of("cvqa"),
    message:
        "tables of cvqa"
    shell:
        "cfeval cvqa tables --study {params.study:q} --results {params.results} --out {params.results}/tables "
        "2> {log:q}"


rule cvqa_figures:
    """All figures, each from the table that it shows."""
    input:
        CVQA_TABLES,
    output:
        in_report("cvqa", "figure", CVQA_FIGURES),
        made("<results>/cvqa/figures"),
    log:
        "logs/cvqa/figures.log",
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        figures=[f"--figure {figure}" for figure in CVQA_DRAWN],
        results=folder_of("cvqa"),
    message:
        "figures of cvqa"
    shell:
        "cfeval cvqa figures --tables {params.results}/tables {params.figures} --out {params.results}/figures "
        "2> {log:q}"


rule cvqa_report:
    """The static page: accuracy with and without the "if", tables, plots and every pair."""
    input:
        CVQA_TABLES,
        CVQA_FIGURES,
        each_with_images(CVQA_QUESTIONS, CVQA_CONDITIONS),
        each(CVQA_ANSWERS, CVQA_CONDITIONS),
        each(CVQA_SCORES, CVQA_CONDITIONS),
    output:
        out=CVQA_REPORT,
        record=made(CVQA_REPORT),
    log:
        "logs/cvqa/report.log",
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        study=kept(cvqa_params.conditions_of(CVQA, PARAMS.shards).as_json(), "cvqa-report"),
        results=folder_of("cvqa"),
    message:
        "report of cvqa"
    shell:
        "cfeval cvqa report --study {params.study:q} --results {params.results} --out {output.out} 2> {log:q}"
