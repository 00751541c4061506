"""The jobs of cvqa (C-VQA, Sections 3 and 4): one for each stage, set or condition, and shard.

1. pairs of every set. 2. of every set that is built: drafts, reviews, and the pairs that both let pass. 3. answers to
both questions of every pair. 4. scores by both readers. 5. tables, figures and metrics.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from cfeval.core.jobs import (
    Condition,
    Filing,
    Pictures,
    PluginUse,
    as_json,
    code_of,
    each,
    files_of,
    made,
    needs_of,
    shard_names,
)
from cfeval.core.provenance.jobs import Job
from cfeval.cvqa.config import FAMILIES, Cvqa
from cfeval.cvqa.estimate import set_facts, solver_facts
from cfeval.cvqa.figures import FIGURES
from cfeval.cvqa.records import CvqaCondition
from cfeval.cvqa.tables import TABLES
from cfeval.cvqa.verbs import VERBS

QUESTIONS = "cvqa/questions/{set}{shard}.jsonl"
DRAFTS = "cvqa/drafts/{set}{shard}.jsonl"
REVIEWS = "cvqa/reviews/{set}{shard}.jsonl"
FATES = "cvqa/fates/{set}.jsonl"
ANSWERS = "cvqa/answers/{set}/{solver}{shard}.jsonl"
SCORES = "cvqa/scores/{set}/{solver}{shard}.jsonl"
TABLE = "cvqa/tables/cvqa_{table}.csv"
FIGURE = "cvqa/figures/cvqa_{figure}.png"
METRICS = "cvqa/tables/cvqa_metrics.json"
REFERENCE = "data/reference/cvqa.csv"
"""The paper's published figures."""
IN_METRICS = ("table3", "table7", "builds")


def jobs(study: Cvqa, how: Filing) -> Iterator[Job]:
    """Every job of the study, parents first."""
    yield from _Cvqa(study, how).jobs()


