"""The jobs of edct (EDCT 2025, Section 3; EDCT-Bench 2026; given pairs): one for each stage, condition and shard.

1. items. 2. baselines: question, then reason. 3. instructions: cited concept and edit. 4. counterfactuals and their
checks. 5. requeries: the same two turns about the edited image. 6. verdicts, then scores. 7. the calls to models
outside. 8. tables, figures and metrics. 9. the report.
"""

from collections.abc import Iterator
from pathlib import Path

from cfeval.core.jobs import (
    Condition,
    Filing,
    PluginUse,
    StudyJobs,
    as_json,
    brought,
    drawn,
    each,
    options_of,
    package_files,
    relative,
)
from cfeval.core.provenance.jobs import Job
from cfeval.core.sampling import derive_seed
from cfeval.edct.config import FAMILIES, Edct
from cfeval.edct.figures import FIGURES
from cfeval.edct.protocols.pairs_2026 import PAIRS_2026
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025, NULL_EDIT, RULES, edits_of
from cfeval.edct.tables import TABLES
from cfeval.edct.verbs import STAGES
from cfeval.inference.prompts import prompt_file

ITEMS = "edct/items/{dataset}{shard}.jsonl"
BASELINES = "edct/baselines/{dataset}/{vlm}{shard}.jsonl"
INSTRUCTIONS = "edct/instructions/{dataset}/{vlm}/{writer}/{protocol}{shard}.jsonl"
COUNTERFACTUALS = "edct/counterfactuals/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.jsonl"
CHECKS = "edct/checks/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.jsonl"
REQUERIES = "edct/requeries/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.jsonl"
VERDICTS = "edct/verdicts/{dataset}/{vlm}/{writer}/{protocol}/{editor}/{judge}{shard}.jsonl"
SCORES = "edct/scores/{dataset}/{vlm}/{writer}/{protocol}/{editor}/{judge}{shard}.csv"
PAIR_ITEMS = "edct/pair_items/{pair_set}{shard}.jsonl"
PAIR_BASELINES = "edct/pair_baselines/{pair_set}/{vlm}{shard}.jsonl"
PAIR_VERDICTS = "edct/pair_verdicts/{pair_set}/{vlm}/{pair_judge}{shard}.jsonl"
CALLS = "edct/calls/calls.zip"
TABLE = "edct/tables/edct_{table}.csv"
FIGURE = "edct/figures/edct_{figure}.png"
METRICS = "edct/tables/metrics.json"
REPORT = "edct/report/index.html"
RECORDS = (BASELINES, INSTRUCTIONS, COUNTERFACTUALS, CHECKS, REQUERIES, VERDICTS)
"""Stages whose records name the calls that they came from."""
REFERENCE = ("data/reference/edct-2025.csv", "data/reference/edct-bench-2026.csv")
"""The papers' published figures."""
PAIR_REFERENCE = "data/reference/pairs.csv"
"""Published figures of sets of given pairs."""
IN_METRICS = ("table1", "table2", "bench", "faithfulness", "calibration", "pairs")
OF_KNOWN = ("calibration", "instrument")
OF_OTHERS = {"instrument": "calibration", "card": "controls", "faithfulness": "controls"}
"""Tables that show the conditions of another one."""
OF_FAILED_EDITS = ("card",)
OF_EXAMS = ("faithfulness",)
OF_REPEATS = ("variance", "repeats")
OF_EDITS = ("instruction_writers", "editors", "verifiers")
"""The sections whose plugins have nothing to do where a protocol edits nothing."""
BY_PROTOCOL = ("instruction_writers", "judges")
"""The sections whose jobs are of one protocol each; what others ask may serve every protocol."""
PAIRS = "pairs"
"""The table of given pairs."""
FLAWED = "flawed"
"""The editor whose faults are known."""
TEST_MODELS = ("world", "world_behavior", "easy_vqa", "mock")
"""Chat plugins that stand for no real model."""


def jobs(study: Edct, how: Filing) -> Iterator[Job]:
    """Every job of the study, parents first."""
    yield from _Edct(study, how).jobs()


