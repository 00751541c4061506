"""`cfeval doctor` and `cfeval check`: look at all of a study before it runs, or at its params.yaml alone."""

import shutil
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from cfeval.config import Params, load, named, read
from cfeval.core import locks, registry
from cfeval.core.config import Calls
from cfeval.core.errors import CfevalError, InputError, OutputError, as_output_error
from cfeval.core.files import ensure_writable
from cfeval.core.folder import PARAMS, Evaluations, Folder, ParamsFiles, check_evaluations, study_in
from cfeval.core.registry import Diagnostic, Used
from cfeval.edct.asked import exam_faults
from cfeval.edct.files import conversation_prompts
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.prices import load_prices, missing_price
from cfeval.inference.remote.settings import paid, use
from cfeval.study.components import (
    FAMILIES_OF,
    check_plugins,
    missing_files,
    missing_packages,
    unfit,
    unknown_classes,
    used,
)
from cfeval.study.estimate import calls_to_go
from cfeval.study.probe import Probe, announcement, probes, send
from cfeval.vce.originals import of_classifiers

# How long a check is waited for; one that takes longer is slow, and no fault.
SECONDS = 30.0
# Bytes that should be free; a study of a few hundred photos fills about as many.
LEAST_FREE = 2**30
# Families whose models reply in free text, so that nothing need enforce a schema.
_FORMLESS = ("chat", "solvers", "program_generators", "vision_tools")
_GIB = 2**30


@dataclass(frozen=True)
class Check:
    """Something to look at: what it is called, and how it is done."""

    name: str
    look: Callable[[], Iterable[Diagnostic]]


@dataclass
class _RunningCheck:
    check: Check
    findings: list[Diagnostic] = field(default_factory=list)

    def run(self) -> None:
        try:
            for finding in self.check.look():
                self.findings.append(finding)
        except CfevalError as error:
            self.findings.append(Diagnostic(False, str(error)))
        except Exception as error:  # a defect of the check; its text is left out, because it may hold a key
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
            self.findings.append(Diagnostic(False, f"the check itself broke ({place}); please report that"))


def look(checks: Iterable[Check], seconds: float) -> Iterator[tuple[str, list[Diagnostic]]]:
    """Do all checks side by side; yields each one's name and findings, in order.

    A check that is not done after `seconds` is called slow and left behind: its thread ends with the process.
    """
    running = [_RunningCheck(check) for check in checks]  # all before any: imports side by side could lock up
    threads = [threading.Thread(target=entry.run, daemon=True, name=entry.check.name) for entry in running]
    for thread in threads:
        thread.start()
    until = time.monotonic() + seconds
    for entry, thread in zip(running, threads, strict=True):
        thread.join(max(0.0, until - time.monotonic()))
        findings = list(entry.findings)
        if thread.is_alive():
            findings.append(Diagnostic(True, f"slow: not finished after {seconds:g} s; going on", warns=True))
        yield entry.check.name, findings or [Diagnostic(True, "ready")]


def plugin_check(use: Used, offline: bool) -> Check:
    """The check of a plugin: its files, and what it and its parts find themselves."""

    def about() -> Iterator[Diagnostic]:
        registry.check(use.family, use.spec, use.place)
        for fault in missing_files(use.family, use.spec, use.protocols):
            yield Diagnostic(False, fault)
        sees_images = any(recipient.images for recipient in registry.recipients(use.family, use.spec, use.protocols))
        for finding in registry.diagnose(use.family, use.spec, offline, use.protocols):
            if not (finding.of_form and use.family in _FORMLESS) and (sees_images or not finding.of_images):
                yield finding
        yield from (Diagnostic(True, line) for line in registry.advice(use.family, use.spec))

    return Check(use.place, about)


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
        laid_over = [name for name in FAMILIES_OF if any(name in (read(file) or {}) for file in files[1:])]
        evaluations, spent = list(evaluation or laid_over or FAMILIES_OF), False
        uses = [plugin for plugin in used(loaded) if plugin.study in evaluations]
        wrong = diagnose_all(loaded, uses, evaluations, seconds, every=True)
        if probe is not False and not loaded.calls.offline:
            faultless = [plugin for plugin in uses if not wrong[plugin.place]]
            prices, requests = load_prices(loaded.calls.prices), probes(faultless)
            to_send = [request for request in requests if probe or request.is_cheap(prices)]
            for request in requests:
                if request not in to_send:
                    text = f"{request.model} is not asked, which may cost more; see --probe"
                    _print(request.place, Diagnostic(True, text, warns=True))
            if to_send:
                print(announcement(to_send, prices), flush=True)
            wrong += probe_all(loaded, to_send, named(files), seed=int(time.time()))
            spent = bool(to_send)
        refuse_faults(wrong, spent)


