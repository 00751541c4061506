"""Looks at everything at once, each within a time limit, and never breaks: what goes wrong in a check is a finding."""

import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from cfeval.config import Params, load, named, read
from cfeval.core import locks, registry
from cfeval.core.errors import CfevalError, InputError
from cfeval.core.folder import PARAMS, Evaluations, Folder, ParamsFiles, check_evaluations, study_in
from cfeval.core.registry import Diagnostic, Used
from cfeval.edct.asked import exam_faults
from cfeval.edct.files import conversation_prompts
from cfeval.inference.remote.prices import load_prices
from cfeval.inference.remote.settings import use
from cfeval.study import machine
from cfeval.study.components import FAMILIES_OF, missing_files, used
from cfeval.study.estimate import calls_to_go
from cfeval.study.fits import unfit, unknown_classes
from cfeval.study.probe import Probe, announcement, probes, send
from cfeval.vce.originals import of_classifiers

SECONDS = 30.0
"""How long a check is waited for; one that takes longer is slow, and no fault."""
FORMLESS = ("chat", "solvers", "program_generators", "vision_tools")
"""Families whose models reply in free text, so that nothing need enforce a schema."""


@dataclass(frozen=True)
class Check:
    """Something to look at: what it is called, and how it is done."""

    name: str
    look: Callable[[], Iterable[Diagnostic]]


@dataclass
class _Looking:
    check: Check
    found: list[Diagnostic] = field(default_factory=list)

    def run(self) -> None:
        try:
            for finding in self.check.look():
                self.found.append(finding)
        except CfevalError as error:
            self.found.append(Diagnostic(False, str(error)))
        except Exception as error:  # a defect of the check; its text is left out, because it may hold a key
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
            self.found.append(Diagnostic(False, f"the check itself broke ({place}); please report that"))


def look(checks: Iterable[Check], seconds: float) -> Iterator[tuple[str, list[Diagnostic]]]:
    """Do all checks side by side; yields each one's name and findings, in order.

    A check that is not done after `seconds` is called slow and left behind: its thread ends with the process.
    """
    all_of_them = list(checks)  # what they import, side by side with others, could lock up
    started = [(looking := _Looking(check), _start(looking)) for check in all_of_them]
    until = time.monotonic() + seconds
    for looking, thread in started:
        thread.join(max(0.0, until - time.monotonic()))
        found = list(looking.found)
        if thread.is_alive():
            found.append(Diagnostic(True, f"slow: not finished after {seconds:g} s; going on", warns=True))
        yield looking.check.name, found or [Diagnostic(True, "ready")]


def of_plugin(use: Used, offline: bool) -> Check:
    """What can be said about a plugin: its files, and what it and its parts say themselves."""

    def about() -> Iterator[Diagnostic]:
        registry.check(use.family, use.spec, use.place)
        for fault in missing_files(use.family, use.spec, use.protocols):
            yield Diagnostic(False, fault)
        sees_images = any(recipient.images for recipient in registry.recipients(use.family, use.spec, use.protocols))
        for finding in registry.diagnose(use.family, use.spec, offline, use.protocols):
            if not (finding.of_form and use.family in FORMLESS) and (sees_images or not finding.of_images):
                yield finding
        yield from (Diagnostic(True, line) for line in registry.advice(use.family, use.spec))

    return Check(use.place, about)


def _start(looking: _Looking) -> threading.Thread:
    thread = threading.Thread(target=looking.run, daemon=True, name=looking.check.name)
    thread.start()
    return thread


