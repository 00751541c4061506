"""The jobs of cvqa (C-VQA, Sections 3 and 4): one for each stage, set or arm, and shard.

1. pairs of every set. 2. of every set that is built: drafts, reviews, and the pairs that both let pass. 3. answers to
both questions of every pair. 4. scores by both readers. 5. tables, figures and metrics.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from cfeval.core.jobs import (
    Arm,
    Backend,
    Filing,
    Pictures,
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
from cfeval.cvqa.estimate import answerer_facts, set_facts
from cfeval.cvqa.figures import FIGURES
from cfeval.cvqa.records import CvqaArm
from cfeval.cvqa.tables import TABLES
from cfeval.cvqa.verbs import VERBS

QUESTIONS = "cvqa/questions/{set}{shard}.jsonl"
DRAFTS = "cvqa/drafts/{set}{shard}.jsonl"
REVIEWS = "cvqa/reviews/{set}{shard}.jsonl"
FATES = "cvqa/fates/{set}.jsonl"
ANSWERS = "cvqa/answers/{set}/{answerer}{shard}.jsonl"
SCORES = "cvqa/scores/{set}/{answerer}{shard}.jsonl"
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
        self.arms: list[Arm] = [arm.model_dump() for arm in study.all_arms()]
        self.seed = str(study.seed)

    def jobs(self) -> Iterator[Job]:
        """Every job, parents first."""
        yield from (self._questions(name) for name in self.sets if name not in self.builds)
        for name in self.builds:
            yield self._drafts(name)
            yield from (self._reviews({"set": name, "shard": shard}) for shard in self.shards)
            yield self._assembled(name)
        for stage in (self._answers, self._scores):
            yield from (stage({**arm, "shard": shard}) for arm in self.arms for shard in self.shards)
        yield from map(self._table, TABLES)
        yield from map(self._figure, FIGURES)
        yield self._metrics()

    def at(self, pattern: str, arm: Arm) -> str:
        """The file of a pattern; without a shard, the name under which a verb takes all shards."""
        return f"{self.root}/{pattern.format(**{'shard': '', **arm})}"

    def all(self, pattern: str, arms: list[Arm]) -> list[str]:
        """The files of a pattern for some arms and all shards."""
        return made(f"{self.root}/{pattern}", arms, self.shards)

    def backend(self, section: str, name: str) -> Backend:
        """A plug-in of the study by its section and name."""
        return Backend(FAMILIES[section], getattr(self.study, section)[name])

    @cached_property
    def facts(self) -> dict[str, dict[str, Any]]:
        """What the tables say of the answerers."""
        return answerer_facts(self.study)

    def _stage(
        self, stage: str, words: list[str], inputs: list[str], out: tuple[str, ...], using: list[Backend], **more: Any
    ) -> Job:
        code = {f"cvqa.{stage}": VERBS[stage], **code_of(*using), **more.pop("code", {})}
        files = (*files_of(*using), *more.pop("files", ()))
        return Job(f"cvqa.{stage}", ("cvqa", stage, *words), tuple(inputs), out, code, files, needs=needs_of(*using))

    def _questions(self, name: str) -> Job:
        arm, items = {"set": name}, self.study.sets[name].items
        using = self.backend("sets", name)
        words = ["--set", as_json(using.spec.plugin()), *(["--items", str(items)] if items else [])]
        words += ["--seed", self.seed, "--shards", self.cut, *self.pictures.words, "--out", self.at(QUESTIONS, arm)]
        return self._stage("questions", words, [], self.pictures.made(self.all(QUESTIONS, [arm])), [using])

    def _drafts(self, name: str) -> Job:
        arm, build = {"set": name}, self.study.builds[name]
        using = [self.backend("sources", build.source), self.backend("builders", build.builder)]
        words = ["--source", as_json(using[0].spec.plugin()), "--builder", as_json(using[1].spec.plugin())]
        words += ["--items", str(build.items), "--seed", self.seed]
        words += ["--shards", self.cut, *self.pictures.words, "--out", self.at(DRAFTS, arm)]
        return self._stage("draft", words, [], self.pictures.made(self.all(DRAFTS, [arm])), using)

    def _reviews(self, arm: Arm) -> Job:
        using = self.backend("checkers", self.study.builds[arm["set"]].checker)
        words = ["--drafts", self.at(DRAFTS, arm), "--checker", as_json(using.spec.plugin())]
        words += ["--seed", self.seed, "--out", self.at(REVIEWS, arm)]
        inputs = [words[1], *self.pictures.beside(words[1])]
        return self._stage("review", words, inputs, (self.at(REVIEWS, arm),), [using])

    def _assembled(self, name: str) -> Job:
        arm, build = {"set": name}, self.study.builds[name]
        decisions = [build.decisions] if build.decisions else []
        fates = self.at(FATES, arm)
        words = ["--drafts", self.at(DRAFTS, arm), "--reviews", self.at(REVIEWS, arm), *each("--decisions", decisions)]
        words += [*(["--people"] if build.people else []), "--cut", self.cut, "--shards", self.cut]
        words += [*self.pictures.words, "--out", self.at(QUESTIONS, arm), "--fates", fates]
        drafts = self.all(DRAFTS, [arm])
        inputs = [*drafts, *self.all(REVIEWS, [arm]), *self.pictures.beside(*drafts)]
        outputs = (*self.pictures.made(self.all(QUESTIONS, [arm])), fates)
        return self._stage("assemble", words, inputs, outputs, [], files=decisions)

    def _answers(self, arm: Arm) -> Job:
        using = self.backend("answerers", arm["answerer"])
        orders = self.study.orders_of(CvqaArm(set=arm["set"], answerer=arm["answerer"]))
        words = ["--questions", self.at(QUESTIONS, arm), "--answerer", as_json(using.spec.plugin())]
        words += ["--orders", str(orders), "--seed", self.seed, "--out", self.at(ANSWERS, arm)]
        inputs = [words[1], *self.pictures.beside(words[1])]
        return self._stage("answer", words, inputs, (self.at(ANSWERS, arm),), [using])

    def _scores(self, arm: Arm) -> Job:
        words = ["--questions", self.at(QUESTIONS, arm), "--answers", self.at(ANSWERS, arm)]
        words += ["--out", self.at(SCORES, arm)]
        return self._stage("score", words, [words[1], words[3]], (self.at(SCORES, arm),), [])

    def _table(self, table: str) -> Job:
        study = self.study
        facts = {name: of for name, of in set_facts(study).items() if name in self.sets}
        genders = [study.genders] if study.genders else []
        out = self.at(TABLE, {"table": table}).removesuffix(".csv")
        words = [table, "--results", f"{self.root}/cvqa", "--shards", self.cut, "--arms", as_json(self.arms)]
        words += ["--sets", as_json(facts), "--answerers", as_json(self.facts), *each("--build", self.builds)]
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
            programs = [arm for arm in self.arms if self.facts[arm["answerer"]]["kind"] == "program"]
            return self.all(ANSWERS, programs) + self.all(SCORES, programs)
        if table == "builds":
            return self.all(FATES, [{"set": name} for name in self.builds])
        return self.all(SCORES, self.arms)

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