class _Edct(StudyJobs[Edct]):
    """The study's parameters, and one function a stage."""

    name, stages, families = "edct", STAGES, FAMILIES
    listed, drawings = TABLES, FIGURES
    table, figure, metrics, report = TABLE, FIGURE, METRICS, REPORT

    def __init__(self, study: Edct, how: Filing) -> None:
        super().__init__(study, how, study.conditions())
        self.pairs = [condition.model_dump() for condition in study.pair_conditions()]
        self.controlled = [condition.model_dump() for condition in study.tables.conditions("controls")]
        self.tables = [table for table in TABLES if conditions_of_table(study, table)]
        self.figures = [figure for figure, shown in FIGURES.items() if shown.table in self.tables]

    def jobs(self) -> Iterator[Job]:
        """Every job, parents first."""
        for dataset in dict.fromkeys(condition["dataset"] for condition in self.conditions):
            yield self._samples(dataset)
        stages = (
            (BASELINES, self._baseline),
            (INSTRUCTIONS, self._instructions),
            (COUNTERFACTUALS, self._counterfactuals),
            (CHECKS, self._checks),
            (REQUERIES, self._requery),
            (VERDICTS, self._verdicts),
            (SCORES, self._scores),
        )
        for pattern, stage in stages:
            yield from self.per_file(pattern, stage)
        yield from self._pairs()
        yield self._calls()
        yield from map(self._table, self.tables)
        yield from map(self.figure_job, self.figures)
        yield self.metrics_job(table for table in IN_METRICS if table in self.tables)
        yield self._report() if self.conditions else self._pair_report()

    def _pairs(self) -> Iterator[Job]:
        """Given pairs: the images of all, what every target says about them, and the verdicts."""
        for name in dict.fromkeys(condition["pair_set"] for condition in self.pairs):
            yield self._pair_items(name)
        yield from self.per_file(PAIR_BASELINES, self._pair_baselines, self.pairs)
        yield from self.per_file(PAIR_VERDICTS, self._pair_verdicts, self.pairs)

    def asked(self, section: str, condition: Condition, field: str, more: tuple[str, ...] = ()) -> list[PluginUse]:
        """The plugin that a condition names; none where its protocol asks it nothing or the dataset has none.

        `more` are protocols under which it is asked besides.
        """
        edits = RULES[condition["protocol"]].written
        if condition[field] not in getattr(self.study, section) or not (edits or section not in OF_EDITS):
            return []
        own = tuple(dict.fromkeys((condition["protocol"], *more)))
        protocols = own if section in BY_PROTOCOL else tuple(RULES)
        return [self.plugin(section, condition[field], protocols)]

    def _samples(self, dataset: str) -> Job:
        using, condition = self.plugin("datasets", dataset), {"dataset": dataset}
        words = ["--dataset", using.options, "--items", str(self.study.items), "--seed", self.seed]
        words += ["--shards", self.cut, *self.image_files.words, "--out", self.at(ITEMS, condition)]
        return self.job("items", words, [], self.image_files.made(self.all(ITEMS, [condition])), [using])

    def _baseline(self, condition: Condition) -> Job:
        return self._conversation("baselines", condition, [], BASELINES)

    def _requery(self, condition: Condition) -> Job:
        edited = self.at(COUNTERFACTUALS, condition)
        return self._conversation("requeries", condition, ["--counterfactuals", edited], REQUERIES)

    def _conversation(
        self, stage: str, condition: Condition, words: list[str], pattern: str, items: str = ITEMS
    ) -> Job:
        model = [self.plugin("vlms", condition["vlm"], tuple(RULES))]
        repeat = model[0].spec.repeat
        seed = self.study.seed if repeat == 1 else derive_seed(self.study.seed, "repeat", repeat)
        folder = self.study.prompts or ""
        words = ["--samples", self.at(items, condition), *words, "--vlm", model[0].options]
        words += ["--seed", str(seed), f"--prompts={folder}", "--out", self.at(pattern, condition)]
        inputs = [words[1], words[3]] if stage == "requeries" else [words[1]]
        prompts = [
            relative(str(prompt_file(name, protocol="conversation", folder=_folder(folder))))
            for name in ("answer", "explain")
        ]
        inputs += self.image_files.beside(*inputs)
        return self.job(stage, words, inputs, (self.at(pattern, condition),), model, files=prompts)

    def _pair_items(self, name: str) -> Job:
        using, condition = self.plugin("pair_sets", name), {"pair_set": name}
        words = ["--pair-set", using.options, "--items", str(self.study.items), "--every", str(self.study.again)]
        words += [
            "--seed",
            self.seed,
            "--shards",
            self.cut,
            *self.image_files.words,
            "--out",
            self.at(PAIR_ITEMS, condition),
        ]
        return self.job("pair_items", words, [], self.image_files.made(self.all(PAIR_ITEMS, [condition])), [using])

    def _pair_baselines(self, condition: Condition) -> Job:
        scored = self.study.vlms[condition["vlm"]].plugin_options().get("logprobs")
        stage = "pair_baselines" if scored else "baselines"
        return self._conversation(stage, condition, [], PAIR_BASELINES, PAIR_ITEMS)

    def _pair_verdicts(self, condition: Condition) -> Job:
        judge = self.plugin("pair_judges", condition["pair_judge"], (PAIRS_2026,))
        inputs = [self.at(PAIR_ITEMS, condition), self.at(PAIR_BASELINES, condition)]
        words = ["--samples", inputs[0], "--baselines", inputs[1], "--pair-judge", judge.options, "--seed", self.seed]
        out = self.at(PAIR_VERDICTS, condition)
        return self.job("pair_verdicts", [*words, "--out", out], inputs, (out,), [judge])

    def _instructions(self, condition: Condition) -> Job:
        writer = self.asked("instruction_writers", condition, "writer")
        inputs = [self.at(ITEMS, condition), self.at(BASELINES, condition)]
        protocol = condition["protocol"]
        edits = edits_of(protocol, self.study.edits)
        every = next((many for control, many in self.study.one_item_in.items() if control == protocol), 1)
        words = ["--samples", inputs[0], "--baselines", inputs[1], f"--writer={options_of(writer)}"]
        words += ["--protocol", protocol, "--edits", str(edits), "--every", str(every), "--seed", self.seed]
        out = self.at(INSTRUCTIONS, condition)
        inputs += self.image_files.beside(inputs[0])
        return self.job("instructions", [*words, "--out", out], inputs, (out,), writer)

    def _counterfactuals(self, condition: Condition) -> Job:
        editor = self.asked("editors", condition, "editor")
        inputs = [self.at(ITEMS, condition), self.at(INSTRUCTIONS, condition)]
        words = ["--samples", inputs[0], "--instructions", inputs[1], f"--editor={options_of(editor)}"]
        words += ["--protocol", condition["protocol"], "--seed", self.seed, *self.image_files.words]
        out = self.at(COUNTERFACTUALS, condition)
        inputs += self.image_files.beside(inputs[0])
        return self.job("counterfactuals", [*words, "--out", out], inputs, self.image_files.made([out]), editor)

    def _checks(self, condition: Condition) -> Job:
        verifier = self.asked("verifiers", condition, "dataset")
        inputs = [self.at(pattern, condition) for pattern in (ITEMS, INSTRUCTIONS, COUNTERFACTUALS)]
        words = ["--samples", inputs[0], "--instructions", inputs[1], "--counterfactuals", inputs[2]]
        words += [f"--verifier={options_of(verifier)}", "--protocol", condition["protocol"], "--seed", self.seed]
        out = self.at(CHECKS, condition)
        words += [*self.image_files.words, "--out", out]
        inputs += self.image_files.beside(inputs[0], inputs[2])
        return self.job("checks", words, inputs, self.image_files.made([out]), verifier)

    def _verdicts(self, condition: Condition) -> Job:
        named = {name: value for name, value in condition.items() if name != "shard"}
        compared = named in self.controlled and condition["protocol"] == EDCT_2025
        more = (NULL_EDIT,) if compared else (EDCT_2025,) if condition["protocol"] == NULL_EDIT else ()
        judge = self.asked("judges", condition, "judge", more)
        inputs = [self.at(pattern, condition) for pattern in (BASELINES, INSTRUCTIONS, COUNTERFACTUALS, REQUERIES)]
        words = ["--baselines", inputs[0], "--instructions", inputs[1], "--counterfactuals", inputs[2]]
        words += ["--requeries", inputs[3], "--judge", options_of(judge)]
        words += ["--protocol", condition["protocol"], "--seed", self.seed]
        words += ["--compare"] * compared
        if condition["protocol"] == NULL_EDIT:
            inputs += [self.at(INSTRUCTIONS, {**condition, "protocol": EDCT_2025})]
            words += ["--cited", inputs[4]]
        out = self.at(VERDICTS, condition)
        inputs += self.image_files.beside(inputs[2])
        return self.job("verdicts", [*words, "--out", out], inputs, (out,), judge)

    def _scores(self, condition: Condition) -> Job:
        named = {name: value for name, value in condition.items() if name != "shard"}
        inputs = [self.at(pattern, condition) for pattern in (ITEMS, BASELINES, INSTRUCTIONS, CHECKS, VERDICTS)]
        words = ["--condition", as_json(named), "--samples", inputs[0], "--baselines", inputs[1]]
        words += ["--instructions", inputs[2], "--checks", inputs[3], "--verdicts", inputs[4]]
        out = self.at(SCORES, condition)
        return self.job("scores", [*words, "--out", out], inputs, (out,), [])

    def _calls(self) -> Job:
        inputs = [file for pattern in RECORDS for file in self.all(pattern, self.conditions)]
        inputs += [file for pattern in (PAIR_BASELINES, PAIR_VERDICTS) for file in self.all(pattern, self.pairs)]
        out = self.at(CALLS, {})
        words = [
            "--results",
            f"{self.root}/edct",
            "--conditions",
            as_json(self.conditions),
            "--shards",
            self.cut,
            *(["--pairs", as_json(self.pairs)] if self.pairs else []),
            "--out",
            out,
        ]
        return self.job("calls", words, inputs, (out,), [])

    def _pair_table(self) -> Job:
        tested = {one["vlm"] for one in self.pairs if self.study.vlms[one["vlm"]].plugin in TEST_MODELS}
        truths = {name: told.no_phi or told.phi for name, told in self.study.expected.items()}
        known = {name: truth for name, truth in truths.items() if truth is not None}
        words = ["--results", f"{self.root}/edct", "--shards", self.cut, "--conditions", as_json(self.pairs)]
        words += ["--interval", as_json(self.study.interval.model_dump()), "--test-targets", as_json(sorted(tested))]
        out = self.at(TABLE, {"table": PAIRS}).removesuffix(".csv")
        sets = {name: self.study.pair_sets[name].plugin for name in {one["pair_set"] for one in self.pairs}}
        reference = brought(PAIR_REFERENCE)
        words += ["--expected", as_json(known), "--reference", reference, "--sets", as_json(sets), "--out", out]
        outputs = tuple(f"{out}.{ending}" for ending in ("csv", "md", "tex"))
        return self.job("pair_table", words, self.all(PAIR_VERDICTS, self.pairs), outputs, files=[reference])

    def _table(self, table: str) -> Job:
        if table == PAIRS:
            return self._pair_table()
        conditions, beside = conditions_of_table(self.study, table), conditions_beside_table(self.study, table)
        known, repeats = table in OF_KNOWN, self.study.repeats() if table in OF_REPEATS else {}
        tested = {
            condition["vlm"] for condition in conditions if self.study.vlms[condition["vlm"]].plugin in TEST_MODELS
        }
        reference = [brought(name) for name in REFERENCE]
        words = ["--results", f"{self.root}/edct", "--shards", self.cut, "--conditions", as_json(conditions)]
        words += ["--beside", as_json(beside), "--interval", as_json(self.study.interval.model_dump())]
        words += [*each("--reference", reference), "--known", as_json(self.study.known if known else {})]
        words += ["--judge-error", as_json(self.study.judge_error if known else ())]
        expected = {
            name: told.model_dump(exclude_none=True, exclude={"phi", "no_phi"})
            for name, told in self.study.expected.items()
        }
        words += ["--expected", as_json(expected)] if table == "test_models" else []
        judges = {condition["judge"] for condition in conditions}
        exams = {name: path for name, path in self.study.exams.items() if name in judges} if table in OF_EXAMS else {}
        words += ["--exams", as_json(exams)] if table in OF_EXAMS else []
        words += ["--failed-edits", str(self.study.failed_edits)] if table in OF_FAILED_EDITS else []
        words += ["--repeats", as_json(repeats), "--test-targets", as_json(sorted(tested))]
        records = COUNTERFACTUALS if TABLES[table].made_of == "counterfactuals" else SCORES
        return self.table_job(table, words, self.all(records, conditions + beside), (*reference, *exams.values()))

    def _report(self) -> Job:
        calls = self.at(CALLS, {})
        records = [calls, *(file for one in (ITEMS, *RECORDS, SCORES) for file in self.all(one, self.conditions))]
        with_images = [file for one in (ITEMS, COUNTERFACTUALS, CHECKS) for file in self.all(one, self.conditions)]
        words = [*each("--table", self.tables), "--calls", calls]
        if self.study.edit_times:
            records.append(self.study.edit_times)
            words += ["--edit-times", self.study.edit_times]
        if self.study.usd_per_gpu_hour is not None:
            words += ["--usd-per-gpu-hour", str(self.study.usd_per_gpu_hour)]
        return self.report_job(self.tables, self.figures, records, with_images, words)

    def _pair_report(self) -> Job:
        """The page of a study that has given pairs alone."""
        calls, base, out = self.at(CALLS, {}), f"{self.root}/edct", self.at(REPORT, {})
        patterns = (PAIR_ITEMS, PAIR_BASELINES, PAIR_VERDICTS)
        records = [file for pattern in patterns for file in self.all(pattern, self.pairs)]
        shown = [self.at(TABLE, {"table": PAIRS}), *drawn(self.at(FIGURE, {"figure": PAIRS}).removesuffix(".png"))]
        inputs = [*shown, calls, *records, *self.image_files.beside(*self.all(PAIR_ITEMS, self.pairs))]
        words = ["--results", base, "--conditions", as_json(self.pairs), "--shards", self.cut, "--calls", calls]
        words += ["--tables", f"{base}/tables", "--figures", f"{base}/figures", "--out", out]
        code = {f"table.{PAIRS}": self.listed[PAIRS].table}
        files = package_files("report", "templates")
        return self.job("pair_report", words, inputs, (out,), code=code, files=files)


