"""The jobs of vce (DBVCE, Sections 2 to 4): one for each stage, condition and shard.

1. images of every source class. 2. counterfactuals towards every target. 3. scores of each, then of groups. 4. tables,
figures and metrics. 5. contact sheets. 6. the report.
"""

from collections.abc import Iterator

from cfeval.core.jobs import Condition, Filing, ImageFiles, PluginUse, StudyJobs, as_json, brought, each, options_of
from cfeval.core.provenance.jobs import Job
from cfeval.vce.config import FAMILIES, Vce
from cfeval.vce.figures import FIGURES
from cfeval.vce.passes import passes_of
from cfeval.vce.records import VceCondition
from cfeval.vce.tables import TABLES
from cfeval.vce.verbs import STAGES

IMAGES = "vce/images/{image_set}{shard}.jsonl"
COUNTERFACTUALS = "vce/counterfactuals/{image_set}/{denoiser}/{classifier}/{method}{shard}.jsonl"
SCORES = "vce/scores/{image_set}/{denoiser}/{classifier}/{method}{shard}.jsonl"
GROUPS = "vce/groups/{image_set}/{denoiser}/{classifier}/{method}.jsonl"
SHEETS = "vce/sheets/{image_set}/{denoiser}/{classifier}.jsonl"
TABLE = "vce/tables/vce_{table}.csv"
FIGURE = "vce/figures/vce_{figure}.png"
METRICS = "vce/tables/vce_metrics.json"
REPORT = "vce/report/index.html"
REFERENCE = "data/reference/dbvce.csv"
"""The paper's published figures."""
OTHERS = "data/reference/vce-published.csv"
"""Those of other papers, for the table `field`."""
IN_METRICS = ("table3", "hypotheses")
ON_SHEET = 8
"""Images side by side on a contact sheet, at most."""


def jobs(study: Vce, how: Filing) -> Iterator[Job]:
    """Every job of the study, parents first."""
    yield from _Vce(study, how, study.all_conditions()).jobs()