def _clean_up(folder: Path, dry_run: bool) -> bool:
    """Remove what an interrupted run left; return whether it left something."""
    complaints = list(locks.leftover_locks(folder))
    for path, what in complaints:
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
    return bool(complaints)


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
        texts = dict.fromkeys(finding.text for finding in findings if finding.fine and not finding.warns)
        fine = [Diagnostic(True, "; ".join(texts))] if every and texts else []
        for finding in [*(faults or fine), *warnings]:
            _print(name, finding)
    return wrong


def probe_all(params: Params, wanted: Iterable[Probe], where: str, seed: int) -> Counter[str]:
    """Send one request to each of these models and print what came back; the number of faults by place."""

    def to_go() -> Mapping[str, int]:
        with suppress(CfevalError):
            return calls_to_go(params, where)
        return {}

    wrong: Counter[str] = Counter()
    for probe in wanted:
        finding = send(probe, params.calls, to_go, seed)
        if finding is not None:
            wrong[probe.place] += not finding.fine
            _print(probe.place, finding)
    return wrong


def refuse_faults(wrong: Counter[str], spent: bool) -> None:
    """End where something will not work (InputError)."""
    if number := wrong.total():
        things = "1 thing" if number == 1 else f"{number} things"
        money = "" if spent else ", nothing was spent"
        raise InputError(f"{things} will not work; see above what to do{money}")


def _checks(params: Params, uses: Sequence[Used], wanted: Collection[str], stored: Collection[str]) -> Iterator[Check]:
    edct = params.edct if "edct" in wanted else None
    # Before any check runs: two threads must not import the same modules.
    misfits = list(unfit(edct)) if edct else []
    exams = list(exam_faults(edct)) if edct and edct.exams and all(use.is_valid for use in uses) else []
    unknown = list(unknown_classes(params.vce)) if "vce" in wanted and params.vce else []
    for plugin in uses:
        yield plugin_check(plugin, params.calls.offline or plugin.place in stored)
    if edct and (prompts := edct.prompts):
        yield Check("edct.prompts", lambda: _prompt_findings(prompts))
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
    uncached = [plugin for plugin in remote if plugin.place not in stored]
    calls = params.calls if uncached else params.calls.model_copy(update={"offline": True})
    folders = {Path("results"): None}
    if remote:
        folders[Path(params.calls.cache).parent] = None
        yield Check(f"cache {params.calls.cache}", lambda: _cache_findings(calls))
    if uncached and not calls.offline:
        yield Check("prices", lambda: _price_findings(calls, uncached))
    for folder in folders:
        yield Check(f"disk {folder}", lambda folder=folder: _disk_findings(folder))  # type: ignore[misc]
    if local := [plugin.place for plugin in valid if plugin.resources.gpu]:
        yield Check("gpu", lambda: _gpu_findings(local))


def originals_check(params: Params, uses: Sequence[Used]) -> Check | None:
    """How the classifiers of vce read the user's own images; None where there are none, or no torch."""
    study = params.vce
    names = [use.name for use in uses if use.study == "vce" and use.section == "classifiers" and use.is_valid]
    if study is None or not names or not find_spec("torch"):
        return None
    if not any(registry.dependencies("image_sets", spec.plugin_options()) for spec in study.image_sets.values()):
        return None
    import_module("torchvision.models")  # not in a thread, side by side with others that import it
    return Check("vce.classifiers", lambda: of_classifiers(study, names))


def _prompt_findings(folder: str) -> Iterator[Diagnostic]:
    conversation_prompts(folder)
    yield Diagnostic(True, "both templates are there")


def _print(name: str, finding: Diagnostic) -> None:
    text = " ".join(finding.text.split()).removeprefix(f"{name}: ")
    mark = Text("ok   ", style="green") if finding.fine else Text("FAIL ", style="bold red")
    mark = Text("warn ", style="yellow") if finding.warns else mark
    Console(soft_wrap=True, highlight=False).print(mark + Text(f"{name}: {text}"))


def _disk_findings(folder: Path) -> Iterator[Diagnostic]:
    ensure_writable(folder / "x")
    place = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.is_dir())
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"x")
    except OSError as error:
        raise as_output_error(OSError(error.errno, error.strerror, str(folder))) or OutputError(
            f"cannot write {folder}: {error.strerror}; choose another folder"
        ) from None
    free = shutil.disk_usage(place).free
    text = f"{free / _GIB:.1f} GiB free"
    if free < LEAST_FREE:
        yield Diagnostic(False, f"only {text}; free some space: a study of a few hundred photos fills about a GiB")
    else:
        yield Diagnostic(True, f"can be written, {text}")