def conditions_of_table(study: Edct, table: str) -> list[Condition]:
    """The conditions that a table shows, those of tables that follow from others among them."""
    if table == PAIRS:
        return [condition.model_dump() for condition in study.pair_conditions()]
    if table == "agreement":
        conditions = study.conditions()
    elif table == "repeats":
        repeats = study.repeats()
        conditions = [condition for condition in study.conditions() if condition.vlm in {*repeats, *repeats.values()}]
    elif table == "gate":
        calibrated = study.tables.conditions("calibration")
        conditions = [condition for condition in calibrated if _has_known_faults(study, condition.editor)]
    elif table == "comparisons":
        conditions = [condition for name in ("table1", "bench") for condition in study.tables.conditions(name)]
    elif table == "test_models":
        conditions = [condition for condition in study.tables.conditions("controls") if condition.vlm in study.expected]
    else:
        conditions = study.tables.conditions(OF_OTHERS.get(table, table))
    return [condition.model_dump() for condition in conditions]


def conditions_beside_table(study: Edct, table: str) -> list[Condition]:
    """Further conditions that a table rests on: the controls tell how complete the explanations of known targets are,
    and whether that says anything.
    """
    if table != "calibration":
        return []
    known = [condition.model_dump() for condition in study.conditions()]
    of = conditions_of_table(study, table)
    wanted = [{**condition, "protocol": protocol} for protocol in CONTROLS for condition in of]
    return [one for number, one in enumerate(wanted) if one in known and one not in wanted[:number]]


def _has_known_faults(study: Edct, editor: str) -> bool:
    """Whether an editor, or the one behind its gate, says of each edit what went wrong."""
    options = study.editors[editor].plugin_options()
    return FLAWED in (options["plugin"], options.get("editor", {}).get("plugin"))


def _folder(name: str) -> Path | None:
    return Path(name) if name else None
