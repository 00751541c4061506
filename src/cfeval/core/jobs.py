"""What the lists of jobs share: names of files, and what a job takes from the plugins that it runs."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel

from cfeval.core import registry
from cfeval.core.config import Spec
from cfeval.core.errors import ParamsError
from cfeval.core.package import carried
from cfeval.core.provenance.jobs import Job
from cfeval.core.provenance.sources import PACKAGE, ROOT

Condition = dict[str, str]


class Filing(NamedTuple):
    """Where and how the files of a study lie: below a root, in so many shards, images in folders or archives."""

    root: str
    shards: int
    archived: bool


class PluginUse(NamedTuple):
    """A plugin that a job runs: its family, what params.yaml says of it, the protocols under which it is asked."""

    family: str
    spec: Spec
    protocols: tuple[str, ...] = ()

    @property
    def options(self) -> str:
        """What it is built from, as JSON."""
        return as_json(self.spec.plugin_options())


class Shown(Protocol):
    """A table of a study: the full names of what makes it and of the record of its rows."""

    @property
    def table(self) -> str:
        """What makes it."""

    @property
    def record(self) -> str:
        """The record of its rows."""


class Drawn(Protocol):
    """A figure of a study: the full name of what draws it, and the table that it shows."""

    @property
    def draw(self) -> str:
        """What draws it."""

    @property
    def table(self) -> str:
        """The table that it shows."""


class _Facts(NamedTuple):
    code: dict[str, str]
    files: tuple[str, ...]
    resources: registry.Resources


def shard_names(shards: int) -> list[str]:
    """What the names of a stage's files hold in the place of `{shard}`."""
    return [""] if shards == 1 else [f"/{number:03d}" for number in range(shards)]


def made(pattern: str, conditions: Iterable[Condition], shards: Sequence[str]) -> list[str]:
    """The files of a pattern for some conditions and all shards, each once, in the order of the conditions."""
    return list(dict.fromkeys(pattern.format(shard=shard, **condition) for condition in conditions for shard in shards))


def awaited(jobs: Sequence[Job]) -> dict[str, int]:
    """How many jobs rest on the outputs of each, directly or not. The jobs come parents first."""
    makers = {path: number for number, job in enumerate(jobs) for path in job.made_files}
    behind = [0] * len(jobs)  # sets of numbers, as bits
    for number, job in reversed(list(enumerate(jobs))):
        for maker in {makers[path] for path in job.inputs if path in makers}:
            behind[maker] |= behind[number] | 1 << number
    return {job.name: those.bit_count() for job, those in zip(jobs, behind, strict=True)}


def behind(job: Job, jobs: Sequence[Job]) -> list[Job]:
    """The jobs that a job rests on, directly or not, parents first, as the jobs come."""
    wanted, found = set(job.inputs), []
    for one in reversed(jobs):
        if wanted.intersection(one.made_files):
            found.append(one)
            wanted.update(one.inputs)
    return found[::-1]


@dataclass(frozen=True)
class ImageFiles:
    """Where the images of a study's record files lie: `X/` beside `X.jsonl`, or the archive `X.zip`."""

    archived: bool

    @property
    def words(self) -> list[str]:
        """What the command of a stage is told that makes images."""
        return ["--archive"] * self.archived

    def made(self, files: Iterable[str]) -> tuple[str, ...]:
        """Record files and, after them, the folders or archives of their images."""
        named = list(files)
        return (*named, *(f"{file.removesuffix('.jsonl')}{'.zip' if self.archived else '/'}" for file in named))

    def beside(self, *files: str) -> list[str]:
        """The archives of record files; no folders: what is in those is named by the records, by hashes."""
        return list(self.made(files)[len(files) :]) if self.archived else []


def as_json(content: Any) -> str:
    """Parameters as JSON, the same text for the same content."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False)


def each(option: str, values: Iterable[str]) -> list[str]:
    """A repeated option, once before each value."""
    return [word for value in values for word in (option, value)]


class Seeded(Protocol):
    """A study's section of params.yaml."""

    @property
    def seed(self) -> int:
        """The seed that all its stages take."""


S = TypeVar("S", bound=Seeded)


