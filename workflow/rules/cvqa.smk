"""CVQA: from pairs of questions to tables, one job a set or condition (and shard) (C-VQA, Sections 3 and 4).

Inputs: the plugins that params.yaml names and their files; people's decisions about drafts and labels of perceived
gender, where there are some; the paper's published figures.
Outputs: results/cvqa/{questions,drafts,reviews,fates,answers,scores,readings}/…, a file a set or condition (and shard), images in the
folder of the record file's name; results/cvqa/{calls,tables,figures,report}/.
Steps: 1. pairs of every set. 2. of every build: drafts, reviews, and the pairs that both let pass. 3. answers to both
questions of every pair. 4. scores by both readers, and readings by language models. 5. the calls to models outside. 6. tables, figures, headline
figures. 7. the report.
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
        phase("cvqa.scores", "cvqa.readings"),


rule cvqa_tables_all:
    """Phase: the paper's tables, figures and metrics."""
    input:
        phase("cvqa.table", "cvqa.figure", "cvqa.metrics"),


use rule stage as cvqa_questions with:
    """File the pairs of a set and their images, all shards at once."""
    input:
        stale=stale(cvqa.QUESTIONS),
    output:
        **makes(records=with_images(whole(cvqa.QUESTIONS))),
    log:
        log_of(cvqa.QUESTIONS, shard=""),
    wildcard_constraints:
        set=one_of(PARAMS.cvqa.sets if PARAMS.cvqa else ()),
    resources:
        **resources_for(mem_mb=2000, runtime="1h"),
    message:
        "questions of {wildcards.set}"


use rule stage as cvqa_drafts with:
    """Have counterfactual questions written from original ones, all shards at once."""
    input:
        stale=stale(cvqa.DRAFTS),
    output:
        **makes(records=with_images(whole(cvqa.DRAFTS))),
    log:
        log_of(cvqa.DRAFTS, shard=""),
    wildcard_constraints:
        set=BUILDS,
    resources:
        **resources_for(mem_mb=2000, runtime="8h"),
    message:
        "drafts of {wildcards.set}"


use rule stage as cvqa_reviews with:
    """Have drafts checked against their images by a second model."""
    input:
        drafts=with_images(at(cvqa.DRAFTS)),
        stale=stale(cvqa.REVIEWS),
    output:
        **makes(records=at(cvqa.REVIEWS)),
    log:
        log_of(cvqa.REVIEWS),
    wildcard_constraints:
        set=BUILDS,
    resources:
        **resources_for(mem_mb=4000, runtime="8h"),
    message:
        "reviews of {wildcards.set}{wildcards.shard}"


use rule stage as cvqa_builds with:
    """Let into the set what every check, and where people decide every person, lets pass; all shards at once."""
    input:
        drafts=with_images(whole(cvqa.DRAFTS)),
        reviews=whole(cvqa.REVIEWS),
        stale=stale(cvqa.QUESTIONS),
    output:
        **makes(pairs=with_images(whole(cvqa.QUESTIONS)), fates=at(cvqa.FATES)),
    log:
        log_of(cvqa.QUESTIONS, shard=""),
    wildcard_constraints:
        set=BUILDS,
    resources:
        **resources_for(mem_mb=2000, runtime="1h"),
    message:
        "pairs of {wildcards.set}"


use rule stage as cvqa_answers with:
    """Have both questions of every pair answered, each in a fresh turn."""
    input:
        questions=with_images(at(cvqa.QUESTIONS)),
        stale=stale(cvqa.ANSWERS),
    output:
        **makes(records=at(cvqa.ANSWERS)),
    log:
        log_of(cvqa.ANSWERS),
    resources:
        **resources_for(mem_mb=4000, runtime="24h"),
    message:
        "answers of {wildcards.solver} to {wildcards.set}{wildcards.shard}"


use rule stage as cvqa_scores with:
    """Read every answer by both readers and compare it with the right one."""
    input:
        questions=at(cvqa.QUESTIONS),
        answers=at(cvqa.ANSWERS),
        stale=stale(cvqa.SCORES),
    output:
        **makes(records=at(cvqa.SCORES)),
    log:
        log_of(cvqa.SCORES),
    resources:
        **resources_for(mem_mb=2000, runtime="1h"),
    message:
        "scores of {wildcards.solver} on {wildcards.set}{wildcards.shard}"


use rule stage as cvqa_readings with:
    """Have a language model read what the rules left unread, and a share of the rest."""
    input:
        questions=at(cvqa.QUESTIONS),
        answers=at(cvqa.ANSWERS),
        stale=stale(cvqa.READINGS),
    output:
        **makes(records=at(cvqa.READINGS)),
    log:
        log_of(cvqa.READINGS),
    wildcard_constraints:
        reader=one_of(PARAMS.cvqa.reply_readers if PARAMS.cvqa else ()),
    resources:
        **resources_for(mem_mb=2000, runtime="8h"),
    message:
        "readings by {wildcards.reader} of {wildcards.solver} on {wildcards.set}{wildcards.shard}"


use rule stage as cvqa_calls with:
    """Export the calls to models outside that some record came from; those of a former run are kept."""
    input:
        inputs_of(cvqa.CALLS),
        stale=stale(cvqa.CALLS),
    output:
        **makes(records=at(cvqa.CALLS)),
    log:
        log_of(cvqa.CALLS),
    message:
        "export of the calls"


use rule stage as cvqa_table with:
    """One table, from the files of the study that it is made from."""
    input:
        inputs_of(cvqa.TABLE),
        stale=stale(cvqa.TABLE),
    output:
        **makes(**table_files(cvqa.TABLE)),
    log:
        log_of(cvqa.TABLE),
    wildcard_constraints:
        table=one_of(cvqa.TABLES),
    message:
        "table {wildcards.table} of cvqa"


use rule edct_metrics as cvqa_metrics with:
    input:
        tables=inputs_of(cvqa.METRICS),
        stale=stale(cvqa.METRICS),
    output:
        **makes(records=at(cvqa.METRICS)),
    log:
        log_of(cvqa.METRICS),
    message:
        "metrics of cvqa"


use rule edct_figure as cvqa_figure with:
    input:
        table=inputs_of(cvqa.FIGURE),
        stale=stale(cvqa.FIGURE),
    output:
        **makes(**figure_files(cvqa.FIGURE)),
    log:
        log_of(cvqa.FIGURE),
    wildcard_constraints:
        figure=one_of(cvqa.FIGURES),
    message:
        "figure {wildcards.figure} of cvqa"


use rule edct_report as cvqa_report with:
    input:
        inputs_of(cvqa.REPORT),
        stale=stale(cvqa.REPORT),
    output:
        **makes(records=at(cvqa.REPORT)),
    log:
        log_of(cvqa.REPORT),
    message:
        "report of cvqa"
