"""The jobs of cvqa (C-VQA, Sections 3 and 4): one for each stage, set or condition, and shard.

1. pairs of every set. 2. of every set that is built: drafts, reviews, and the pairs that both let pass. 3. answers to
both questions of every pair. 4. scores by both readers, and what language models read in replies. 5. the calls to
models outside that all of it rests on. 6. tables, figures and metrics. 7. the report.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from cfeval.core.jobs import Condition, Filing, StudyJobs, as_json, brought, each
from cfeval.core.provenance.jobs import Job
from cfeval.cvqa.config import FAMILIES, Cvqa
from cfeval.cvqa.facts import set_facts, solver_facts
from cfeval.cvqa.figures import FIGURES
from cfeval.cvqa.records import CvqaCondition
from cfeval.cvqa.tables import TABLES
from cfeval.cvqa.verbs import STAGES

QUESTIONS = "cvqa/questions/{set}{shard}.jsonl"
DRAFTS = "cvqa/drafts/{set}{shard}.jsonl"
REVIEWS = "cvqa/reviews/{set}{shard}.jsonl"
FATES = "cvqa/fates/{set}.jsonl"
ANSWERS = "cvqa/answers/{set}/{solver}{shard}.jsonl"
READINGS = "cvqa/readings/{reader}/{set}/{solver}{shard}.jsonl"
SCORES = "cvqa/scores/{set}/{solver}{shard}.jsonl"
CALLS = "cvqa/calls/calls.zip"
TABLE = "cvqa/tables/cvqa_{table}.csv"
FIGURE = "cvqa/figures/cvqa_{figure}.png"
METRICS = "cvqa/tables/cvqa_metrics.json"
REPORT = "cvqa/report/index.html"
REFERENCE = "data/reference/cvqa.csv"
"""The paper's published figures."""
IN_METRICS = ("table3", "table7", "builds")


def jobs(study: Cvqa, how: Filing) -> Iterator[Job]:
    """Every job of the study, parents first."""
    yield from _Cvqa(study, how).jobs()


