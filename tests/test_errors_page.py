"""docs/reference/errors.md cannot rot: every line on it is produced here, and printed exactly so."""

import errno
import json
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import PIL.Image
import pytest

from cfeval.core.images import Image
from cfeval.core.jsonl import write_csv
from cfeval.core.records import Status
from cfeval.core.shards import file_with_images
from cfeval.datasets.sample import RawSample, file_samples
from cfeval.edct.records import Score
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.settings import VARIABLE
from cfeval.study.outcomes import MEANINGS, unscored
from cfeval.vce.records import SourceImage
from tests.conftest import Run
from tests.images import image
from tests.loopback.server import loopback
from tests.loopback.site import Loopback
from tests.provider_study import CANARY, KEY_ENV, params, target, written
from tests.test_config import GOOD
from tests.tiny.editors import checkpoint as editor_checkpoint
from tests.tiny.hub import NOWHERE, asked_at
from tests.tiny.vlms import checkpoint

PAGE = (Path(__file__).parents[1] / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^### (.+)\n\n```text\n(.+)\n```$", PAGE, re.MULTILINE))
"""The line of every heading."""


class Desk:
    """Where a user sits: a folder with three samples, a provider, a key."""

    def __init__(self, cfeval: Run, folder: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cfeval, self.folder, self.server, self.patch = cfeval, folder, server, monkeypatch
        self.samples = folder / "samples.jsonl"
        file_samples(self.samples, [RawSample(f"s{n}", image(n), "What is it?") for n in range(3)])

    def settings(self, **calls: Any) -> None:
        """How calls travel."""
        settings = {"cache": str(self.folder / "calls.sqlite"), "max_retries": 0, "max_connections": 1, **calls}
        self.patch.setenv(VARIABLE, json.dumps(settings))

    def baseline(self, vlm: dict[str, Any] | None = None, *more: str) -> str:
        """What `cfeval edct baselines` prints last."""
        spec = json.dumps(vlm or target(self.server.openai))
        options = ["--samples", self.samples, "--vlm", spec, "--seed", 1, "--out", self.folder / "b.jsonl", *more]
        return self.run("edct", "baselines", *options)

    def check(self, content: Any) -> str:
        """What `cfeval check` prints about parameters."""
        path = self.folder / "params.yaml"
        path.write_text(content) if isinstance(content, str) else written(self.folder, content)
        return self.run("check")

    def run(self, *arguments: object) -> str:
        status, out, err = self.cfeval(*arguments)
        assert status == 2, out + err
        assert CANARY not in out + err
        assert "Traceback" not in err
        return err.splitlines()[-1]

    def scripted(self, *faults: str) -> str:
        """What a run ends with whose calls meet these faults, one after the other."""
        self.server.script(list(faults))
        return self.baseline()


@pytest.fixture(scope="module")
def provider() -> Iterator[Loopback]:
    with loopback(key=CANARY, models=["gpt-4o"]) as running:
        yield running


@pytest.fixture
def desk(cfeval: Run, tmp_path: Path, provider: Loopback, monkeypatch: pytest.MonkeyPatch) -> Desk:
    provider.reset()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(KEY_ENV, CANARY)
    sits = Desk(cfeval, tmp_path, provider, monkeypatch)
    sits.settings()
    return sits


def no_key(desk: Desk) -> str:
    desk.patch.delenv(KEY_ENV)
    return desk.baseline()


def no_package(desk: Desk) -> str:
    desk.patch.setitem(sys.modules, "anthropic", None)
    return desk.baseline({"plugin": "anthropic", "model": "claude", "key_env": KEY_ENV})


def wrong_key(desk: Desk) -> str:
    desk.patch.setenv(KEY_ENV, f"{CANARY}x")
    return desk.baseline()


def odd_key(desk: Desk) -> str:
    desk.patch.setenv(KEY_ENV, f"{CANARY}\n{CANARY}")
    return desk.baseline()


def max_calls(desk: Desk) -> str:
    desk.settings(max_calls=1)
    return desk.baseline()


def max_cost(desk: Desk) -> str:
    desk.settings(max_cost_usd=0.000001)
    return desk.baseline()


def no_price(desk: Desk) -> str:
    desk.settings(max_cost_usd=1)
    return desk.baseline(target(desk.server.openai, model="unpriced"))


def unreachable(desk: Desk) -> str:
    return desk.baseline(target(f"{NOWHERE}/v1"))


def wrong_model(desk: Desk) -> str:
    return desk.baseline(target(desk.server.openai, model="gpt-4p"))


def offline(desk: Desk) -> str:
    return desk.baseline(None, "--offline")


def no_database(desk: Desk) -> str:
    (desk.folder / "calls.sqlite").write_text("this was a response cache once" * 100)
    return desk.baseline()


def newer_cache(desk: Desk) -> str:
    ResponseCache(desk.folder / "calls.sqlite").close()
    with sqlite3.connect(desk.folder / "calls.sqlite") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    return desk.baseline()


def damaged_call(desk: Desk) -> str:
    desk.server.script([])
    assert desk.cfeval("edct", "baselines", *_options(desk))[0] == 0
    with sqlite3.connect(desk.folder / "calls.sqlite") as database:
        database.execute("UPDATE calls SET model = 'another'")
    database.close()
    return desk.run("cache", "verify")


def _options(desk: Desk) -> list[object]:
    spec = json.dumps(target(desk.server.openai))
    return ["--samples", desk.samples, "--vlm", spec, "--seed", 1, "--out", desk.folder / "b.jsonl"]


def locked(desk: Desk) -> str:
    connect = sqlite3.connect
    holder = connect(desk.folder / "calls.sqlite", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    desk.patch.setattr(sqlite3, "connect", lambda *a, **options: connect(*a, **{**options, "timeout": 0.05}))
    try:
        return desk.baseline()
    finally:
        holder.close()


def cache_disk_full(desk: Desk) -> str:
    connect = sqlite3.connect

    def small(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.execute("PRAGMA max_page_count = 3")
        return connection

    desk.patch.setattr(sqlite3, "connect", small)
    return desk.baseline()


def no_cache(desk: Desk) -> str:
    return desk.run("cache", "stats")


def unwritable(number: int, desk: Desk) -> str:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, "no")

    desk.patch.setattr(tempfile, "mkstemp", refuse)
    return desk.baseline({"plugin": "mock"})


def a_file_in_the_way(desk: Desk) -> str:
    (desk.folder / "blocked").touch()
    return desk.run("edct", "import", desk.folder, "--out", desk.folder / "blocked" / "x.jsonl")


def params_missing(desk: Desk) -> str:
    return desk.run("check")


def with_(path: str, value: Any) -> dict[str, Any]:
    """Good parameters with one key set."""
    content: dict[str, Any] = json.loads(json.dumps(GOOD))
    *parents, last = path.split(".")
    here = content
    for part in parents:
        here = here[part]
    here[last] = value
    return content


def photographs_for_the_scene_editor(desk: Desk) -> str:
    """What `cfeval check` prints of an editor of drawn scenes and the desk's samples."""
    content = with_("edct.datasets.d", {"plugin": "samples", "path": str(desk.samples)})
    content["edct"]["editors"]["e"] = {"plugin": "scene"}
    return desk.check(content)


def nothing_scored(desk: Desk) -> str:
    """The line at the end of a run whose only edit failed."""
    names = {"dataset": "d", "vlm": "m", "writer": "w", "protocol": "edct-2025", "editor": "e", "judge": "j"}
    file = desk.folder / "scores.csv"
    failed = {"status": "edit_invalid", "stage": "counterfactuals", "reason": "the image has another size"}
    write_csv(file, Score, [Score(**names, **failed, id="a")])
    [line] = unscored([SimpleNamespace(words=["edct", "scores"], outputs=[str(file)])])
    return f"cfeval: {line}"


def folder_incomplete(desk: Desk) -> str:
    broken = desk.folder / "model"
    shutil.copytree(checkpoint("llama"), broken)
    (broken / "model.safetensors").unlink()
    return desk.baseline({"plugin": "transformers", "model": str(broken), "device": "cpu"})


def hub_unreachable(desk: Desk) -> str:
    asked_at(desk.patch, NOWHERE, desk.folder / "hub")
    return desk.baseline({"plugin": "transformers", "model": "owner/name"})


def no_gpu(desk: Desk) -> str:
    import torch

    desk.patch.setattr(torch.cuda, "device_count", lambda: 0)
    return desk.baseline({"plugin": "transformers", "model": str(checkpoint("llama")), "device": "cuda"})


def _full(*_: object, **__: object) -> None:
    import torch

    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nSee …")


def full_gpu_loading(desk: Desk) -> str:
    import transformers

    desk.patch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", _full)
    return desk.baseline({"plugin": "transformers", "model": str(checkpoint("llama")), "device": "cpu"})


def full_gpu_asking(desk: Desk) -> str:
    import transformers

    desk.patch.setattr(transformers.Qwen2_5_VLForConditionalGeneration, "generate", _full)
    return desk.baseline({"plugin": "transformers", "model": str(checkpoint("qwen2_5_vl")), "device": "cpu"})


def full_gpu_editing(desk: Desk) -> str:
    import diffusers
    import torch

    instruction = {"id": "s0", "concept": "c", "positive": "Make it red."}
    (desk.folder / "i.jsonl").write_text(json.dumps(instruction) + "\n")
    desk.patch.setattr(torch.cuda, "device_count", lambda: 1)
    desk.patch.setattr(diffusers.StableDiffusionImg2ImgPipeline, "to", _full)
    model = str(editor_checkpoint("StableDiffusionImg2ImgPipeline"))
    editor = json.dumps({"plugin": "diffusers", "model": model, "device": "cuda"})
    files = ("--samples", desk.samples, "--instructions", desk.folder / "i.jsonl", "--out", desk.folder / "c.jsonl")
    return desk.run("edct", "counterfactuals", "--editor", editor, "--seed", 1, *files)


def doctor(desk: Desk) -> str:
    return desk.run("doctor", written(desk.folder, params(desk.folder, f"{NOWHERE}/v1")).parent)


HEADER = "img_path,query,answer,new query,new answer,type"
ROW = "a.png,Is it day?,yes,Would it be day if it was late?,no,boolean"
PUZZLES = {"plugin": "synthetic"}
CELL = "red circle"
LIKE_IT = {"source": CELL, "target": "red square", "pair": "ideal"}


def animals(desk: Desk, count: int = 1, side: int = 64, size: int = 32, mode: str = "RGB") -> str:
    """What `cfeval vce images` prints last of a folder with one image of a class."""
    (desk.folder / "animals" / "cat").mkdir(parents=True)
    PIL.Image.new(mode, (side, side)).save(desk.folder / "animals" / "cat" / "tom.png")
    source = json.dumps({"plugin": "folder", "path": str(desk.folder / "animals")})
    arguments = ["--label", "cat", "--count", count, "--size", size, "--seed", 1, "--out", desk.folder / "i.jsonl"]
    return desk.run("vce", "images", "--image-set", source, *arguments)


def explained(desk: Desk, group: dict[str, str] = LIKE_IT, size: int = 32) -> str:
    """What `cfeval vce counterfactuals` prints last about a built-in cell, or one enlarged."""
    cell = Image.from_pixels(np.zeros((size, size, 3), dtype=np.uint8))
    source = SourceImage(id="a", label=CELL, number=0, image=cell.ref("a.png"))
    file_with_images(desk.folder / "i.jsonl", [(source.id, source, {source.image.path: cell})])
    method = {"preset": "dbvce", "projection": "none", "respacing": "4"}
    return desk.run(
        *(
            "vce",
            "counterfactuals",
            "--images",
            desk.folder / "i.jsonl",
            "--seed",
            1,
            "--out",
            desk.folder / "c.jsonl",
        ),
        *("--denoiser", json.dumps({"plugin": "world"}), "--classifier", json.dumps({"plugin": "world"})),
        *("--method", json.dumps(method), "--groups", json.dumps([group])),
    )


def full_sampling(desk: Desk) -> str:
    from cfeval_testbed.models.cell_denoiser import CellDenoiser

    desk.patch.setattr(CellDenoiser, "forward", _full)
    return explained(desk)


def targets(desk: Desk, classifier: dict[str, Any], *more: object) -> str:
    return desk.run("vce", "targets", "--classifier", json.dumps(classifier), "--source", "cheetah", *more)


def weights_of_another(desk: Desk) -> str:
    import torch

    path = desk.folder / "mine.pt"
    torch.save({"features.0.0.weight": torch.zeros(16, 3, 3, 3)}, path)
    return targets(desk, {"plugin": "state_dict", "path": str(path), "architecture": "mobilenet_v3_small"})


def cvqa_set(desk: Desk, header: str = HEADER, row: str = ROW) -> dict[str, str]:
    """A set of one question about an image."""
    images = desk.folder / "images"
    images.mkdir(exist_ok=True)
    (images / "a.png").write_bytes(image(3).png)
    (desk.folder / "set.csv").write_text(f"{header}\n{row}\n")
    return {"plugin": "csv", "questions": str(desk.folder / "set.csv"), "images": str(images)}


def filing(of: dict[str, Any], name: str = "q", items: int = 1) -> list[object]:
    """The arguments that file a set."""
    return [
        "cvqa",
        "questions",
        "--set",
        json.dumps(of),
        "--items",
        items,
        "--seed",
        1,
        "--out",
        f"{name}.jsonl",
    ]


def filed(desk: Desk, of: dict[str, Any], name: str = "q", seed: int = 1) -> None:
    arguments = filing(of, name)
    arguments[arguments.index("--seed") + 1] = seed
    assert desk.cfeval(*arguments)[0] == 0


def generated(desk: Desk, *more: object) -> str:
    return desk.run("cvqa", "generate", "--count", 1, "--jobs", 1, *more)


def no_icons(desk: Desk) -> list[object]:
    (desk.folder / "icons").mkdir()
    return ["--out", "new", "--icons", "icons"]


def changed_image(desk: Desk) -> str:
    filed(desk, cvqa_set(desk))
    next((desk.folder / "q").iterdir()).write_bytes(image(5).png)
    return desk.run(*answering("q"))


def answering(name: str) -> list[object]:
    """The arguments that have a set answered."""
    spec = json.dumps({"plugin": "random"})
    files = ("--questions", f"{name}.jsonl", "--out", f"{name}-answers.jsonl")
    return ["cvqa", "answers", "--solver", spec, "--seed", 1, *files]


def scored(desk: Desk, own: dict[str, Any], other: dict[str, Any]) -> str:
    """What `cfeval cvqa scores` prints of answers to another set."""
    filed(desk, own, "own", seed=1)
    filed(desk, other, "other", seed=2)
    assert desk.cfeval(*answering("other"))[0] == 0
    files = ("--questions", "own.jsonl", "--answers", "other-answers.jsonl", "--out", "scores.jsonl")
    return desk.run("cvqa", "scores", *files)


def drafting(kind: str) -> list[object]:
    """The arguments that have drafts written about drawn scenes."""
    source = json.dumps({"plugin": "world", "kinds": [kind]})
    options = ("--question-generator", json.dumps({"plugin": "grammar"}), "--items", 2, "--seed", 1, "--out", "d.jsonl")
    return ["cvqa", "drafts", "--source", source, *options]


def decided(desk: Desk) -> list[object]:
    """A file of decisions that is there; the arguments that make it."""
    assert desk.cfeval(*drafting("count"))[0] == 0
    arguments: list[object] = ["cvqa", "decisions", "--drafts", "d.jsonl", "--out", "decisions.csv"]
    assert desk.cfeval(*arguments)[0] == 0
    return arguments


def odd_decision(desk: Desk) -> str:
    decided(desk)
    path = desk.folder / "decisions.csv"
    path.write_text(path.read_text(encoding="utf-8").replace(",,,,\n", ",perhaps,,,\n", 1), encoding="utf-8")
    files = ("--drafts", "d.jsonl", "--decisions", path, "--out", "built.jsonl")
    return desk.run("cvqa", "builds", *files)


def nobody_decides(desk: Desk) -> str:
    build = {"source": "s", "items": 1, "question_generator": "b", "question_validator": "c", "people": True}
    study = {
        "seed": 1,
        "sets": {"p": {"plugin": "synthetic"}},
        "solvers": {"a": {"plugin": "random"}},
        "sources": {"s": {"plugin": "world"}},
        "question_generators": {"b": {"plugin": "grammar"}},
        "question_validators": {"c": {"plugin": "scene"}},
        "builds": {"built": build},
        "conditions": [{"set": ["built"], "solver": ["a"]}],
    }
    return desk.check(with_("cvqa", study))


PRODUCED: dict[str, Callable[[Desk], str]] = {
    "The key is not set": no_key,
    "A vendor's package is not installed": no_package,
    "The key is wrong": wrong_key,
    "The key was copied with something else": odd_key,
    "The key may not do this": lambda desk: desk.scripted("http_403"),
    "No credit is left": lambda desk: desk.scripted("http_402"),
    "The budget of calls is reached": max_calls,
    "The budget of money is reached": max_cost,
    "The price of a model is not known": no_price,
    "The provider cannot be reached": unreachable,
    "The model does not exist": wrong_model,
    "The provider refuses every request": lambda desk: desk.scripted(*["http_422"] * 3),
    "Offline, a call is missing": offline,
    "The cache is not a cache": no_database,
    "The cache is of another version": newer_cache,
    "A stored call was changed": damaged_call,
    "The cache is locked": locked,
    "The cache's disk is full": cache_disk_full,
    "There is no cache": no_cache,
    "The disk is full": partial(unwritable, errno.ENOSPC),
    "The folder cannot be written": partial(unwritable, errno.EACCES),
    "A file stands in the way": a_file_in_the_way,
    "There is no parameter file": params_missing,
    "The parameter file is not YAML": lambda desk: desk.check("edct: ["),
    "The parameter file is empty": lambda desk: desk.check("# nothing yet\n"),
    "A key stands twice": lambda desk: desk.check("edct:\n  items: 3\nedct:\n  seed: 1\n"),
    "A key of a provider stands in the file": lambda desk: desk.check(
        with_("edct.vlms.m", {"plugin": "openai", "model": "m", "provider": "openrouter", "api_key": CANARY})
    ),
    "A name is no file name": lambda desk: desk.check(with_("edct.judges.my judge", {"plugin": "mock"})),
    "An unknown key": lambda desk: desk.check(with_("edct.itmes", 3)),
    "A value that is not allowed": lambda desk: desk.check(with_("edct.items", 0)),
    "An unknown plugin": lambda desk: desk.check(with_("edct.judges.j", {"plugin": "mok"})),
    "An unknown option": lambda desk: desk.check(with_("edct.judges.j", {"plugin": "mock", "treshold": 1})),
    "A table names what is not defined": lambda desk: desk.check(with_("edct.judges", {"jj": {"plugin": "mock"}})),
    "A condition cannot be made": photographs_for_the_scene_editor,
    "A file of a plugin is missing": lambda desk: desk.check(
        with_("edct.datasets.d", {"plugin": "samples", "path": "mine.jsonl"})
    ),
    "Nothing was scored": nothing_scored,
    "The model's folder is incomplete": folder_incomplete,
    "The hub cannot be reached": hub_unreachable,
    "There is no GPU": no_gpu,
    "The model does not fit into memory": full_gpu_loading,
    "Memory runs out on one request": full_gpu_asking,
    "Memory runs out while an editor loads": full_gpu_editing,
    "An image is too small": partial(animals, side=16),
    "An image has no color": partial(animals, mode="L"),
    "There are too few images of a class": partial(animals, count=2),
    "The images are not of the denoiser's size": partial(explained, size=64),
    "The classifier has no such class": partial(explained, group=LIKE_IT | {"target": "red sqare"}),
    "A class is its own target": partial(explained, group=LIKE_IT | {"target": CELL}),
    "The weights do not fit the architecture": weights_of_another,
    "Memory runs out on one image": full_sampling,
    "No row of the file can be used": lambda desk: desk.run(*filing(cvqa_set(desk, row=ROW.replace("yes", "maybe")))),
    "A column is missing": lambda desk: desk.run(*filing(cvqa_set(desk, HEADER.replace("type", "kind")))),
    "No image of the set is there": lambda desk: desk.run(*filing(cvqa_set(desk) | {"images": "elsewhere"})),
    "The folder for puzzles is not empty": lambda desk: generated(desk, "--out", desk.folder),
    "The folder of icons holds no images": lambda desk: generated(desk, *no_icons(desk)),
    "The images were changed": changed_image,
    "The answers are to another set": lambda desk: scored(desk, cvqa_set(desk), PUZZLES),
    "The answers are to other questions of the same names": lambda desk: scored(desk, PUZZLES, PUZZLES),
    "No original can be turned": lambda desk: desk.run(*drafting("color")),
    "The file of decisions exists": lambda desk: desk.run(*decided(desk)),
    "A decision cannot be read": odd_decision,
    "People are to decide, and no file is named": nobody_decides,
    "Something will not work": doctor,
}


def test_the_page_has_a_row_for_each_and_no_other() -> None:
    assert list(ROWS) == list(PRODUCED)


@pytest.mark.parametrize("heading", list(PRODUCED))
def test_the_line_on_the_page_is_the_one_that_is_printed(heading: str, desk: Desk) -> None:
    line = ROWS.get(heading, "")
    printed = PRODUCED[heading](desk)
    pattern = ".+?".join(re.escape(part) for part in re.split(r"<[^<>]+>", line))
    assert re.fullmatch(pattern, printed), f"the page has\n{line}\nbut it prints\n{printed}"


def test_every_row_says_what_to_do() -> None:
    for heading, line in ROWS.items():
        after = PAGE.partition(f"```text\n{line}\n```\n\n")[2].partition("\n#")[0]
        assert len(after.split()) >= 8, f"{heading}: say what to do"


def test_every_status_is_explained() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|(.*?)\|$", PAGE, re.MULTILINE)
    assert {name: (happened, remedy.strip()) for name, happened, remedy in rows} == dict(MEANINGS)
    assert set(MEANINGS) == set(Status)