class StudyJobs(Generic[S]):
    """What the lists of jobs of all studies share; the list of one study adds a function a stage.

    Args:
        study: the study's section of params.yaml.
        how: where and how its files lie.
        conditions: the conditions that the parameters ask for.
    """

    name: ClassVar[str]
    stages: ClassVar[Mapping[str, str]]
    families: ClassVar[Mapping[str, str]]
    """The family of plugins that each section of the study draws on."""
    listed: ClassVar[Mapping[str, Shown]]
    drawings: ClassVar[Mapping[str, Drawn]]
    table: ClassVar[str]
    figure: ClassVar[str]
    metrics: ClassVar[str]
    report: ClassVar[str]
    """Patterns of the files of tables, figures and headline figures, and the page."""

    def __init__(self, study: S, how: Filing, conditions: Iterable[BaseModel]) -> None:
        self.study = study
        self.root = how.root
        self.shards = shard_names(how.shards)
        self.cut = str(how.shards)
        self.image_files = ImageFiles(how.archived)
        self.conditions: list[Condition] = [condition.model_dump() for condition in conditions]
        self.seed = str(study.seed)

    def at(self, pattern: str, condition: Condition) -> str:
        """The file of a pattern; without a shard, the name under which a verb takes all shards."""
        return f"{self.root}/{pattern.format(**{'shard': '', **condition})}"

    def all(self, pattern: str, conditions: Iterable[Condition]) -> list[str]:
        """The files of a pattern for some conditions and all shards."""
        return made(f"{self.root}/{pattern}", conditions, self.shards)

    def plugin(self, section: str, name: str, protocols: tuple[str, ...] = ()) -> PluginUse:
        """A plugin of the study by its section and name."""
        return PluginUse(self.families[section], getattr(self.study, section)[name], protocols)

    def per_file(
        self, pattern: str, stage: Callable[[Condition], Job], among: Iterable[Condition] | None = None
    ) -> Iterator[Job]:
        """A job for every file of a pattern, which a function makes for a condition of the file with its shard.

        `among` are the conditions; None: all of the study.
        """
        found: dict[str, Condition] = {}
        for condition, shard in product(self.conditions if among is None else among, self.shards):
            one = {**condition, "shard": shard}
            found.setdefault(self.at(pattern, one), one)
        yield from map(stage, found.values())

    def job(
        self,
        stage: str,
        words: Iterable[str],
        inputs: Iterable[str],
        outputs: tuple[str, ...],
        using: Sequence[PluginUse] = (),
        *,
        code: Mapping[str, str] | None = None,
        files: Iterable[str] = (),
        aside: tuple[str, ...] = (),
    ) -> Job:
        """A job of a stage: what its command is told, what it takes and makes, and the plugins that it uses.

        `code`, `files` and `aside` are what it has of each beside the stage and the plugins; see `Job`.
        """
        return Job(
            f"{self.name}.{stage}",
            (self.name, stage, *words),
            tuple(inputs),
            outputs,
            {f"{self.name}.{stage}": self.stages[stage], **code_of(*using), **(code or {})},
            (*files_of(*using), *files),
            aside,
            resources_of(*using),
        )

    def table_job(self, table: str, words: Sequence[str], inputs: Iterable[str], files: Iterable[str]) -> Job:
        """The job of a table, as CSV, Markdown and LaTeX."""
        out = self.at(self.table, {"table": table}).removesuffix(".csv")
        outputs = tuple(f"{out}.{ending}" for ending in ("csv", "md", "tex"))
        code = {f"table.{table}": self.listed[table].table}
        return self.job("table", [table, *words, "--out", out], inputs, outputs, code=code, files=files)

    def figure_job(self, figure: str) -> Job:
        """The job of a figure, as PNG, SVG and PDF, from the table that it shows."""
        shown = self.drawings[figure]
        table = self.at(self.table, {"table": shown.table})
        out = self.at(self.figure, {"figure": figure}).removesuffix(".png")
        code = {f"figure.{figure}": shown.draw, **self._rows(shown.table)}
        words = [figure, "--table", table, "--out", out]
        return self.job("figure", words, [table], drawn(out), code=code)

    def metrics_job(self, shown: Iterable[str]) -> Job:
        """The job of the headline figures, from some tables."""
        names = list(shown)
        tables = [self.at(self.table, {"table": table}) for table in names]
        out = self.at(self.metrics, {})
        return self.job("metrics", [*tables, "--out", out], tables, (out,), code=self._rows(*names))

    def report_job(
        self,
        tables: Sequence[str],
        figures: Iterable[str],
        records: Iterable[str],
        with_images: Iterable[str],
        words: Sequence[str] = (),
    ) -> Job:
        """The job of the page, from tables, figures and records; `with_images` are those that have images."""
        shown = [self.at(self.table, {"table": table}) for table in tables]
        for name in figures:
            shown += drawn(self.at(self.figure, {"figure": name}).removesuffix(".png"))
        out, base = self.at(self.report, {}), f"{self.root}/{self.name}"
        told = ["--results", base, "--conditions", as_json(self.conditions), "--shards", self.cut, *words]
        told += ["--tables", f"{base}/tables", "--figures", f"{base}/figures", "--out", out]
        inputs = [*shown, *records, *self.image_files.beside(*with_images)]
        code = {f"table.{table}": self.listed[table].table for table in tables}
        return self.job("report", told, inputs, (out,), code=code, files=package_files("report", "templates"))

    def _rows(self, *tables: str) -> dict[str, str]:
        """Whose code reads some tables: the records of their rows alone."""
        return {f"row.{table}": self.listed[table].record for table in tables}