class _Cvqa(StudyJobs[Cvqa]):
    """The study's parameters, and one function a stage."""

    name, stages, families = "cvqa", STAGES, FAMILIES
    listed, drawings = TABLES, FIGURES
    table, figure, metrics, report = TABLE, FIGURE, METRICS, REPORT

    def __init__(self, study: Cvqa, how: Filing) -> None:
        super().__init__(study, how, study.all_conditions())
        self.sets = study.sets_asked()
        self.builds = list(study.builds_asked())
        self.read = [{**one, "reader": reader} for reader in study.reply_readers for one in self.conditions]

    def jobs(self) -> Iterator[Job]:
        """Every job, parents first."""
        yield from (self._questions(name) for name in self.sets if name not in self.builds)
        for name in self.builds:
            yield self._drafts(name)
            yield from (self._reviews({"set": name, "shard": shard}) for shard in self.shards)
            yield self._assembled(name)
        yield from self.per_file(ANSWERS, self._answers)
        yield from self.per_file(SCORES, self._scores)
        yield from self.per_file(READINGS, self._readings, self.read)
        yield self._calls()
        yield from map(self._table, TABLES)
        yield from map(self.figure_job, FIGURES)
        yield self.metrics_job(IN_METRICS)
        with_images = self.all(QUESTIONS, self.conditions)
        said = [file for one in (ANSWERS, SCORES) for file in self.all(one, self.conditions)]
        yield self.report_job(list(TABLES), FIGURES, [*with_images, *said], with_images)

    @cached_property
    def facts(self) -> dict[str, dict[str, Any]]:
        """What the tables say of the solvers."""
        return solver_facts(self.study)

    def _questions(self, name: str) -> Job:
        condition, items = {"set": name}, self.study.sets[name].items
        using = self.plugin("sets", name)
        words = ["--set", using.options, *(["--items", str(items)] if items else [])]
        words += [
            "--seed",
            self.seed,
            "--shards",
            self.cut,
            *self.image_files.words,
            "--out",
            self.at(QUESTIONS, condition),
        ]
        return self.job("questions", words, [], self.image_files.made(self.all(QUESTIONS, [condition])), [using])

    def _drafts(self, name: str) -> Job:
        condition, build = {"set": name}, self.study.builds[name]
        using = [self.plugin("sources", build.source), self.plugin("question_generators", build.question_generator)]
        words = [
            "--source",
            using[0].options,
            "--question-generator",
            using[1].options,
        ]
        words += ["--items", str(build.items), "--seed", self.seed]
        words += ["--shards", self.cut, *self.image_files.words, "--out", self.at(DRAFTS, condition)]
        return self.job("drafts", words, [], self.image_files.made(self.all(DRAFTS, [condition])), using)

    def _reviews(self, condition: Condition) -> Job:
        using = self.plugin("question_validators", self.study.builds[condition["set"]].question_validator)
        words = ["--drafts", self.at(DRAFTS, condition), "--question-validator", using.options]
        words += ["--seed", self.seed, "--out", self.at(REVIEWS, condition)]
        inputs = [words[1], *self.image_files.beside(words[1])]
        return self.job("reviews", words, inputs, (self.at(REVIEWS, condition),), [using])

    def _assembled(self, name: str) -> Job:
        condition, build = {"set": name}, self.study.builds[name]
        decisions = [build.decisions] if build.decisions else []
        fates = self.at(FATES, condition)
        words = [
            "--drafts",
            self.at(DRAFTS, condition),
            "--reviews",
            self.at(REVIEWS, condition),
            *each("--decisions", decisions),
        ]
        words += [*(["--people"] if build.people else []), "--cut", self.cut, "--shards", self.cut]
        words += [*self.image_files.words, "--out", self.at(QUESTIONS, condition), "--fates", fates]
        drafts = self.all(DRAFTS, [condition])
        inputs = [*drafts, *self.all(REVIEWS, [condition]), *self.image_files.beside(*drafts)]
        outputs = (*self.image_files.made(self.all(QUESTIONS, [condition])), fates)
        return self.job("builds", words, inputs, outputs, [], files=decisions)

    def _answers(self, condition: Condition) -> Job:
        using = self.plugin("solvers", condition["solver"])
        orders = self.study.orders_of(CvqaCondition(set=condition["set"], solver=condition["solver"]))
        words = ["--questions", self.at(QUESTIONS, condition), "--solver", using.options]
        words += ["--orders", str(orders), "--seed", self.seed, "--out", self.at(ANSWERS, condition)]
        inputs = [words[1], *self.image_files.beside(words[1])]
        return self.job("answers", words, inputs, (self.at(ANSWERS, condition),), [using])

    def _scores(self, condition: Condition) -> Job:
        words = ["--questions", self.at(QUESTIONS, condition), "--answers", self.at(ANSWERS, condition)]
        words += ["--out", self.at(SCORES, condition)]
        return self.job("scores", words, [words[1], words[3]], (self.at(SCORES, condition),), [])

    def _readings(self, condition: Condition) -> Job:
        using = self.plugin("reply_readers", condition["reader"])
        words = ["--questions", self.at(QUESTIONS, condition), "--answers", self.at(ANSWERS, condition)]
        words += ["--reply-reader", using.options, "--share", str(self.study.reread), "--seed", self.seed]
        words += ["--out", self.at(READINGS, condition)]
        return self.job("readings", words, [words[1], words[3]], (self.at(READINGS, condition),), [using])

    def _calls(self) -> Job:
        """The calls that some record names: those of drafts and reviews, and of every answer and reading."""
        built = [{"set": name} for name in self.builds]
        inputs = [*self.all(DRAFTS, built), *self.all(REVIEWS, built), *self.all(ANSWERS, self.conditions)]
        inputs += self.all(READINGS, self.read)
        out = self.at(CALLS, {})
        words = ["--results", f"{self.root}/cvqa", "--conditions", as_json(self.conditions)]
        words += [*each("--build", self.builds), *each("--reader", self.study.reply_readers)]
        words += ["--shards", self.cut, "--out", out]
        return self.job("calls", words, inputs, (out,), [])

    def _table(self, table: str) -> Job:
        study = self.study
        facts = {name: of for name, of in set_facts(study).items() if name in self.sets}
        genders = [study.genders] if study.genders else []
        words = ["--results", f"{self.root}/cvqa", "--shards", self.cut, "--conditions", as_json(self.conditions)]
        words += ["--sets", as_json(facts), "--solvers", as_json(self.facts), *each("--build", self.builds)]
        words += ["--interval", as_json(study.interval.model_dump()), *each("--genders", genders)]
        words += each("--reader", study.reply_readers) if table == "reply_readers" else []
        reference = brought(REFERENCE)
        words += ["--reference", reference]
        return self.table_job(table, words, self.made_from(table), [*genders, reference])

    def made_from(self, table: str) -> list[str]:
        """The files of the study that a table is made from."""
        if table in ("statistics", "answers"):
            return self.all(QUESTIONS, [{"set": name} for name in self.sets])
        if table == "programs":
            programs = [one for one in self.conditions if self.facts[one["solver"]]["kind"] in ("program", "agent")]
            return self.all(ANSWERS, programs) + self.all(SCORES, programs)
        if table == "reply_readers":
            return [*self.all(SCORES, self.conditions), *self.all(READINGS, self.read)] if self.read else []
        if table == "builds":
            return self.all(FATES, [{"set": name} for name in self.builds])
        return self.all(SCORES, self.conditions)
