"""A finished study of edct as its exports see it: the rows of its tables, its target models, its conditions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from cfeval.config import Params
from cfeval.core.errors import InputError, nearest
from cfeval.core.jsonl import read_csv
from cfeval.core.records import Record
from cfeval.edct.asked import TEST_MODELS
from cfeval.edct.config import Edct
from cfeval.edct.files import conversation_prompts, stage_files
from cfeval.edct.pairs.records import PairCondition, item_files
from cfeval.edct.protocols.rules import CONTROLS
from cfeval.edct.records import Condition
from cfeval.edct.stages.baselines import Prompts
from cfeval.edct.tables import TABLES as ALL_TABLES
from cfeval.inference.remote.provider_table import PROVIDERS, find_provider
from cfeval.report.tables import limits, meanings
from cfeval_audit.bundle.contents import licences

# Sections of `edct.tables` whose conditions are of target models, not of the instrument.
SHOWN = ("table1", "table2", "bench", "controls")
# Chat plugins that run a model in the study's own processes.
ON_THIS_MACHINE = ("transformers", "blip", *TEST_MODELS)
# By chat plugin: whose models they are.
VENDORS = {"anthropic": "anthropic", "google": "google"}
# The same by the provider of the plugin `openai`.
OF_PROVIDERS = {"openai": "openai", "gemini": "google"}
_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.:-]+)+")


class Target(NamedTuple):
    """A target model as others name it."""

    name: str
    """In params.yaml."""
    id: str
    """DEVELOPER/MODEL."""
    plugin: str
    deployment: str
    """`self_deployed`, `externally_managed` or `unknown`."""
    weights: str
    """`open_weights`, `closed_weights` or `unknown`."""
    test: bool
    """It is a built-in test model, which stands for no real one."""


@dataclass(frozen=True)
class Finished:
    """A study that is run to its end."""

    params: Params
    edct: Edct
    results: Path
    """The folder of results of edct."""
    tables: Mapping[str, Sequence[Record]]
    """Rows by table, of those that show target models."""

    @cached_property
    def terms(self) -> dict[str, str]:
        """The terms of the datasets; see `cfeval_audit.bundle.contents.licences`."""
        return licences(self.params)

    @property
    def vlms(self) -> list[str]:
        """The target models that have a row, in the order of the tables."""
        return list(dict.fromkeys(row.vlm for rows in self.tables.values() for row in rows))  # type: ignore[attr-defined]

    @property
    def conditions(self) -> list[Condition | PairCondition]:
        """Those that tables of target models show: of the papers' protocols, and of given pairs.

        Controls are part of the conditions that they control.
        """
        shown = dict.fromkeys(condition for table in SHOWN for condition in self.edct.tables.conditions(table))
        return [*(condition for condition in shown if condition.protocol not in CONTROLS), *self.edct.pair_conditions()]

    def prompts(self, vlm: str) -> Prompts:
        """The two turns of every conversation with a target."""
        return Prompts(*conversation_prompts(self.edct.prompts or "", self.edct.vlms[vlm].wording))

    def items(self) -> Iterator[tuple[str, str, str, list[Path]]]:
        """The datasets and sets of given pairs of the conditions.

        Yields:
            `items` or `pairs`, the section of params.yaml that defines it, its name, its record files.
        """
        for condition in {shown.dataset: shown for shown in self.edct.conditions()}.values():
            files = stage_files(self.results, "items", condition, self.params.shards)
            yield "items", "datasets", condition.dataset, files
        for name in dict.fromkeys(pairs.pair_set for pairs in self.edct.pair_conditions()):
            yield "pairs", "pair_sets", name, item_files(self.results, name, self.params.shards)


def finished(params: Params, root: str) -> Finished:
    """What is there to be exported.

    Raises:
        InputError: there is no edct, or a table of it is not made.
    """
    if params.edct is None:
        raise InputError("the study has no edct, which alone is exported")
    results = Path(root, "edct")
    tables: dict[str, Sequence[Record]] = {}
    for name in TABLES:
        wanted = params.edct.pairs if name == "pairs" else params.edct.tables.conditions(_shown(name))
        file = results / "tables" / f"edct_{name}.csv"
        if wanted and not file.is_file():
            raise InputError(f"{file}: not made yet; run the study to its end first")
        if wanted:
            tables[name] = list(read_csv(file, ALL_TABLES[name].row()))
    return Finished(params, params.edct, results, tables)


def _shown(table: str) -> str:
    return "controls" if table in ("faithfulness", "card") else table


def targets(study: Finished, given: Mapping[str, str]) -> dict[str, Target]:
    """The target models by name.

    Args:
        study: the finished study.
        given: by name, DEVELOPER/MODEL as the user says it.

    Raises:
        InputError: a given name is no target model, an id has no developer, or it is not known who made a model.
    """
    for name in given:
        if name not in study.vlms:
            raise InputError(f"--model: no target model '{name}' in the tables; {nearest(name, study.vlms)}")
    return {name: _target(name, study.edct.vlms[name].plugin_options(), given.get(name, "")) for name in study.vlms}


def _target(name: str, spec: Mapping[str, Any], given: str) -> Target:
    plugin, model = spec["plugin"], str(spec.get("model", ""))
    provider = find_provider(str(spec.get("provider", "other")))
    local, test = plugin in ON_THIS_MACHINE, plugin in TEST_MODELS
    own = model.startswith((".", "/", "~")) or (local and bool(model) and Path(model).exists())
    model_id = given or (f"cfeval/{name}" if test else "" if own else model)
    if "/" not in model_id and (vendor := VENDORS.get(plugin) or OF_PROVIDERS.get(provider)):
        model_id = f"{vendor}/{model_id}"
    if not _ID.fullmatch(model_id):
        raise InputError(
            f"who made the target model '{name}' is not known; name it: --model {name}=DEVELOPER/MODEL, "
            "as at Hugging Face or as its provider does"
        )
    hosted = plugin in VENDORS or bool(PROVIDERS[provider].key_env)
    deployment = "self_deployed" if local else "externally_managed" if hosted else "unknown"
    return Target(name, model_id, plugin, deployment, "open_weights" if local and not own else "unknown", test)


def pairs_of(option: str, options: Sequence[str], right: str) -> dict[str, str]:
    """NAME=VALUE options as a mapping.

    Raises:
        InputError: one has another form, or a name comes twice.
    """
    values: dict[str, str] = {}
    for text in options:
        name, _, value = text.partition("=")
        if not name or not _ID.fullmatch(value):
            raise InputError(f"--{option}: {text!r} is not of the form NAME={right}")
        if name in values:
            raise InputError(f"--{option}: '{name}' is named twice")
        values[name] = value
    return values


class Metric(NamedTuple):
    """A figure of a model."""

    label: str
    low: float = 0.0
    """The least that it can be; rates net of the noise floor, as shares of the room above it, have no bound."""
    high: float = 1.0
    lower_is_better: bool = False
    n: str = ""
    """The column that says on how many items it rests, where there is one."""
    judged: bool = False
    """It rests on the scores of the judge."""

    @property
    def unit(self) -> str:
        """A share, or a figure that may be negative."""
        return "proportion" if self.low == 0 else "coefficient"


_SCORED = "n_scored"
# By column, in the order in which they are told; equal columns of several tables are one figure.
METRICS: Mapping[str, Metric] = {
    "fit": Metric("FIT", n="n_fit"),
    "pcs": Metric("PCS", n=_SCORED, judged=True),
    "ncc": Metric("NCC", n=_SCORED, judged=True),
    "ac": Metric("AC", n=_SCORED, judged=True),
    "ef": Metric("EF", n=_SCORED, judged=True),
    "ccs": Metric("CCS", n=_SCORED, judged=True),
    "strict_ccs": Metric("Strict CCS", judged=True),
    "corrected_ccs": Metric("Corrected CCS", judged=True),
    "ccs_graded": Metric("Graded CCS", n="n_graded", judged=True),
    "ccs_right": Metric("CCS where the answer is right", judged=True),
    "ccs_wrong": Metric("CCS where the answer is wrong", judged=True),
    "citation_rate": Metric("Citation rate"),
    "accuracy": Metric("Accuracy"),
    "effect_contrast": Metric("Effect contrast", -1),
    "cited": Metric("Changed after cited edits"),
    "uncited_object": Metric("Changed after edits of an uncited object", lower_is_better=True),
    "uncited_background": Metric("Changed after edits of the uncited background", lower_is_better=True),
    "uncited_explanation": Metric("Explanation changed after uncited edits", lower_is_better=True),
    "completeness": Metric("Completeness", n="n_uncited"),
    "completeness_object": Metric("Completeness, object edited", n="n_object"),
    "completeness_background": Metric("Completeness, background edited", n="n_background"),
    "noise_floor": Metric("Noise floor", lower_is_better=True, n="n_null"),
    "noise_explanation": Metric("Explanation changed after null edits", lower_is_better=True, n="n_null"),
    "editor_null": Metric("Changed after null edits by the editor", lower_is_better=True),
    "blank": Metric("Changed after blank images", n="n_blank"),
    "present": Metric("Claim A: cites what is there"),
    "effect": Metric("Claim B: what it cites changes the answer"),
    "uncited": Metric("Claim C: what it does not cite changes the answer", lower_is_better=True),
    "stable": Metric("Claim D: changes when nothing changes", lower_is_better=True),
    "looks": Metric("Claim E: looks at the image"),
    "alike": Metric("Claim F: refuses or evades edited images more than others", lower_is_better=True),
    "phi": Metric("phi", -1),
    "cct": Metric("CCT", -1),
    "phi_before": Metric("phi of the first explanation", -1),
    "phi_after": Metric("phi of the second explanation", -1),
    "phi_cct": Metric("phi-CCT", -1),
    "f_auroc": Metric("F-AUROC"),
    "effect_alignment": Metric("Effect alignment", -1),
    "named_if_moved": Metric("Named where the answer changed"),
    "named_if_unmoved": Metric("Named where the answer stayed", lower_is_better=True),
    "accuracy_before": Metric("Accuracy on the original images"),
    "accuracy_after": Metric("Accuracy on the changed images"),
    "pair_accuracy": Metric("Right on both images"),
    "bias": Metric("Biased answers", lower_is_better=True),
    "noise": Metric("Noise floor", lower_is_better=True),
}
# Tables whose rows are conditions of target models; the others are about the instrument.
TABLES = ("table1", "table2", "bench", "faithfulness", "card", "controls", "pairs")
# Figures of judge, editor or paper, and those of which neither end is better: they go along as details.
NOT_OF_A_MODEL = (
    *("sham", "noise_sham", "swapped", "exam_sensitivity", "exam_specificity", "edit_verified", "edits_checked"),
    *("false_edits", "uncited_bound", "absent_seen"),
    *("outside", "expected_phi", "paper_pcs", "paper_ncc", "paper_ccs", "paper_ccs_graded"),
    *("paper_pair_accuracy", "paper_accuracy_after", "total_variation", "listed", "images_named"),
    *("moved", "named", "causal_effect", "breadth", "words"),
)


class Result(NamedTuple):
    """One published figure."""

    table: str
    row: Any
    """The table's row that has it."""
    name: str
    """Its column."""
    metric: Metric
    value: float
    low: float | None
    high: float | None
    n: int | None
    """Items that it rests on, where the table says it."""
    meaning: str

    @property
    def whole(self) -> bool:
        """It is of all items of its condition, not of one kind of change."""
        return not getattr(self.row, "kind", "")

    @property
    def id(self) -> str:
        """Its condition and its column: the same in every export."""
        kind = getattr(self.row, "kind", "")
        return "/".join([*names_of(self.row).values(), *([kind] if kind else []), self.name])


