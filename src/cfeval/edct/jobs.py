"""The jobs of edct (EDCT 2025, Section 3; EDCT-Bench 2026): one for each stage, arm and shard.

1. samples. 2. baseline: question, then reason. 3. instructions: cited concept and edit. 4. counterfactuals and their
checks. 5. requery: the same two turns about the edited image. 6. verdicts, then scores. 7. the calls to models outside.
8. tables, figures and metrics. 9. the report.
"""

from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
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
    package_files,
    relative,
    shard_names,
)
from cfeval.core.provenance.jobs import Job
from cfeval.core.sampling import derive_seed
from cfeval.edct.config import Edct
from cfeval.edct.figures import FIGURES
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.tables import TABLES
from cfeval.edct.verbs import VERBS
from cfeval.inference.prompts import prompt_file

SAMPLES = "edct/samples/{dataset}{shard}.jsonl"
BASELINE = "edct/baseline/{dataset}/{vlm}{shard}.jsonl"
INSTRUCTIONS = "edct/instructions/{dataset}/{vlm}/{writer}/{protocol}{shard}.jsonl"
COUNTERFACTUALS = "edct/counterfactuals/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.jsonl"
CHECKS = "edct/checks/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.jsonl"
REQUERY = "edct/requery/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.jsonl"
VERDICTS = "edct/verdicts/{dataset}/{vlm}/{writer}/{protocol}/{editor}/{judge}{shard}.jsonl"
SCORES = "edct/scores/{dataset}/{vlm}/{writer}/{protocol}/{editor}/{judge}{shard}.csv"
CALLS = "edct/calls/calls.zip"
TABLE = "edct/tables/edct_{table}.csv"
FIGURE = "edct/figures/edct_{figure}.png"
METRICS = "edct/tables/metrics.json"
REPORT = "edct/report/index.html"
RECORDS = (BASELINE, INSTRUCTIONS, COUNTERFACTUALS, CHECKS, REQUERY, VERDICTS)
"""Stages whose records name the calls that they came from."""
REFERENCE = ("data/reference/edct-2025.csv", "data/reference/edct-bench-2026.csv")
"""The papers' published figures."""
IN_METRICS = ("table1", "table2", "bench", "controls", "calibration")
OF_KNOWN = ("calibration", "instrument")
OF_REPEATS = ("variance", "repeats")
BY_PROTOCOL = ("writers", "judges")
"""The sections whose jobs are of one protocol each; what others ask may serve every protocol."""
TEST_MODELS = ("world", "easy_vqa", "scripted")
"""Chat plug-ins that stand for no real model."""


def jobs(study: Edct, how: Filing) -> Iterator[Job]:
    """Every job of the study, parents first."""
    yield from _Edct(study, how).jobs()


