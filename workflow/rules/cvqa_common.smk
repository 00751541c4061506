"""What the rules of cvqa share: patterns of files, and small functions of wildcards and params.yaml."""

from cfeval.cvqa import step_params as cvqa_params
from cfeval.cvqa.tables import FIGURES as CVQA_DRAWN
from cfeval.cvqa.records import CvqaCondition
from cfeval.cvqa.tables import TABLES as CVQA_LISTED

CVQA = PARAMS.cvqa
CVQA_CONDITIONS = CVQA.all_conditions()
CVQA_BUILDS = CVQA.builds_asked()
CVQA_BUILT = [{"set": name} for name in CVQA_BUILDS]
CVQA_READ = [{**one.model_dump(), "reader": name} for name in CVQA.reply_readers for one in CVQA_CONDITIONS]
CVQA_TOLD = cvqa_params.tables_params(CVQA, PARAMS.shards)

CVQA_QUESTIONS = "<results>/cvqa/questions/{set}{shard}.jsonl"
CVQA_DRAFTS = "<results>/cvqa/drafts/{set}{shard}.jsonl"
CVQA_REVIEWS = "<results>/cvqa/reviews/{set}{shard}.jsonl"
CVQA_FATES = "<results>/cvqa/fates/{set}.jsonl"
CVQA_ANSWERS = "<results>/cvqa/answers/{set}/{solver}{shard}.jsonl"
CVQA_SCORES = "<results>/cvqa/scores/{set}"
CVQA_READINGS = "<results>/cvqa/readings/{reader}/{set}/{solver}{shard}.jsonl"
CVQA_CALLS = "<results>/cvqa/calls/calls.zip"
CVQA_REPORT = "<results>/cvqa/report/index.html"
CVQA_TABLES = [
    f"<results>/cvqa/tables/cvqa_{table}.{ending}" for table in CVQA_LISTED for ending in ("csv", "md", "tex")
]
CVQA_METRICS = "<results>/cvqa/tables/cvqa_metrics.json"
CVQA_FIGURES = [
    f"<results>/cvqa/figures/cvqa_{figure}.{ending}" for figure in CVQA_DRAWN for ending in ("png", "svg", "pdf")
]
CVQA_RESULTS = [*CVQA_TABLES, CVQA_METRICS, *CVQA_FIGURES, CVQA_CALLS, CVQA_REPORT]


def cvqa_file(folder):
    """A rule's param: the name under which a command takes, or makes, all shards of a set's files."""
    return lambda wildcards: f"{PLACE}{RESULTS}/cvqa/{folder}/{wildcards.set}.jsonl"


def cvqa_items(wildcards):
    """How many pairs are taken of a set; all where params.yaml does not say."""
    items = CVQA.sets[wildcards.set].items
    return f"--items {items}" if items else ""


def cvqa_of_builds(section, field):
    """A section's plugins by the built sets that use them."""
    return {name: section[getattr(build, field)] for name, build in CVQA_BUILDS.items()}


CVQA_GENERATORS = cvqa_of_builds(CVQA.question_generators, "question_generator")
CVQA_VALIDATORS = cvqa_of_builds(CVQA.question_validators, "question_validator")


def cvqa_decisions(wildcards):
    """Where people's decisions about the drafts of a set are, as an option; none: nobody has decided."""
    decisions = CVQA_BUILDS[wildcards.set].decisions
    return ["--decisions", decisions] if decisions else []


def cvqa_people(wildcards):
    """Whether a person must have accepted each draft of a set."""
    return "--people" * CVQA_BUILDS[wildcards.set].people


def cvqa_orders(wildcards):
    """In how many orders of its options each question is asked."""
    return CVQA.orders_of(CvqaCondition(set=wildcards.set, solver=wildcards.solver))


def cvqa_of_set(pattern):
    """A rule's input: the files of a pattern for all conditions of a set."""
    return lambda wildcards: each(pattern, [one for one in CVQA_CONDITIONS if one.set == wildcards.set])


def cvqa_answers_to(wildcards):
    """The answers of everyone to a set's questions, as options."""
    names = [one.solver for one in CVQA_CONDITIONS if one.set == wildcards.set]
    return [f"--answers {PLACE}{RESULTS}/cvqa/answers/{wildcards.set}/{name}.jsonl" for name in names]


wildcard_constraints:
    set=one_of(CVQA.sets_asked()),
    solver=one_of(CVQA.solvers),
    reader=one_of(CVQA.reply_readers),
