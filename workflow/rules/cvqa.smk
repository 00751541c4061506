"""CVQA: from pairs of questions to tables, one job a set or condition (and shard) (C-VQA, Sections 3 and 4).

Inputs: the plugins that params.yaml names and their files; people's decisions about drafts and labels of perceived
gender, where there are some; the paper's published figures.
Outputs: results/cvqa/{questions,drafts,reviews,fates,answers,scores}/…, a file a set or condition (and shard), pictures in the
folder of the record file's name; results/cvqa/{tables,figures}/.
Steps: 1. pairs of every set. 2. of every build: drafts, reviews, and the pairs that both let pass. 3. answers to both
questions of every pair. 4. scores by both readers. 5. tables, figures, headline figures.
What a job is given beside its inputs, and what each pattern is, stands in src/cfeval/cvqa/jobs.py.
"""

BUILDS = one_of(PARAMS.cvqa.builds_asked() if PARAMS.cvqa else ())


wildcard_constraints:
    set=one_of(PARAMS.cvqa.sets_asked() if PARAMS.cvqa else ()),
    solver=one_of(PARAMS.cvqa.solvers if PARAMS.cvqa else ()),


localrules:
    cvqa_questions_all,
    cvqa_answers_all,
    cvqa_scores_all,
    cvqa_tables_all,


rule cvqa_questions_all:
    """Phase: pairs of questions."""
    input:
        phase("cvqa.questions", "cvqa.drafts", "cvqa.reviews", "cvqa.builds"),


rule cvqa_answers_all:
    """Phase: what everyone answers."""
    input:
        phase("cvqa.answers"),


rule cvqa_scores_all:
    """Phase: answers, read and compared."""
    input:
        phase("cvqa.scores"),


rule cvqa_tables_all:
    """Phase: the paper's tables, figures and metrics."""
    input:
        phase("cvqa.table", "cvqa.figure", "cvqa.metrics"),