class _Edct:
    """The study's parameters, and one function a stage."""

    def __init__(self, study: Edct, how: Filing) -> None:
        self.study = study
        self.root = how.root
        self.shards = shard_names(how.shards)
        self.cut = str(how.shards)
        self.pictures = Pictures(how.archived)
        self.arms: list[Arm] = [arm.model_dump() for arm in self.study.arms()]
        self.seed = str(self.study.seed)
        self.tables = [table for table in TABLES if arms_of_table(self.study, table)]
        self.figures = [figure for figure, shown in FIGURES.items() if shown.table in self.tables]

    def jobs(self) -> Iterator[Job]:
        """Every job, parents first."""
        for dataset in dict.fromkeys(arm["dataset"] for arm in self.arms):
            yield self._samples(dataset)
        stages = (
            (BASELINE, self._baseline),
            (INSTRUCTIONS, self._instructions),
            (COUNTERFACTUALS, self._counterfactuals),
            (CHECKS, self._checks),
            (REQUERY, self._requery),
            (VERDICTS, self._verdicts),
            (SCORES, self._scores),
        )
        for pattern, stage in stages:
            yield from map(stage, self._each(pattern))
        yield self._calls()
        yield from map(self._table, self.tables)
        yield from map(self._figure, self.figures)
        yield self._metrics()
        yield self._report()

    def _each(self, pattern: str) -> Iterable[Arm]:
        """An arm, with its shard, for every file of a pattern."""
        found: dict[str, Arm] = {}
        for arm, shard in product(self.arms, self.shards):
            one = {**arm, "shard": shard}
            found.setdefault(self.at(pattern, one), one)
        return found.values()

    def at(self, pattern: str, arm: Arm) -> str:
        """The file of a pattern for an arm and one of its shards."""
        return f"{self.root}/{pattern.format(**arm)}"

    def all(self, pattern: str, arms: list[Arm]) -> list[str]:
        """The files of a pattern for some arms and all shards."""
        return made(f"{self.root}/{pattern}", arms, self.shards)

    def backend(self, section: str, arm: Arm, field: str) -> list[Backend]:
        """The plug-in that an arm names; none where its protocol asks it nothing or the data set has none."""
        idle = section in ("writers", "editors", "verifiers") and RULES[arm["protocol"]].edits == "none"
        spec = None if idle else getattr(self.study, section).get(arm[field])
        family = {"vlms": "chat"}.get(section, section)
        asked = (arm["protocol"],) if section in BY_PROTOCOL else tuple(RULES)
        return [Backend(family, spec, asked)] if spec else []

    def _stage(
        self, stage: str, words: list[str], inputs: list[str], out: tuple[str, ...], using: list[Backend], **more: Any
    ) -> Job:
        return Job(
            f"edct.{stage}",
            ("edct", stage, *words),
            tuple(inputs),
            out,
            {f"edct.{stage}": VERBS[stage], **code_of(*using), **more.pop("code", {})},
            files=(*files_of(*using), *more.pop("files", ())),
            needs=needs_of(*using),
        )

    def _samples(self, dataset: str) -> Job:
        spec = self.study.datasets[dataset]
        files = self.all(SAMPLES, [{"dataset": dataset}])
        base = self.at(SAMPLES, {"dataset": dataset, "shard": ""})
        words = ["--dataset", as_json(spec.plugin()), "--items", str(self.study.items), "--seed", self.seed]
        words += ["--shards", self.cut, *self.pictures.words, "--out", base]
        return self._stage("generate", words, [], self.pictures.made(files), [Backend("datasets", spec)])

    def _baseline(self, arm: Arm) -> Job:
        return self._conversation("baseline", arm, [], BASELINE)

    def _requery(self, arm: Arm) -> Job:
        edited = self.at(COUNTERFACTUALS, arm)
        return self._conversation("requery", arm, ["--counterfactuals", edited], REQUERY)

    def _conversation(self, stage: str, arm: Arm, words: list[str], pattern: str) -> Job:
        model = self.backend("vlms", arm, "vlm")
        repeat = model[0].spec.repeat
        seed = self.study.seed if repeat == 1 else derive_seed(self.study.seed, "repeat", repeat)
        folder = self.study.prompts or ""
        words = ["--samples", self.at(SAMPLES, arm), *words, "--vlm", as_json(model[0].spec.plugin())]
        words += ["--seed", str(seed), f"--prompts={folder}", "--out", self.at(pattern, arm)]
        inputs = [words[1]] if stage == "baseline" else [words[1], words[3]]
        prompts = [
            relative(str(prompt_file(name, protocol="conversation", folder=_folder(folder))))
            for name in ("answer", "explain")
        ]
        inputs += self.pictures.beside(*inputs)
        return self._stage(stage, words, inputs, (self.at(pattern, arm),), model, files=prompts)

    def _instructions(self, arm: Arm) -> Job:
        writer = self.backend("writers", arm, "writer")
        inputs = [self.at(SAMPLES, arm), self.at(BASELINE, arm)]
        edits = self.study.edits if RULES[arm["protocol"]].several else 1
        words = ["--samples", inputs[0], "--baseline", inputs[1], f"--writer={_said(writer)}"]
        words += ["--protocol", arm["protocol"], "--edits", str(edits), "--seed", self.seed]
        out = self.at(INSTRUCTIONS, arm)
        inputs += self.pictures.beside(inputs[0])
        return self._stage("instruct", [*words, "--out", out], inputs, (out,), writer)

    def _counterfactuals(self, arm: Arm) -> Job:
        editor = self.backend("editors", arm, "editor")
        inputs = [self.at(SAMPLES, arm), self.at(INSTRUCTIONS, arm)]
        words = ["--samples", inputs[0], "--instructions", inputs[1], f"--editor={_said(editor)}"]
        words += ["--protocol", arm["protocol"], "--seed", self.seed, *self.pictures.words]
        out = self.at(COUNTERFACTUALS, arm)
        inputs += self.pictures.beside(inputs[0])
        return self._stage("edit", [*words, "--out", out], inputs, self.pictures.made([out]), editor)

    def _checks(self, arm: Arm) -> Job:
        verifier = self.backend("verifiers", arm, "dataset")
        inputs = [self.at(pattern, arm) for pattern in (SAMPLES, INSTRUCTIONS, COUNTERFACTUALS)]
        words = ["--samples", inputs[0], "--instructions", inputs[1], "--counterfactuals", inputs[2]]
        words += [f"--verifier={_said(verifier)}", "--protocol", arm["protocol"], "--seed", self.seed]
        out = self.at(CHECKS, arm)
        words += [*self.pictures.words, "--out", out]
        inputs += self.pictures.beside(inputs[0], inputs[2])
        return self._stage("check", words, inputs, self.pictures.made([out]), verifier)

    def _verdicts(self, arm: Arm) -> Job:
        judge = self.backend("judges", arm, "judge")
        inputs = [self.at(pattern, arm) for pattern in (BASELINE, INSTRUCTIONS, COUNTERFACTUALS, REQUERY)]
        words = ["--baseline", inputs[0], "--instructions", inputs[1], "--counterfactuals", inputs[2]]
        words += ["--requery", inputs[3], "--judge", _said(judge), "--protocol", arm["protocol"], "--seed", self.seed]
        out = self.at(VERDICTS, arm)
        inputs += self.pictures.beside(inputs[2])
        return self._stage("judge", [*words, "--out", out], inputs, (out,), judge)

    def _scores(self, arm: Arm) -> Job:
        named = {name: value for name, value in arm.items() if name != "shard"}
        inputs = [self.at(pattern, arm) for pattern in (SAMPLES, BASELINE, INSTRUCTIONS, CHECKS, VERDICTS)]
        words = ["--arm", as_json(named), "--samples", inputs[0], "--baseline", inputs[1]]
        words += ["--instructions", inputs[2], "--checks", inputs[3], "--verdicts", inputs[4]]
        out = self.at(SCORES, arm)
        return self._stage("score", [*words, "--out", out], inputs, (out,), [])

    def _calls(self) -> Job:
        inputs = [file for pattern in RECORDS for file in self.all(pattern, self.arms)]
        out = self.at(CALLS, {})
        words = ["--results", f"{self.root}/edct", "--arms", as_json(self.arms), "--shards", self.cut, "--out", out]
        return self._stage("calls", words, inputs, (out,), [])

    def _table(self, table: str) -> Job:
        arms, beside = arms_of_table(self.study, table), arms_beside_table(self.study, table)
        known, repeats = table in OF_KNOWN, self.study.repeats() if table in OF_REPEATS else {}
        tested = {arm["vlm"] for arm in arms if self.study.vlms[arm["vlm"]].backend in TEST_MODELS}
        out = self.at(TABLE, {"table": table}).removesuffix(".csv")
        words = [table, "--results", f"{self.root}/edct", "--shards", self.cut, "--arms", as_json(arms)]
        words += ["--beside", as_json(beside), "--interval", as_json(self.study.interval.model_dump())]
        words += [*each("--reference", REFERENCE), "--known", as_json(self.study.known if known else {})]
        words += ["--judge-error", as_json(self.study.judge_error if known else ())]
        words += ["--repeats", as_json(repeats), "--test-targets", as_json(sorted(tested)), "--out", out]
        code = {f"table.{table}": TABLES[table].table}
        outputs = tuple(f"{out}.{ending}" for ending in ("csv", "md", "tex"))
        return self._stage("table", words, self.all(SCORES, arms + beside), outputs, [], code=code, files=REFERENCE)

    def _figure(self, figure: str) -> Job:
        shown = FIGURES[figure]
        table = self.at(TABLE, {"table": shown.table})
        out = self.at(FIGURE, {"figure": figure}).removesuffix(".png")
        words = [figure, "--table", table, "--out", out]
        code = {f"figure.{figure}": shown.draw, **_row(shown.table)}
        return self._stage("figure", words, [table], (f"{out}.png", f"{out}.svg"), [], code=code)

    def _metrics(self) -> Job:
        shown = [table for table in IN_METRICS if table in self.tables]
        tables = [self.at(TABLE, {"table": table}) for table in shown]
        code = {name: root for table in shown for name, root in _row(table).items()}
        out = self.at(METRICS, {})
        return self._stage("metrics", [*tables, "--out", out], tables, (out,), [], code=code)

    def _report(self) -> Job:
        tables = [self.at(TABLE, {"table": table}) for table in self.tables]
        figures = [self.at(FIGURE, {"figure": figure}).removesuffix(".png") + ".svg" for figure in self.figures]
        shown = (SAMPLES, BASELINE, INSTRUCTIONS, COUNTERFACTUALS, REQUERY, SCORES)
        inputs = [*tables, *figures, *(file for pattern in shown for file in self.all(pattern, self.arms))]
        pictured = [file for pattern in (SAMPLES, COUNTERFACTUALS) for file in self.all(pattern, self.arms)]
        inputs += self.pictures.beside(*pictured)
        out = self.at(REPORT, {})
        words = ["--results", f"{self.root}/edct", "--arms", as_json(self.arms), "--shards", self.cut]
        words += [*each("--table", self.tables), "--tables", f"{self.root}/edct/tables"]
        words += ["--figures", f"{self.root}/edct/figures", "--out", out]
        code = {f"table.{table}": TABLES[table].table for table in self.tables}
        pages = package_files("report", "templates")
        return self._stage("report", words, inputs, (out,), [], code=code, files=pages)