class _Cvqa:
    """The study's parameters, and one function a stage."""

    def __init__(self, study: Cvqa, how: Filing) -> None:
        self.study = study
        self.root = how.root
        self.shards = shard_names(how.shards)
        self.cut = str(how.shards)
        self.pictures = Pictures(how.archived)
        self.sets = study.sets_asked()
        self.builds = list(study.builds_asked())
        self.conditions: list[Condition] = [condition.model_dump() for condition in study.all_conditions()]
        self.seed = str(study.seed)

    def jobs(self) -> Iterator[Job]:
        """Every job, parents first."""
        yield from (self._questions(name) for name in self.sets if name not in self.builds)
        for name in self.builds:
            yield self._drafts(name)
            yield from (self._reviews({"set": name, "shard": shard}) for shard in self.shards)
            yield self._assembled(name)
        for stage in (self._answers, self._scores):
            yield from (stage({**condition, "shard": shard}) for condition in self.conditions for shard in self.shards)
        yield from map(self._table, TABLES)
        yield from map(self._figure, FIGURES)
        yield self._metrics()

    def at(self, pattern: str, condition: Condition) -> str:
        """The file of a pattern; without a shard, the name under which a verb takes all shards."""
        return f"{self.root}/{pattern.format(**{'shard': '', **condition})}"

    def all(self, pattern: str, conditions: list[Condition]) -> list[str]:
        """The files of a pattern for some conditions and all shards."""
        return made(f"{self.root}/{pattern}", conditions, self.shards)

    def plugin(self, section: str, name: str) -> PluginUse:
        """A plugin of the study by its section and name."""
        return PluginUse(FAMILIES[section], getattr(self.study, section)[name])

    @cached_property
    def facts(self) -> dict[str, dict[str, Any]]:
        """What the tables say of the solvers."""
        return solver_facts(self.study)

    def _stage(
        self, stage: str, words: list[str], inputs: list[str], out: tuple[str, ...], using: list[PluginUse], **more: Any
    ) -> Job:
        code = {f"cvqa.{stage}": VERBS[stage], **code_of(*using), **more.pop("code", {})}
        files = (*files_of(*using), *more.pop("files", ()))
        return Job(f"cvqa.{stage}", ("cvqa", stage, *words), tuple(inputs), out, code, files, needs=needs_of(*using))

    def _questions(self, name: str) -> Job:
        condition, items = {"set": name}, self.study.sets[name].items
        using = self.plugin("sets", name)
        words = ["--set", as_json(using.spec.plugin_options()), *(["--items", str(items)] if items else [])]
        words += [
            "--seed",
            self.seed,
            "--shards",
            self.cut,
            *self.pictures.words,
            "--out",
            self.at(QUESTIONS, condition),
        ]
        return self._stage("questions", words, [], self.pictures.made(self.all(QUESTIONS, [condition])), [using])

    def _drafts(self, name: str) -> Job:
        condition, build = {"set": name}, self.study.builds[name]
        using = [self.plugin("sources", build.source), self.plugin("question_generators", build.question_generator)]
        words = [
            "--source",
            as_json(using[0].spec.plugin_options()),
            "--question-generator",
            as_json(using[1].spec.plugin_options()),
        ]
        words += ["--items", str(build.items), "--seed", self.seed]
        words += ["--shards", self.cut, *self.pictures.words, "--out", self.at(DRAFTS, condition)]
        return self._stage("drafts", words, [], self.pictures.made(self.all(DRAFTS, [condition])), using)

    def _reviews(self, condition: Condition) -> Job:
        using = self.plugin("question_validators", self.study.builds[condition["set"]].question_validator)
        words = ["--drafts", self.at(DRAFTS, condition), "--question-validator", as_json(using.spec.plugin_options())]
        words += ["--seed", self.seed, "--out", self.at(REVIEWS, condition)]
        inputs = [words[1], *self.pictures.beside(words[1])]
        return self._stage("reviews", words, inputs, (self.at(REVIEWS, condition),), [using])

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
        words += [*self.pictures.words, "--out", self.at(QUESTIONS, condition), "--fates", fates]
        drafts = self.all(DRAFTS, [condition])
        inputs = [*drafts, *self.all(REVIEWS, [condition]), *self.pictures.beside(*drafts)]
        outputs = (*self.pictures.made(self.all(QUESTIONS, [condition])), fates)
        return self._stage("builds", words, inputs, outputs, [], files=decisions)

    def _answers(self, condition: Condition) -> Job:
        using = self.plugin("solvers", condition["solver"])
        orders = self.study.orders_of(CvqaCondition(set=condition["set"], solver=condition["solver"]))
        words = ["--questions", self.at(QUESTIONS, condition), "--solver", as_json(using.spec.plugin_options())]
        words += ["--orders", str(orders), "--seed", self.seed, "--out", self.at(ANSWERS, condition)]
        inputs = [words[1], *self.pictures.beside(words[1])]
        return self._stage("answers", words, inputs, (self.at(ANSWERS, condition),), [using])

    def _scores(self, condition: Condition) -> Job:
        words = ["--questions", self.at(QUESTIONS, condition), "--answers", self.at(ANSWERS, condition)]
        words += ["--out", self.at(SCORES, condition)]
        return self._stage("scores", words, [words[1], words[3]], (self.at(SCORES, condition),), [])

    def _table(self, table: str) -> Job:
        study = self.study
        facts = {name: of for name, of in set_facts(study).items() if name in self.sets}
        genders = [study.genders] if study.genders else []
        out = self.at(TABLE, {"table": table}).removesuffix(".csv")
        words = [
            table,
            "--results",
            f"{self.root}/cvqa",
            "--shards",
            self.cut,
            "--conditions",
            as_json(self.conditions),
        ]
        words += ["--sets", as_json(facts), "--solvers", as_json(self.facts), *each("--build", self.builds)]
        words += ["--interval", as_json(study.interval.model_dump()), *each("--genders", genders)]
        words += ["--reference", REFERENCE, "--out", out]
        code = {f"table.{table}": TABLES[table].table}
        outputs = tuple(f"{out}.{ending}" for ending in ("csv", "md", "tex"))
        files = [*genders, REFERENCE]
        return self._stage("table", words, self.made_from(table), outputs, [], code=code, files=files)

    def made_from(self, table: str) -> list[str]:
        """The files of the study that a table is made from."""
        if table in ("statistics", "answers"):
            return self.all(QUESTIONS, [{"set": name} for name in self.sets])
        if table == "programs":
            programs = [
                condition for condition in self.conditions if self.facts[condition["solver"]]["kind"] == "program"
            ]
            return self.all(ANSWERS, programs) + self.all(SCORES, programs)
        if table == "builds":
            return self.all(FATES, [{"set": name} for name in self.builds])
        return self.all(SCORES, self.conditions)

    def _figure(self, figure: str) -> Job:
        shown = FIGURES[figure]
        table = self.at(TABLE, {"table": shown.table})
        out = self.at(FIGURE, {"figure": figure}).removesuffix(".png")
        code = {f"figure.{figure}": shown.draw, **_row(shown.table)}
        words = [figure, "--table", table, "--out", out]
        return self._stage("figure", words, [table], (f"{out}.png", f"{out}.svg"), [], code=code)

    def _metrics(self) -> Job:
        tables = [self.at(TABLE, {"table": table}) for table in IN_METRICS]
        code = {name: root for table in IN_METRICS for name, root in _row(table).items()}
        out = self.at(METRICS, {})
        return self._stage("metrics", [*tables, "--out", out], tables, (out,), [], code=code)


def _row(table: str) -> dict[str, str]:
    """Whose code reads a table: the record of its rows alone."""
    return {f"row.{table}": TABLES[table].record}