def drawn(base: str) -> tuple[str, ...]:
    """A figure's files, by their name without ending."""
    return tuple(f"{base}.{ending}" for ending in ("png", "svg", "pdf"))


def options_of(plugins: Sequence[PluginUse]) -> str:
    """What the plugin is built from, as JSON; empty where there is none."""
    return plugins[0].options if plugins else ""


def code_of(*plugins: PluginUse) -> dict[str, str]:
    """Whose code some plugins run, their parts included; see `cfeval.core.provenance.jobs.Job.code`."""
    return {name: root for one in plugins for name, root in _facts_of(one).code.items()}


def files_of(*plugins: PluginUse) -> tuple[str, ...]:
    """The files that the results of some plugins depend on."""
    return tuple(dict.fromkeys(file for one in plugins for file in _facts_of(one).files))


def resources_of(*plugins: PluginUse) -> dict[str, Any]:
    """What a job holds that runs some plugins; they share a GPU. ParamsError where they want different ones."""
    held = [_facts_of(one).resources for one in plugins]
    wanted = {one.spec.gpu_model for one, need in zip(plugins, held, strict=True) if need.gpu} - {""}
    if len(wanted) > 1:
        raise ParamsError(
            f"params.yaml: plugins of one job want different GPUs ({', '.join(sorted(wanted))}); set one gpu_model"
        )
    return {
        "gpu": max((need.gpu for need in held), default=0),
        "gpu_model": next(iter(wanted), ""),
        "api_slots": int(any(need.api for need in held)),
    }


def package_files(*parts: str) -> tuple[str, ...]:
    """All files below a folder of the package that are no code."""
    folder = ROOT.joinpath(PACKAGE, *parts)
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc"))
    return tuple(relative(str(path)) for path in found)


def brought(name: str) -> str:
    """A file that comes with cfeval, by its path in a checkout: where it lies now."""
    return relative(str(carried(name)))


def relative(file: str) -> str:
    """A file or folder relative to the working folder where it lies beneath it; a folder's name ends with a slash."""
    path, slash = Path(file), "/" * file.endswith("/")
    within = path.is_absolute() and path.is_relative_to(Path.cwd())
    return f"{path.relative_to(Path.cwd())}{slash}" if within else file


def _facts_of(plugin: PluginUse) -> _Facts:
    return _facts(plugin.family, as_json(plugin.spec.plugin_options()), plugin.protocols)


@cache
def _facts(family: str, spec: str, protocols: tuple[str, ...]) -> _Facts:
    its = json.loads(spec)
    files = (relative(file) for file in registry.dependencies(family, its, protocols))
    return _Facts(registry.code(family, its), tuple(dict.fromkeys(files)), registry.resources(family, its))
