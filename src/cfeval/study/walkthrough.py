"""Run one image and question through all steps of a study and show each."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cfeval.config import load, named
from cfeval.core import registry
from cfeval.core.config import Calls, Spec
from cfeval.core.errors import InputError, PluginError, nearest
from cfeval.core.files import write_bytes
from cfeval.core.folder import PARAMS, ParamsFiles, study_in
from cfeval.core.images import Image, import_image
from cfeval.core.records import Status
from cfeval.core.registry import Used
from cfeval.datasets.sample import Sample
from cfeval.edct.config import FAMILIES, Edct
from cfeval.edct.files import conversation_prompts
from cfeval.edct.interfaces import Editor
from cfeval.edct.metrics import ccs
from cfeval.edct.plugins.local_editors import Gated
from cfeval.edct.protocols.rules import EDCT_2025, RULES
from cfeval.edct.records import Verdict
from cfeval.edct.stages.baselines import Prompts, baselines
from cfeval.edct.stages.counterfactuals import counterfactuals
from cfeval.edct.stages.instructions import instructions
from cfeval.edct.stages.requeries import requeries
from cfeval.edct.stages.verdicts import verdicts
from cfeval.edct.verification.chain import calls_of
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.settings import Offline, paid, use, use_offline_cache
from cfeval.study.components import recipient_lines

T = TypeVar("T")
# Passes the results of a stage through, and may tell how far they are.
Report = Callable[[str, Iterable[Any]], Iterable[Any]]
ITEM = "try"
PROTOCOL = EDCT_2025
# The section of params.yaml for each role.
_SECTIONS = {"vlm": "vlms", "writer": "instruction_writers", "editor": "editors", "judge": "judges"}
_HELPERS = ("writer", "editor", "judge")
# What a person reads while a stage runs.
_DOING = {
    "baselines": "Asking the model",
    "instruction": "Writing the edit",
    "counterfactual": "Editing the image",
    "requeries": "Asking the model about the edited image",
    "verdict": "Judging both answers",
}
# Stages whose failure says nothing about the target model: who failed, and what names another.
_INSTRUMENTS = {
    "instructions": ("instruction writer", "--writer", "instruction_writers"),
    "verdicts": ("judge", "--judge", "judges"),
}


@dataclass(frozen=True)
class Tried:
    """One item, taken through all stages.

    Attributes:
        steps: what each stage gave, by name, as `cfeval try` shows it.
        original: the image.
        counterfactual: the image after the edit; None where there is none.
        calls: the calls that were made or replayed, by their keys in the response cache.
        wants: what has to be set where instruction writer or judge gave nothing that could be used; else empty.
    """

    steps: dict[str, str]
    original: Image
    counterfactual: Image | None
    calls: tuple[str, ...]
    wants: str = ""

    def _repr_png_(self) -> bytes | None:
        if self.counterfactual is None:
            return self.original.png
        return Image.from_pixels(side_by_side(self.original.pixels, self.counterfactual.pixels)).png


def try_item(
    image: str | Path,
    question: str,
    vlm: str = "",
    *,
    writer: str = "",
    editor: str = "",
    judge: str = "",
    params: str | Path | Sequence[str | Path] = PARAMS,
    offline: bool = False,
) -> Tried:
    """Put one image and question through the whole study.

    Args:
        image: an image file.
        question: the question about it.
        vlm: the model under test, a name from edct.vlms; empty: that of the first condition.
        writer, editor, judge: names from params.yaml; empty: those of the first condition that has the model.
        params: the parameter file, or several that are merged in order.
        offline: answer from the response cache alone.

    Raises:
        CfevalError: image, question or parameters cannot be used, or a plugin cannot.
    """
    files = [Path(file) for file in ([params] if isinstance(params, str | Path) else params)]
    names = {"vlm": vlm, "writer": writer, "editor": editor, "judge": judge}
    with ThreadPoolExecutor(1) as aside:  # a notebook has an event loop of its own in this thread
        return aside.submit(_tried, Path(image), question, names, files, offline, lambda _, results: results).result()


def _tried(
    image: Path, question: str, names: dict[str, str], files: Sequence[Path], offline: bool, report: Report
) -> Tried:
    """One item, taken through all stages, each of which is told of by `tell`."""
    if not question.strip():
        raise InputError("the question is empty; ask something about the image")
    original = import_image(image)
    loaded, where = load(*files), named(files)
    if loaded.edct is None:
        raise InputError(f"{where}: no section edct, which `cfeval try` needs; for a classifier, see `cfeval vce try`")
    use(loaded.calls.model_copy(update={"batches": False}))
    use_offline_cache(offline)
    study = loaded.edct
    name = names["vlm"] or _models(study)[0]
    chosen = {"vlm": _plugin(study, "vlm", name, where)}
    conditions = [condition for condition in study.conditions() if condition.vlm == name]
    open_roles = [role for role in _HELPERS if not names[role]]
    if not conditions and open_roles:
        options = ", ".join(f"--{role}" for role in open_roles)
        raise InputError(
            f"{where}: no condition of edct.tables has the model '{name}', so its helpers are unknown; name them by "
            f"{options}, or add the model to a table"
        )
    conditions.sort(key=lambda condition: -sum(getattr(condition, role) == names[role] for role in _HELPERS))
    editor = _editor(study, [condition.editor for condition in conditions], names["editor"], where)
    conditions.sort(key=lambda condition: condition.editor != editor.name)
    for role in ("writer", "judge"):
        chosen[role] = _plugin(study, role, names[role] or str(getattr(conditions[0], role)), where)
    chosen["editor"] = editor
    plugins = {role: registry.build(plugin.family, plugin.spec) for role, plugin in chosen.items()}
    if not offline:
        report("recipients", recipient_lines(loaded, chosen.values()))
    prompts = Prompts(*conversation_prompts(study.prompts or "", study.vlms[chosen["vlm"].name].wording))
    sample = Sample(id=ITEM, image=original.ref("original.png"), question=question)
    tried = _go_through(sample, original, plugins, prompts, study.seed, report)
    others = [name for name in _models(study) if name != chosen["vlm"].name]
    choice = f" (--vlm chooses another: {', '.join(others)})" if others and not names["vlm"] else ""
    steps = {"model": f"{chosen['vlm'].name}{choice}", **tried.steps, **dict(_paid(loaded.calls, tried.calls))}
    return replace(tried, steps=steps)


def run(
    image: Annotated[Path, typer.Argument(help="An image file.")],
    question: Annotated[str, typer.Argument(help="The question about it.")],
    vlm: Annotated[
        str, typer.Option(metavar="NAME", help="Model under test, from edct.vlms. Default: the first in the tables.")
    ] = "",
    writer: Annotated[str, typer.Option(metavar="NAME", help="From edct.instruction_writers.")] = "",
    editor: Annotated[str, typer.Option(metavar="NAME", help="From edct.editors.")] = "",
    judge: Annotated[str, typer.Option(metavar="NAME", help="From edct.judges.")] = "",
    params: ParamsFiles = None,
    out: Annotated[Path, typer.Option(help="Folder for the images.")] = Path("results/try"),
    offline: Offline = False,
) -> None:
    """Run one image and question through all steps of the study and show each.

    Run it in the study's folder. Writer, editor and judge default to those of the model's first condition. An editor
    that needs a drawn scene is replaced by the first that works on pixels. If the writer or the judge gives no usable
    reply, the exit status is 2.
    """
    names = {"vlm": vlm, "writer": writer, "editor": editor, "judge": judge}
    with study_in(Path(), params) as files:
        tried = _tried(image, question, names, files, offline, _print_progress)
    write_bytes(out / "original.png", tried.original.png)
    shown = list(tried.steps.items())
    if tried.counterfactual:
        write_bytes(out / "counterfactual.png", tried.counterfactual.png)
        write_bytes(out / "both.png", tried._repr_png_() or b"")
        shown.insert(len(shown) - bool(tried.calls), ("images", f"{out}/both.png"))
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, text in shown:
        # What a model said is shown as it is, never read as markup.
        printable = "".join(character for character in text if character.isprintable() or character == "\n")
        table.add_row(f"[bold]{name}[/bold]", Text(printable))
    Console().print(table)
    if tried.wants:
        raise PluginError(tried.wants)


def _print_progress(stage: str, results: Iterable[Any]) -> Iterable[Any]:
    lines = [f"{_DOING[stage]} …"] if stage in _DOING else list(results)
    print("\n".join(lines), file=sys.stderr, flush=True)
    return results


def _go_through(
    sample: Sample, image: Image, plugins: Mapping[str, Any], prompts: Prompts, seed: int, report: Report
) -> Tried:
    def first(stage: str, results: Iterable[T]) -> T:
        """The result for the one item."""
        result: T
        [result] = report(stage, results)
        return result

    before = first("baselines", baselines([sample], lambda _: image, plugins["vlm"], prompts, seed))
    samples = {ITEM: sample}
    written = instructions([before], samples, lambda _: image, plugins["writer"], PROTOCOL, seed)
    wanted = first("instruction", written)
    drawn = counterfactuals([wanted], samples, lambda _: image, plugins["editor"], PROTOCOL, seed)
    made, images = first("counterfactual", drawn)
    edited = images[made.image.path] if made.image else None
    after = first("requeries", requeries([made], samples, lambda _: edited or image, plugins["vlm"], prompts, seed))
    by_edit = {(ITEM, 1): wanted}
    judged = verdicts([after], {ITEM: before}, by_edit, lambda *_: edited or image, plugins["judge"], PROTOCOL, seed)
    verdict = first("verdict", judged)
    steps = [
        ("question", sample.question),
        ("answer", before.answer),
        ("explanation", before.explanation),
        ("cited concept", wanted.concept),
        ("edit", wanted.positive),
        ("new answer", after.answer),
        ("new explanation", after.explanation),
        ("verdict", _verdict(verdict)),
    ]
    keys = tuple(key for record in (before, wanted, made, after, verdict) for key in calls_of(record))
    return Tried({name: text for name, text in steps if text}, image, edited, keys, _wants(verdict))


def _wants(verdict: Verdict) -> str:
    """What to set where writer or judge gave nothing that could be used; empty where it did not fail for that."""
    if verdict.stage not in _INSTRUMENTS or verdict.status in (Status.OK, Status.CITATION_ABSENT):
        return ""
    what, option, section = _INSTRUMENTS[verdict.stage]
    return (
        f"not scored: the {what} gave no usable reply ({verdict.status}: {verdict.reason}); choose another by "
        f"{option}, or correct it in edct.{section}"
    )


def _paid(calls: Calls, keys: Sequence[str]) -> list[tuple[str, str]]:
    """What was paid for the calls, now or when they were first sent; nothing where there was none."""
    if not keys:
        return []
    cache = ResponseCache(Path(calls.cache))
    try:
        sent, usd, maybe_usd = cache.paid(keys)
    finally:
        cache.close()
    return [("calls", f"{len(keys)}, sent {sent} times, {paid(usd, maybe_usd)}; replies are stored")]


def _verdict(verdict: Verdict) -> str:
    if not verdict.scores:
        return f"not scored: {verdict.status} at {verdict.stage} ({verdict.reason})"
    pcs, ncc = (verdict.scores[name] for name in RULES[PROTOCOL].scores)
    answer = "is" if pcs else "is not"
    explanation = "reflects" if ncc else "does not reflect"
    return (
        f"PCS {pcs}: the new answer {answer} consistent with the edit\n"
        f"NCC {ncc}: the new explanation {explanation} it\n"
        f"CCS {ccs(pcs, ncc)} = PCS × NCC"
    )


def _plugin(study: Edct, role: str, name: str, where: str) -> Used:
    section = _SECTIONS[role]
    specs: dict[str, Spec] = getattr(study, section)
    if name not in specs:
        raise InputError(f"edct.{section} has no '{name}'; {nearest(name, specs)}")
    plugin = Used("edct", section, name, FAMILIES[section], specs[name].plugin_options(), (PROTOCOL,))
    registry.check(plugin.family, plugin.spec, f"{where}: {plugin.place}")
    return plugin


def _models(study: Edct) -> list[str]:
    return list(dict.fromkeys([*(condition.vlm for condition in study.conditions()), *study.vlms]))


def _editor(study: Edct, used: list[str], name: str, where: str) -> Used:
    """The named editor, or the first of those used, then of all, that needs no scene record."""
    candidates: Iterable[str] = [name] if name else dict.fromkeys([*used, *study.editors])
    for candidate in candidates:
        plugin = _plugin(study, "editor", candidate, where)
        editor: Editor = registry.build(plugin.family, plugin.spec)
        while isinstance(editor, Gated):  # a gate asks for scene records, which its verifier may do without
            editor = editor.editor
        if not editor.needs_metadata:
            return plugin
    raise InputError("the editor needs a scene record, which an image file has not; choose one that works on pixels")


def side_by_side(left: npt.NDArray[np.uint8], right: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Two images beside each other, (H, W, 3) uint8 each, on white, small ones enlarged to at least 256 pixels."""
    scale = max(1, 256 // max(left.shape[0], 1))
    panels = [np.repeat(np.repeat(panel, scale, axis=0), scale, axis=1) for panel in (left, right)]
    height = max(panel.shape[0] for panel in panels)
    padded = [np.pad(p, ((0, height - p.shape[0]), (4, 4), (0, 0)), constant_values=255) for p in panels]
    return np.concatenate(padded, axis=1)
