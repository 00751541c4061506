"""The jobs of vce (DBVCE, Sections 2 to 4): one for each stage, arm and shard.

1. images of every source class. 2. counterfactuals towards every target. 3. scores of each, then of groups. 4. tables,
figures and metrics. 5. contact sheets.
"""

from collections.abc import Iterator
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
from cfeval.vce.config import FAMILIES, Vce
from cfeval.vce.figures import FIGURES
from cfeval.vce.records import VceArm
from cfeval.vce.tables import TABLES
from cfeval.vce.verbs import VERBS

IMAGES = "vce/images/{image_set}{shard}.jsonl"
COUNTERFACTUALS = "vce/counterfactuals/{image_set}/{denoiser}/{classifier}/{method}{shard}.jsonl"
SCORES = "vce/scores/{image_set}/{denoiser}/{classifier}/{method}{shard}.jsonl"
GROUPS = "vce/groups/{image_set}/{denoiser}/{classifier}/{method}.jsonl"
SHEETS = "vce/sheets/{image_set}/{denoiser}/{classifier}.jsonl"
TABLE = "vce/tables/vce_{table}.csv"
FIGURE = "vce/figures/vce_{figure}.png"
METRICS = "vce/tables/vce_metrics.json"
REFERENCE = "data/reference/dbvce.csv"
"""The paper's published figures."""
IN_METRICS = ("table3", "hypotheses")
ON_SHEET = 8
"""Images side by side on a contact sheet, at most."""


def jobs(study: Vce, how: Filing) -> Iterator[Job]:
    """Every job of the study, parents first."""
    yield from _Vce(study, how).jobs()