def run(
    folder: Folder = Path(),
    evaluation: Evaluations = None,
    params: ParamsFiles = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed; change nothing.")] = False,
    seconds: Annotated[
        float, typer.Option(min=1, help="How long to wait for a check; one that takes longer is reported as slow.")
    ] = SECONDS,
    probe: Annotated[
        bool | None,
        typer.Option(
            "--probe/--no-probe",
            help="Send each hosted model one small request, or none. Default: those that cost a cent at most.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Clean up after an interrupted run, and check keys, models, GPU and disk before anything is spent.

    Finished jobs are kept; run `snakemake` or `dvc repro` again to go on. Nothing is touched while a run is alive.
    Every plugin that the tables use is examined, no weights are read, and each hosted model that passes is sent one
    small request: with an image if it is shown images, in the form of reply that its role needs. Where a file is laid
    over params.yaml, only the studies that it names are looked at, if it names any. Ends with status 2 where something
    will not work.
    """
    check_evaluations(evaluation)
    if _clean_up(folder, dry_run):
        if not (folder / PARAMS).is_file():
            return  # the folder of a workflow that takes in ours: locks, and no study to look at
    elif (folder / PARAMS).is_file():
        print("Nothing to clean up")
    with study_in(folder, params) as files:
        loaded = load(*files)
        if probe and loaded.calls.offline:
            raise InputError("--probe sends requests, but calls.offline is set; leave one of them out")
        evaluations, spent = _wanted(evaluation, files), False
        uses = [plugin for plugin in used(loaded) if plugin.study in evaluations]
        wrong = diagnose_all(loaded, uses, evaluations, seconds, every=True)
        if probe is not False and not loaded.calls.offline:
            good = [plugin for plugin in uses if not wrong[plugin.place]]
            faults, spent = _probe(loaded, good, named(files), bool(probe))
            wrong += faults
        refuse_faults(wrong, spent)


def _wanted(studies: Sequence[str] | None, files: Sequence[Path]) -> list[str]:
    """The studies to look at: those named, else those that the files laid over the first one name, else all."""
    laid_over = [study for study in FAMILIES_OF if any(study in (read(file) or {}) for file in files[1:])]
    return list(studies or laid_over or FAMILIES_OF)


def _clean_up(folder: Path, dry_run: bool) -> bool:
    """Remove what an interrupted run left; return whether it left something."""
    found = list(locks.leftover_locks(folder))
    for path, what in found:
        run = locks.running_process(folder)
        running = [run] if run is not None else locks.live_processes(folder, ("snakemake", "dvc"))
        other = locks.running_elsewhere(folder) if path == folder / locks.SNAKEMAKE_LOCKS else ""
        if other:
            print(f"{path}: {what} that began on {other}; where none is alive there, run `snakemake --unlock`")
        elif running:
            print(f"{path}: {what}, but process {running[0]} is at work in {folder.resolve()}; left alone")
        elif dry_run:
            print(f"{path}: {what}")
        else:
            locks.remove(path)
            print(f"{path}: {what}; removed")
    return bool(found)


def diagnose_all(
    params: Params,
    uses: Sequence[Used],
    evaluations: Collection[str] = tuple(FAMILIES_OF),
    seconds: float = SECONDS,
    *,
    every: bool = False,
    stored: Collection[str] = (),
) -> Counter[str]:
    """Print what will not work, or with `every` what each check found; the number of faults by what was checked.

    Args:
        params: the study's.
        uses: the plugins to look at.
        evaluations: whose other checks are made.
        seconds: how long the checks are waited for.
        every: print also what is fine.
        stored: places of plugins whose calls are in the cache, so that their servers are not asked.
    """
    use(params.calls.model_copy(update={"batches": False}))
    wrong: Counter[str] = Counter()
    for name, findings in look(_checks(params, uses, evaluations, stored), seconds):
        faults = list(dict.fromkeys(finding for finding in findings if not finding.fine))
        wrong[name] += len(faults)
        warnings = list(dict.fromkeys(finding for finding in findings if finding.fine and finding.warns))
        told = dict.fromkeys(finding.text for finding in findings if finding.fine and not finding.warns)
        fine = [Diagnostic(True, "; ".join(told))] if every and told else []
        for finding in [*(faults or fine), *warnings]:
            _say(name, finding)
    return wrong


def probe_all(params: Params, wanted: Iterable[Probe], where: str, seed: int) -> Counter[str]:
    """Send one request to each of these models and print what came back; the number of faults by place."""
    wrong: Counter[str] = Counter()
    for probe in wanted:
        finding = send(probe, params.calls, partial(_calls_to_go, params, where), seed)
        if finding is not None:
            wrong[probe.place] += not finding.fine
            _say(probe.place, finding)
    return wrong


def refuse_faults(wrong: Counter[str], spent: bool) -> None:
    """End where something will not work (InputError)."""
    if number := wrong.total():
        money = "" if spent else ", nothing was spent"
        raise InputError(f"{number} thing{'s' * (number > 1)} will not work; see above what to do{money}")


def _probe(params: Params, uses: Sequence[Used], where: str, every: bool) -> tuple[Counter[str], bool]:
    """Ask each hosted model, the dear ones only with `every`; the number of faults, and whether anything was sent."""
    prices, requests = load_prices(params.calls.prices), probes(uses)
    asked = [probe for probe in requests if every or probe.is_cheap(prices)]
    for probe in requests:
        if probe not in asked:
            _say(
                probe.place,
                Diagnostic(True, f"{probe.model} is not asked, which may cost more; see --probe", warns=True),
            )
    if asked:
        print(announcement(asked, prices), flush=True)
    return probe_all(params, asked, where, seed=int(time.time())), bool(asked)


def _calls_to_go(params: Params, where: str) -> dict[str, int]:
    with suppress(CfevalError):
        return calls_to_go(params, where)
    return {}


def _checks(params: Params, uses: Sequence[Used], wanted: Collection[str], stored: Collection[str]) -> Iterator[Check]:
    edct = params.edct if "edct" in wanted else None
    # Before any check runs: two threads must not import the same modules.
    misfits = list(unfit(edct)) if edct else []
    exams = list(exam_faults(edct)) if edct and edct.exams and all(use.is_valid for use in uses) else []
    unknown = list(unknown_classes(params.vce)) if "vce" in wanted and params.vce else []
    for plugin in uses:
        yield of_plugin(plugin, params.calls.offline or plugin.place in stored)
    if edct and (prompts := edct.prompts):
        yield Check("edct.prompts", lambda: _prompts(prompts))
    if misfits:
        yield Check("edct", lambda: (Diagnostic(False, line) for line in misfits))
    if exams:
        yield Check("edct.exams", lambda: (Diagnostic(False, line) for line in exams))
    if unknown:
        yield Check("vce.groups", lambda: (Diagnostic(False, line.removeprefix("vce: ")) for line in unknown))
    if "vce" in wanted and not unknown and (originals := originals_check(params, uses)):
        yield originals
    valid = [plugin for plugin in uses if plugin.is_valid]
    remote = [plugin for plugin in valid if plugin.resources.api]
    asked = [plugin for plugin in remote if plugin.place not in stored]
    calls = params.calls if asked else params.calls.model_copy(update={"offline": True})
    folders = {machine.RESULTS: None}
    if remote:
        folders[Path(params.calls.cache).parent] = None
        yield Check(f"cache {params.calls.cache}", lambda: machine.cache(calls))
    if asked and not calls.offline:
        yield Check("prices", lambda: machine.prices(calls, asked))
    for folder in folders:
        yield Check(f"disk {folder}", lambda folder=folder: machine.disk(folder))  # type: ignore[misc]
    if local := [plugin.place for plugin in valid if plugin.resources.gpu]:
        yield Check("gpu", lambda: machine.gpu(local))


def originals_check(params: Params, uses: Sequence[Used]) -> Check | None:
    """How the classifiers of vce read the user's own images; None where there are none, or no torch."""
    study = params.vce
    names = [use.name for use in uses if use.study == "vce" and use.section == "classifiers" and use.is_valid]
    if study is None or not names or not find_spec("torch"):
        return None
    if not any(registry.dependencies("image_sets", one.plugin_options()) for one in study.image_sets.values()):
        return None
    import_module("torchvision.models")  # not in a thread, side by side with others that import it
    return Check("vce.classifiers", lambda: of_classifiers(study, names))


def _prompts(folder: str) -> Iterator[Diagnostic]:
    conversation_prompts(folder)
    yield Diagnostic(True, "both templates are there")


def _say(name: str, finding: Diagnostic) -> None:
    text = " ".join(finding.text.split()).removeprefix(f"{name}: ")
    mark = Text("ok   ", style="green") if finding.fine else Text("FAIL ", style="bold red")
    mark = Text("warn ", style="yellow") if finding.warns else mark
    Console(soft_wrap=True, highlight=False).print(mark + Text(f"{name}: {text}"))