class _Vce(StudyJobs[Vce]):
    """The study's parameters, and one function a stage."""

    name, stages, families = "vce", STAGES, FAMILIES
    listed, drawings = TABLES, FIGURES
    table, figure, metrics, report = TABLE, FIGURE, METRICS, REPORT

    def jobs(self) -> Iterator[Job]:
        """Every job, parents first."""
        yield from map(self._images, dict.fromkeys(condition["image_set"] for condition in self.conditions))
        yield from self.per_file(COUNTERFACTUALS, self._counterfactuals)
        yield from self.per_file(SCORES, self._scores)
        yield from map(self._groups, self.conditions)
        yield from map(self._table, TABLES)
        yield from map(self.figure_job, FIGURES)
        yield self.metrics_job(IN_METRICS)
        sheets = {self.at(SHEETS, condition): condition for condition in self.conditions}
        yield from map(self._sheet, sheets.values())
        with_images = [file for one in (IMAGES, COUNTERFACTUALS) for file in self.all(one, self.conditions)]
        yield self.report_job(list(TABLES), FIGURES, [*with_images, *self.all(SCORES, self.conditions)], with_images)

    def said(self, section: str, name: str) -> str:
        """What params.yaml says of a plugin, as JSON."""
        return self.plugin(section, name).options

    def every(self, section: str) -> list[PluginUse]:
        """All plugins of a section."""
        return [self.plugin(section, name) for name in getattr(self.study, section)]

    def alloptions_of(self, section: str) -> str:
        """What params.yaml says of all plugins of a section, by name, as JSON."""
        return as_json({name: spec.plugin_options() for name, spec in getattr(self.study, section).items()})

    def _images(self, image_set: str) -> Job:
        condition = {"image_set": image_set}
        words = ["--image-set", self.said("image_sets", image_set)]
        words += each("--label", [one.source for one in self.study.groups])
        words += ["--count", str(self.study.images), "--size", str(self.study.size), "--seed", self.seed]
        words += ["--shards", self.cut, *self.image_files.words, "--out", self.at(IMAGES, condition)]
        using = [self.plugin("image_sets", image_set)]
        return self.job("images", words, [], self.image_files.made(self.all(IMAGES, [condition])), using)

    def _counterfactuals(self, condition: Condition) -> Job:
        study, own = self.study, _condition(condition)
        method = study.methods[condition["method"]]
        robust = [self.plugin("classifiers", str(study.robust))] if method.projection == "cone" else []
        perceptual = [self.plugin("perceptual_metrics", str(study.dime_perceptual))] if method.perceptual_weight else []
        using = [self.plugin("denoisers", condition["denoiser"]), self.plugin("classifiers", condition["classifier"])]
        words = ["--images", self.at(IMAGES, condition), "--denoiser", self.said("denoisers", condition["denoiser"])]
        words += ["--classifier", self.said("classifiers", condition["classifier"]), f"--robust={options_of(robust)}"]
        words += [f"--perceptual={options_of(perceptual)}", "--method", as_json(method.resolved())]
        words += ["--groups", as_json([group.model_dump() for group in study.groups_of(own)])]
        words += ["--repeats", str(study.repeats_of(own)), "--same-noise" if study.same_noise else "--no-same-noise"]
        words += ["--seed", self.seed, "--precision", study.compute.precision, *self.image_files.words]
        out = self.at(COUNTERFACTUALS, condition)
        aside = ("--compute", as_json(study.compute.model_dump()))
        made_of = [*using, *robust, *perceptual]
        inputs = [self.at(IMAGES, condition), *self.image_files.beside(self.at(IMAGES, condition))]
        made = self.image_files.made([out])
        masks = [f"{method.region_folder.rstrip('/')}/"] if method.mask == "given" else []
        return self.job("counterfactuals", [*words, "--out", out], inputs, made, made_of, files=masks, aside=aside)

    def _scores(self, condition: Condition) -> Job:
        study = self.study
        asked = [self.plugin("classifiers", name) for name in dict.fromkeys([condition["classifier"], *study.oracles])]
        words = ["--images", self.at(IMAGES, condition), "--counterfactuals", self.at(COUNTERFACTUALS, condition)]
        words += ["--classifier", self.said("classifiers", condition["classifier"])]
        words += [
            "--oracles",
            as_json(study.oracles_of(_condition(condition))),
            "--perceptual",
            self.alloptions_of("perceptual_metrics"),
        ]
        words += ["--embeddings", self.alloptions_of("embeddings"), "--cout-steps", str(study.cout_steps)]
        words += [self._mode(condition), "--out", self.at(SCORES, condition)]
        using = [*asked, *self.every("perceptual_metrics"), *self.every("embeddings")]
        aside = ("--batch", str(study.compute.batch))
        inputs = [words[1], words[3], *self.image_files.beside(words[1], words[3])]
        return self.job("scores", words, inputs, (self.at(SCORES, condition),), using, aside=aside)

    def _groups(self, condition: Condition) -> Job:
        study = self.study
        words = [
            self.at(SCORES, condition),
            "--cut",
            self.cut,
            "--condition",
            as_json(_condition(condition).model_dump()),
        ]
        words += ["--images", self.at(IMAGES, condition), "--counterfactuals", self.at(COUNTERFACTUALS, condition)]
        words += [
            "--perceptual",
            self.alloptions_of("perceptual_metrics"),
            "--features",
            self.alloptions_of("feature_extractors"),
        ]
        if study.attribute_classifiers:
            words += ["--attributes", self.alloptions_of("attribute_classifiers")]
        if study.target_images:
            words += ["--image-set", self.said("image_sets", condition["image_set"])]
            words += ["--count", str(study.target_images), "--size", str(study.size)]
        words += [self._mode(condition), "--seed", self.seed, "--out", self.at(GROUPS, condition)]
        inputs = self._with_images([condition], SCORES)
        using = [
            *self.every("feature_extractors"),
            *self.every("perceptual_metrics"),
            *self.every("attribute_classifiers"),
            self.plugin("image_sets", condition["image_set"]),
        ]
        return self.job("group-scores", words, inputs, (self.at(GROUPS, condition),), using)

    def _table(self, table: str) -> Job:
        study, scores, reference = self.study, table == "hypotheses", brought(REFERENCE)
        cost = {name: passes_of(how) for name, how in study.methods.items()}
        words = ["--groups", f"{self.root}/vce/groups", *(["--scores", f"{self.root}/vce/scores"] * scores)]
        words += ["--shards", self.cut, "--conditions", as_json(self.conditions)]
        words += ["--roles", as_json(study.roles.model_dump()), "--cost", as_json(cost), "--reference", reference]
        inputs = self.all(GROUPS, self.conditions) + (self.all(SCORES, self.conditions) if scores else [])
        others = [brought(OTHERS)] if table == "field" else []
        return self.table_job(table, [*words, *each("--others", others)], inputs, [reference, *others])

    def _sheet(self, condition: Condition) -> Job:
        named = ("image_set", "denoiser", "classifier")
        conditions = [one for one in self.conditions if all(one[name] == condition[name] for name in named)]
        words = ["--images", self.at(IMAGES, condition)]
        for one in conditions:
            words += ["--counterfactuals", self.at(COUNTERFACTUALS, one), "--scores", self.at(SCORES, one)]
            words += ["--label", one["method"]]
        out = self.at(SHEETS, condition)
        words += ["--across", str(min(self.study.images, ON_SHEET)), "--cut", self.cut, "--out", out]
        inputs = self._with_images(conditions, SCORES)
        return self.job("contact-sheet", words, inputs, ImageFiles(archived=False).made([out]), [])

    def _with_images(self, conditions: list[Condition], *others: str) -> list[str]:
        """The originals and counterfactuals of some conditions, files of other patterns, and archives of images."""
        with_images = self.all(IMAGES, conditions) + self.all(COUNTERFACTUALS, conditions)
        return [
            *with_images,
            *(file for one in others for file in self.all(one, conditions)),
            *self.image_files.beside(*with_images),
        ]

    def _mode(self, condition: Condition) -> str:
        return f"--{self.study.methods[condition['method']].mode or 'paper'}"


def _condition(condition: Condition) -> VceCondition:
    return VceCondition(**{name: condition[name] for name in VceCondition.model_fields})
