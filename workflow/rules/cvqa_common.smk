"""What the rules of the cvqa study use.

Inputs: the section `cvqa` of params.yaml; without it the study has no files.
Outputs: none.
Steps: 1. name every file and phase. 2. name what jobs depend on.
"""

from functools import cache

from cfeval.preflight.answerers import answerer_facts, set_facts
from cfeval.records.cvqa import CvqaArm

CVQA = PARAMS.cvqa
CVQA_ARMS = CVQA.all_arms() if CVQA else []
CVQA_SETS = CVQA.sets_asked() if CVQA else []
CVQA_BUILDS = list(CVQA.builds_asked()) if CVQA else []

QUESTIONS = "results/cvqa/questions/{set}{shard}.jsonl"
DRAFTS = "results/cvqa/drafts/{set}{shard}.jsonl"
REVIEWS = "results/cvqa/reviews/{set}{shard}.jsonl"
FATES = "results/cvqa/fates/{set}.jsonl"
ANSWERS = "results/cvqa/answers/{set}/{answerer}{shard}.jsonl"
CVQA_SCORES = "results/cvqa/scores/{set}/{answerer}{shard}.jsonl"
CVQA_TABLES = expand("results/tables/cvqa_{table}.{ending}", table=tables.NAMES["cvqa"], ending=["csv", "md", "tex"])
CVQA_FIGURES = expand("results/figures/cvqa_{figure}.{ending}", figure=figures.TABLE_OF["cvqa"], ending=["png", "svg"])
CVQA_METRICS = "results/tables/cvqa_metrics.json"
CVQA_PHASES = ("cvqa_questions", "cvqa_answers", "cvqa_scores", "cvqa_tables")


def cvqa_made(template, arms):
    """The files of a template for some arms or sets and all shards, each once."""
    return tuple(made(template, arms))


def of_arms(template, arms=CVQA_ARMS):
    """The files of a template for some arms, by default all."""
    return cvqa_made(template, [arm.model_dump() for arm in arms])


def cvqa_all_shards(template, ending=".jsonl"):
    """For a rule's params: the name under which a verb writes and reads all shards of a set.

    Without an ending it is the folder that holds the shards or, of one file, its pictures.
    """
    return lambda wildcards: expand(template, set=wildcards.set, shard="")[0].removesuffix(".jsonl") + ending


def of_sets(template, names):
    """The files of a template for some sets."""
    return cvqa_made(template, [{"set": name} for name in names])


if CVQA:
    SEALED |= {
        "cvqa_questions": [
            provenance.Sealed("results/cvqa/questions", of_sets(QUESTIONS, CVQA_SETS), pictures=True),
            provenance.Sealed("results/cvqa/drafts", of_sets(DRAFTS, CVQA_BUILDS), pictures=True),
            provenance.Sealed("results/cvqa/reviews", of_sets(REVIEWS, CVQA_BUILDS)),
            provenance.Sealed("results/cvqa/fates", of_sets(FATES, CVQA_BUILDS)),
        ],
        "cvqa_answers": [provenance.Sealed("results/cvqa/answers", of_arms(ANSWERS))],
        "cvqa_scores": [provenance.Sealed("results/cvqa/scores", of_arms(CVQA_SCORES))],
        "cvqa_tables": [
            provenance.Sealed("results/tables", (*CVQA_TABLES, CVQA_METRICS), prefix="cvqa_"),
            provenance.Sealed("results/figures", tuple(CVQA_FIGURES), prefix="cvqa_"),
        ],
    }
CVQA_WILDCARDS = {"set": one_of(CVQA_SETS) or "-", "answerer": one_of(CVQA.answerers) if CVQA else "-"}


def cvqa_spec(section, name):
    """The specification of a backend of the study."""
    return getattr(CVQA, section)[name].plugin()


def cvqa_set(wildcards):
    """The set of questions, with its family."""
    return [("question_sets", cvqa_spec("sets", wildcards.set))]


def cvqa_answerer(wildcards):
    """Who answers, with its family."""
    return [("answerers", cvqa_spec("answerers", wildcards.answerer))]


def cvqa_drafting(wildcards):
    """Where the originals of a build come from and who rewrites them, by family."""
    build = CVQA.builds[wildcards.set]
    return [("datasets", cvqa_spec("sources", build.source)), ("builders", cvqa_spec("builders", build.builder))]


def cvqa_checker(wildcards):
    """Who checks the drafts of a build, with its family."""
    return [("checkers", cvqa_spec("checkers", CVQA.builds[wildcards.set].checker))]


def cvqa_decisions(wildcards):
    """For a rule's input: people's decisions about a build, where there are some."""
    return [CVQA.builds[wildcards.set].decisions] if CVQA.builds[wildcards.set].decisions else []


def only(backends):
    """For a rule's params: the specification of the one backend, as JSON."""
    return lambda wildcards: as_json(backends(wildcards)[0][1])


@cache
def cvqa_facts():
    """What the tables say of the answerers; it takes all their plug-ins, so only a job of a table asks."""
    return answerer_facts(CVQA)


CVQA_SET_FACTS = {name: of for name, of in set_facts(CVQA).items() if name in CVQA_SETS} if CVQA else {}


def cvqa_made_from(wildcards):
    """For a rule's input: the files of the study that a table is made from."""
    if wildcards.table in ("statistics", "answers"):
        return of_sets(QUESTIONS, CVQA_SETS)
    if wildcards.table == "programs":
        programs = [arm for arm in CVQA_ARMS if cvqa_facts()[arm.answerer]["kind"] == "program"]
        return of_arms(ANSWERS, programs) + of_arms(CVQA_SCORES, programs)
    if wildcards.table == "builds":
        return of_sets(FATES, CVQA_BUILDS)
    return of_arms(CVQA_SCORES)