def arms_of_table(study: Edct, table: str) -> list[Arm]:
    """The arms that a table shows, those of tables that follow from others among them."""
    if table == "agreement":
        arms = study.arms()
    elif table == "repeats":
        repeats = study.repeats()
        arms = [arm for arm in study.arms() if arm.vlm in {*repeats, *repeats.values()}]
    elif table == "comparisons":
        arms = [arm for name in ("table1", "bench") for arm in study.tables.arms(name)]
    else:
        arms = study.tables.arms("calibration" if table == "instrument" else table)
    return [arm.model_dump() for arm in arms]


def arms_beside_table(study: Edct, table: str) -> list[Arm]:
    """Further arms that a table rests on: the placebo edits tell how complete the explanations of known targets are."""
    known = [arm.model_dump() for arm in study.arms()]
    placebos = [{**arm, "protocol": "placebo-edit"} for arm in arms_of_table(study, table)]
    return [arm for arm in placebos if arm in known] if table == "calibration" else []


def _said(backends: list[Backend]) -> str:
    return as_json(backends[0].spec.plugin()) if backends else ""


def _row(table: str) -> dict[str, str]:
    """Whose code reads a table: the record of its rows alone."""
    return {f"row.{table}": TABLES[table].record}


def _folder(name: str) -> Path | None:
    return Path(name) if name else None