def _cache_findings(calls: Calls) -> Iterator[Diagnostic]:
    path = Path(calls.cache)
    if not path.exists():
        ensure_writable(path)
        if calls.offline:
            yield Diagnostic(False, "offline is set, and there is no cache; bring one with `cfeval cache import`")
        else:
            yield Diagnostic(True, "not there yet; the first call makes it")
        return
    with closing(ResponseCache(path)) as cache:
        if damage := cache.integrity_error():
            yield Diagnostic(False, f"damaged ({damage}); restore it from an export with `cfeval cache import`")
            return
        stored = sum(final for final, _ in cache.counts().values())
        ledger = cache.ledger()
    sent = sum(int(str(row["sent"])) for row in ledger)
    usd, maybe = (sum(float(str(row[name])) for row in ledger) for name in ("paid_usd", "maybe_paid_usd"))
    yield Diagnostic(True, f"whole; {stored} answers, {sent} calls sent, {paid(usd, maybe)}")
    for name, limit, spent in (("max_calls", calls.max_calls, sent), ("max_cost_usd", calls.max_cost_usd, usd + maybe)):
        if limit is not None and spent >= limit and not calls.offline:
            yield Diagnostic(False, f"the budget calls.{name} = {limit:g} is used up; raise it")


def _price_findings(calls: Calls, uses: Sequence[Used]) -> Iterator[Diagnostic]:
    price_list = load_prices(calls.prices)
    models = {call.model for use in uses for call in registry.estimate_calls(use.family, use.spec, use.protocols)}
    for model in sorted(models):
        price = price_list.of(model)
        if price is not None:
            yield Diagnostic(True, f"{model} as of {price.date}")
        elif calls.max_cost_usd is not None:
            text = f"calls.max_cost_usd is set, but no list has a price of {model}; {missing_price(price_list)}"
            yield Diagnostic(False, text)
        else:
            yield Diagnostic(True, f"{model} has none, so that estimates leave it out; {missing_price(price_list)}")


def _gpu_findings(plugins: Sequence[str]) -> Iterator[Diagnostic]:
    import torch

    names = ", ".join(plugins)
    if not torch.cuda.is_available():
        yield Diagnostic(
            True,
            f"torch finds none; what can, computes on the processor, many times slower ({names}); check the driver "
            "(`nvidia-smi`) if this machine has one",
        )
        return
    for number in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(number)
        name = torch.cuda.get_device_name(number)
        yield Diagnostic(True, f"{number}: {name}, {free / _GIB:.0f} of {total / _GIB:.0f} GiB free")


def run_check(
    folder: Folder = Path(),
    params: ParamsFiles = None,
    seconds: Annotated[
        float, typer.Option(min=1, help="How long to wait for classifiers; one that takes longer is reported as slow.")
    ] = SECONDS,
) -> None:
    """Check params.yaml: every key, plugin and option.

    Of vce, also show how your images are prepared and how many of them each classifier reads rightly.
    """
    with study_in(folder, params) as files:
        checked = check_plugins(load(*files), named(files))
        missing = missing_packages(checked, named(files))
        reading_lines = [] if "vce" in missing else list(_originals(checked, named(files), seconds))
        print(f"{named(files)} is valid: {'; '.join(_conditions(checked))}")
        for line in [*(f"{study} cannot run here: {fault}" for study, fault in missing.items()), *reading_lines]:
            print(line)


def _conditions(params: Params) -> list[str]:
    lines = []
    if params.edct:
        pairs = len(params.edct.pair_conditions())
        lines.append(
            f"edct has {len(params.edct.conditions())} conditions, {params.edct.items} items of each dataset"
            + f"; {pairs} conditions of given pairs, {params.edct.items} pairs of each set" * bool(pairs)
        )
    if params.vce:
        lines.append(f"vce has {len(params.vce.all_conditions())} conditions, {params.vce.images} images of each class")
    if params.cvqa:
        builds = len(params.cvqa.builds_asked())
        lines.append(f"cvqa has {len(params.cvqa.all_conditions())} conditions and {builds} question sets to build")
    return lines


def _originals(params: Params, where: str, seconds: float) -> Iterator[str]:
    """How classifiers read the user's images; InputError where one cannot be loaded or says what is no number."""
    check = originals_check(params, used(params))
    for _, findings in look([check] if check else [], seconds):
        for finding in findings:
            if not finding.fine:
                raise InputError(f"{where}: vce.classifiers.{finding.text}")
            yield f"warning: {finding.text}" if finding.warns else finding.text