rule cvqa_questions:
    """File the pairs of a set and their pictures, all shards at once."""
    input:
        stale=stale(cvqa.QUESTIONS),
    output:
        kept(pictured(whole(cvqa.QUESTIONS))),
        made=sidecar(whole(cvqa.QUESTIONS)),
    log:
        "logs/cvqa/questions/{set}.log",
    wildcard_constraints:
        set=one_of(PARAMS.cvqa.sets if PARAMS.cvqa else ()),
    resources:
        **needs(cvqa.QUESTIONS, mem_mb=2000),
        runtime="1h",
    params:
        job=job_name,
    message:
        "questions of {wildcards.set}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule cvqa_drafts:
    """Have counterfactual questions written from original ones, all shards at once."""
    input:
        stale=stale(cvqa.DRAFTS),
    output:
        kept(pictured(whole(cvqa.DRAFTS))),
        made=sidecar(whole(cvqa.DRAFTS)),
    log:
        "logs/cvqa/drafts/{set}.log",
    wildcard_constraints:
        set=BUILDS,
    resources:
        **needs(cvqa.DRAFTS, mem_mb=2000),
        runtime="8h",
    params:
        job=job_name,
    message:
        "drafts of {wildcards.set}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule cvqa_reviews:
    """Have drafts checked against their pictures by a second model."""
    input:
        drafts=pictured(at(cvqa.DRAFTS)),
        stale=stale(cvqa.REVIEWS),
    output:
        kept(at(cvqa.REVIEWS)),
        made=sidecar(at(cvqa.REVIEWS)),
    log:
        "logs/cvqa/reviews/{set}{shard}.log",
    wildcard_constraints:
        set=BUILDS,
    resources:
        **needs(cvqa.REVIEWS, mem_mb=4000),
        runtime="8h",
    params:
        job=job_name,
    message:
        "reviews of {wildcards.set}{wildcards.shard}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule cvqa_builds:
    """Let into the set what every check, and where people decide every person, lets pass; all shards at once."""
    input:
        drafts=pictured(whole(cvqa.DRAFTS)),
        reviews=whole(cvqa.REVIEWS),
        stale=stale(cvqa.QUESTIONS),
    output:
        pairs=kept(pictured(whole(cvqa.QUESTIONS))),
        fates=kept(at(cvqa.FATES)),
        made=sidecar(whole(cvqa.QUESTIONS)),
    log:
        "logs/cvqa/builds/{set}.log",
    wildcard_constraints:
        set=BUILDS,
    resources:
        **needs(cvqa.QUESTIONS, mem_mb=2000),
        runtime="1h",
    params:
        job=job_name,
    message:
        "pairs of {wildcards.set}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule cvqa_answers:
    """Have both questions of every pair answered, each in a fresh turn."""
    input:
        questions=pictured(at(cvqa.QUESTIONS)),
        stale=stale(cvqa.ANSWERS),
    output:
        kept(at(cvqa.ANSWERS)),
        made=sidecar(at(cvqa.ANSWERS)),
    log:
        "logs/cvqa/answers/{set}/{solver}{shard}.log",
    resources:
        **needs(cvqa.ANSWERS, mem_mb=4000),
        runtime="24h",
    params:
        job=job_name,
    message:
        "answers of {wildcards.solver} to {wildcards.set}{wildcards.shard}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule cvqa_scores:
    """Read every answer by both readers and compare it with the right one."""
    input:
        questions=at(cvqa.QUESTIONS),
        answers=at(cvqa.ANSWERS),
        stale=stale(cvqa.SCORES),
    output:
        kept(at(cvqa.SCORES)),
        made=sidecar(at(cvqa.SCORES)),
    log:
        "logs/cvqa/scores/{set}/{solver}{shard}.log",
    resources:
        **needs(cvqa.SCORES, mem_mb=2000),
        runtime="1h",
    params:
        job=job_name,
    message:
        "scores of {wildcards.solver} on {wildcards.set}{wildcards.shard}"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule cvqa_table:
    """One table, from the files of the study that it is made from."""
    input:
        inputs_of(cvqa.TABLE),
        stale=stale(cvqa.TABLE),
    output:
        csv=report(
            kept(at(cvqa.TABLE)),
            caption="../report/table.rst",
            category="CVQA",
            subcategory="Tables",
            labels={"table": "{table}"},
        ),
        md=kept(at(cvqa.TABLE).replace(".csv", ".md")),
        tex=kept(at(cvqa.TABLE).replace(".csv", ".tex")),
        made=sidecar(at(cvqa.TABLE)),
    log:
        "logs/cvqa/tables/{table}.log",
    wildcard_constraints:
        table=one_of(cvqa.TABLES),
    resources:
        **needs(cvqa.TABLE, mem_mb=2000),
        runtime="30m",
    params:
        job=job_name,
    message:
        "table {wildcards.table} of cvqa"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule cvqa_metrics:
    """Headline figures for `dvc metrics`."""
    input:
        tables=inputs_of(cvqa.METRICS),
        stale=stale(cvqa.METRICS),
    output:
        kept(at(cvqa.METRICS)),
        made=sidecar(at(cvqa.METRICS)),
    log:
        "logs/cvqa/tables/metrics.log",
    resources:
        **needs(cvqa.METRICS, mem_mb=1000),
        runtime="10m",
    params:
        job=job_name,
    message:
        "metrics of cvqa"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"


rule cvqa_figure:
    """One figure, from the table that it shows."""
    input:
        table=inputs_of(cvqa.FIGURE),
        stale=stale(cvqa.FIGURE),
    output:
        png=report(
            kept(at(cvqa.FIGURE)),
            caption="../report/figure.rst",
            category="CVQA",
            subcategory="Figures",
            labels={"figure": "{figure}"},
        ),
        svg=kept(at(cvqa.FIGURE).replace(".png", ".svg")),
        made=sidecar(at(cvqa.FIGURE)),
    log:
        "logs/cvqa/figures/{figure}.log",
    wildcard_constraints:
        figure=one_of(cvqa.FIGURES),
    resources:
        **needs(cvqa.FIGURE, mem_mb=2000),
        runtime="10m",
    params:
        job=job_name,
    message:
        "figure {wildcards.figure} of cvqa"
    shell:
        "cfeval stage {params.job:q} 2>{log:q}"