class _Vce:
    """The study's parameters, and one function a stage."""

    def __init__(self, study: Vce, how: Filing) -> None:
        self.study = study
        self.root = how.root
        self.shards = shard_names(how.shards)
        self.cut = str(how.shards)
        self.pictures = Pictures(how.archived)
        self.arms: list[Arm] = [arm.model_dump() for arm in study.all_arms()]
        self.seed = str(study.seed)

    def jobs(self) -> Iterator[Job]:
        """Every job, parents first."""
        yield from map(self._images, dict.fromkeys(arm["image_set"] for arm in self.arms))
        for stage in (self._counterfactuals, self._scores):
            yield from (stage({**arm, "shard": shard}) for arm in self.arms for shard in self.shards)
        yield from map(self._groups, self.arms)
        yield from map(self._table, TABLES)
        yield from map(self._figure, FIGURES)
        yield self._metrics()
        sheets = {self.at(SHEETS, arm): arm for arm in self.arms}
        yield from map(self._sheet, sheets.values())

    def at(self, pattern: str, arm: Arm) -> str:
        """The file of a pattern; without a shard, the name under which a verb takes all shards."""
        return f"{self.root}/{pattern.format(**{'shard': '', **arm})}"

    def all(self, pattern: str, arms: list[Arm]) -> list[str]:
        """The files of a pattern for some arms and all shards."""
        return made(f"{self.root}/{pattern}", arms, self.shards)

    def backend(self, section: str, name: str) -> Backend:
        """A plug-in of the study by its section and name."""
        return Backend(FAMILIES[section], getattr(self.study, section)[name])

    def said(self, section: str, name: str) -> str:
        """What params.yaml says of a plug-in, as JSON."""
        return as_json(self.backend(section, name).spec.plugin())

    def every(self, section: str) -> list[Backend]:
        """All plug-ins of a section."""
        return [self.backend(section, name) for name in getattr(self.study, section)]

    def all_said(self, section: str) -> str:
        """What params.yaml says of all plug-ins of a section, by name, as JSON."""
        return as_json({name: spec.plugin() for name, spec in getattr(self.study, section).items()})

    def _stage(
        self, stage: str, words: list[str], inputs: list[str], out: tuple[str, ...], using: list[Backend], **more: Any
    ) -> Job:
        code = {f"vce.{stage}": VERBS[stage], **code_of(*using), **more.pop("code", {})}
        files = (*files_of(*using), *more.pop("files", ()))
        return Job(
            f"vce.{stage}", ("vce", stage, *words), tuple(inputs), out, code, files, needs=needs_of(*using), **more
        )

    def _images(self, image_set: str) -> Job:
        arm = {"image_set": image_set}
        words = ["--image-set", self.said("image_sets", image_set)]
        words += each("--label", [one.source for one in self.study.groups])
        words += ["--count", str(self.study.images), "--size", str(self.study.size), "--seed", self.seed]
        words += ["--shards", self.cut, *self.pictures.words, "--out", self.at(IMAGES, arm)]
        using = [self.backend("image_sets", image_set)]
        return self._stage("images", words, [], self.pictures.made(self.all(IMAGES, [arm])), using)

    def _counterfactuals(self, arm: Arm) -> Job:
        study, own = self.study, _arm(arm)
        method = study.methods[arm["method"]]
        robust = [self.backend("classifiers", str(study.robust))] if method.projection == "cone" else []
        perceptual = [self.backend("perceptual", str(study.dime_perceptual))] if method.perceptual_weight else []
        using = [self.backend("denoisers", arm["denoiser"]), self.backend("classifiers", arm["classifier"])]
        words = ["--images", self.at(IMAGES, arm), "--denoiser", self.said("denoisers", arm["denoiser"])]
        words += ["--classifier", self.said("classifiers", arm["classifier"]), f"--robust={_said(robust)}"]
        words += [f"--perceptual={_said(perceptual)}", "--method", as_json(method.resolved())]
        words += ["--groups", as_json([group.model_dump() for group in study.groups_of(own)])]
        words += ["--repeats", str(study.repeats_of(own)), "--same-noise" if study.same_noise else "--no-same-noise"]
        words += ["--seed", self.seed, "--precision", study.compute.precision, *self.pictures.words]
        out = self.at(COUNTERFACTUALS, arm)
        aside = ("--compute", as_json(study.compute.model_dump()))
        made_of = [*using, *robust, *perceptual]
        inputs = [self.at(IMAGES, arm), *self.pictures.beside(self.at(IMAGES, arm))]
        made = self.pictures.made([out])
        return self._stage("explain", [*words, "--out", out], inputs, made, made_of, aside=aside)

    def _scores(self, arm: Arm) -> Job:
        study = self.study
        asked = [self.backend("classifiers", name) for name in dict.fromkeys([arm["classifier"], *study.oracles])]
        words = ["--images", self.at(IMAGES, arm), "--counterfactuals", self.at(COUNTERFACTUALS, arm)]
        words += ["--classifier", self.said("classifiers", arm["classifier"])]
        words += ["--oracles", as_json(study.oracles_of(_arm(arm))), "--perceptual", self.all_said("perceptual")]
        words += ["--embeddings", self.all_said("embeddings"), "--cout-steps", str(study.cout_steps)]
        words += [self._mode(arm), "--out", self.at(SCORES, arm)]
        using = [*asked, *self.every("perceptual"), *self.every("embeddings")]
        aside = ("--batch", str(study.compute.batch))
        inputs = [words[1], words[3], *self.pictures.beside(words[1], words[3])]
        return self._stage("score", words, inputs, (self.at(SCORES, arm),), using, aside=aside)

    def _groups(self, arm: Arm) -> Job:
        study = self.study
        words = [self.at(SCORES, arm), "--cut", self.cut, "--arm", as_json(_arm(arm).model_dump())]
        words += ["--images", self.at(IMAGES, arm), "--counterfactuals", self.at(COUNTERFACTUALS, arm)]
        words += ["--perceptual", self.all_said("perceptual"), "--features", self.all_said("features")]
        if study.target_images:
            words += ["--image-set", self.said("image_sets", arm["image_set"])]
            words += ["--count", str(study.target_images), "--size", str(study.size)]
        words += [self._mode(arm), "--seed", self.seed, "--out", self.at(GROUPS, arm)]
        inputs = self._pictured([arm], SCORES)
        using = [*self.every("features"), *self.every("perceptual"), self.backend("image_sets", arm["image_set"])]
        return self._stage("group", words, inputs, (self.at(GROUPS, arm),), using)

    def _table(self, table: str) -> Job:
        study, scores = self.study, table == "hypotheses"
        cost = {name: {"denoiser_calls": how.denoiser_calls} for name, how in study.methods.items()}
        out = self.at(TABLE, {"table": table}).removesuffix(".csv")
        words = [table, "--groups", f"{self.root}/vce/groups", *(["--scores", f"{self.root}/vce/scores"] * scores)]
        words += ["--shards", self.cut, "--arms", as_json(self.arms), "--roles", as_json(study.roles.model_dump())]
        words += ["--cost", as_json(cost), "--reference", REFERENCE, "--out", out]
        inputs = self.all(GROUPS, self.arms) + (self.all(SCORES, self.arms) if scores else [])
        outputs = tuple(f"{out}.{ending}" for ending in ("csv", "md", "tex"))
        code = {f"table.{table}": TABLES[table].table}
        return self._stage("table", words, inputs, outputs, [], code=code, files=[REFERENCE])

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

    def _sheet(self, arm: Arm) -> Job:
        named = ("image_set", "denoiser", "classifier")
        arms = [one for one in self.arms if all(one[name] == arm[name] for name in named)]
        words = ["--images", self.at(IMAGES, arm)]
        for one in arms:
            words += ["--counterfactuals", self.at(COUNTERFACTUALS, one), "--scores", self.at(SCORES, one)]
            words += ["--label", one["method"]]
        out = self.at(SHEETS, arm)
        words += ["--across", str(min(self.study.images, ON_SHEET)), "--cut", self.cut, "--out", out]
        inputs = self._pictured(arms, SCORES)
        return self._stage("sheet", words, inputs, Pictures(archived=False).made([out]), [])

    def _pictured(self, arms: list[Arm], *others: str) -> list[str]:
        """The originals and counterfactuals of some arms, files of other patterns, and archives of pictures."""
        pictured = self.all(IMAGES, arms) + self.all(COUNTERFACTUALS, arms)
        return [*pictured, *(file for one in others for file in self.all(one, arms)), *self.pictures.beside(*pictured)]

    def _mode(self, arm: Arm) -> str:
        return f"--{self.study.methods[arm['method']].mode or 'paper'}"


def _arm(arm: Arm) -> VceArm:
    return VceArm(**{name: arm[name] for name in VceArm.model_fields})


def _said(backends: list[Backend]) -> str:
    return as_json(backends[0].spec.plugin()) if backends else ""


def _row(table: str) -> dict[str, str]:
    """Whose code reads a table: the record of its rows alone."""
    return {f"row.{table}": TABLES[table].record}