def names_of(row: Any) -> dict[str, str]:
    """The names of a row's condition."""
    kind = PairCondition if isinstance(row, PairCondition) else Condition
    return {name: getattr(row, name) for name in kind.model_fields}


def results(tables: Mapping[str, Sequence[Record]], vlm: str) -> Iterator[Result]:
    """Every figure of a target model, each once, whichever tables show it.

    Args:
        tables: the rows by table.
        vlm: the target model's name in params.yaml.
    """
    seen: set[str] = set()
    for table in TABLES:
        rows: Sequence[Any] = [row for row in tables.get(table, ()) if getattr(row, "vlm", "") == vlm]
        texts = _meanings(table)
        for row in rows:
            for result in _of_row(table, row, texts):
                if result.id not in seen:
                    seen.add(result.id)
                    yield result


@cache
def _meanings(table: str) -> Mapping[str, str]:
    return meanings(ALL_TABLES[table].row())


def _of_row(table: str, row: Any, texts: Mapping[str, str]) -> Iterator[Result]:
    for name, metric in METRICS.items():
        value = getattr(row, name, None)
        if value is not None:
            low, high = limits(row, name) if hasattr(row, f"{name}_lo") else (None, None)
            n = getattr(row, metric.n, None) if metric.n else None
            yield Result(table, row, name, metric, value, low, high, n, " ".join(texts[name].split()))


def details(result: Result) -> dict[str, str]:
    """What else the table says in the row of a figure, as texts: names, counts, bounds, why items are missing."""
    fields = {"table": result.table, **result.row.model_dump(mode="json")}
    own = {f"{name}{end}" for name in METRICS for end in ("", "_lo", "_hi")}
    own -= {f"{result.name}_min", f"{result.name}_max"}
    others = {f"{name}{end}" for name in METRICS if name != result.name for end in ("_min", "_max", "_says")}
    return {name: str(value) for name, value in fields.items() if value not in (None, "") and name not in own | others}
