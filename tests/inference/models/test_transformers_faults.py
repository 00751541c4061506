"""What keeps a local model from being used is one line that says what to do; nothing of it is a traceback."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from cfeval.core import registry
from cfeval.core.errors import PluginError
from tests.tiny.vlms import checkpoint

Break = Callable[[Path], None]


def remove(*names: str) -> Break:
    def broken(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return broken


def rewrite(name: str, **values: Any) -> Break:
    def broken(folder: Path) -> None:
        content = json.loads((folder / name).read_text()) if (folder / name).exists() else {}
        (folder / name).write_text(json.dumps({**content, **values}))

    return broken


def cut_short(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


def leave_a_pointer(folder: Path) -> None:
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")


def pickle_instead(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def forget_a_weight(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["lm_head.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def lose_a_shard(folder: Path) -> None:
    kept = {"embed": "model.safetensors", "head": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": kept}))


def own_code(folder: Path) -> None:
    rewrite("config.json", model_type="own", auto_map={"AutoConfig": "own.Config"})(folder)


BROKEN: dict[str, tuple[Break, str]] = {
    "config": (remove("config.json"), r"incomplete: config.json is missing"),
    "shard": (lose_a_shard, r"incomplete: model-00002-of-00002.safetensors is missing, which the index names"),
    "cut": (cut_short, r"incomplete: model.safetensors is cut short"),
    "pointer": (leave_a_pointer, r"incomplete: model.safetensors is cut short or no safetensors file"),
    "weights": (remove("model.safetensors"), r"incomplete: the weights .* are missing"),
    "pickled": (pickle_instead, r"in other formats \(\*\.bin, \*\.gguf\) they are not read, convert them"),
    "tokenizer": (remove("tokenizer.json", "tokenizer_config.json"), r"incomplete: the tokenizer is missing"),
    "processor": (remove("processor_config.json"), r"incomplete: the image processor is missing"),
    "not JSON": (lambda folder: (folder / "config.json").write_text("{") and None, r"config.json is not JSON"),
    "weight": (forget_a_weight, r"incomplete: 1 weights of its architecture are in no file \(lm_head.weight"),
    "template": (remove("chat_template.jinja"), r"no chat template; take the instruction-tuned"),
    "code": (own_code, r"brings Python code of its own, which is never run"),
    "type": (rewrite("config.json", model_type="tomorrow"), r"cannot be loaded by transformers 5.*`tomorrow`"),
}
SEEN_BEFORE_LOADING = set(BROKEN) - {"weight", "template", "code", "type"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(checkpoint("qwen2_5_vl"), tmp_path / "tiny-vlm")


def spec(model: Path | str, **options: Any) -> dict[str, Any]:
    return {"plugin": "transformers", "model": str(model), "device": "cpu", **options}


def fault(model: Path | str, **options: Any) -> str:
    """The error of a build: one line, which names no folder of this machine but what the user wrote."""
    with pytest.raises(PluginError) as caught:
        registry.build("chat", spec(model, **options))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("what", BROKEN)
def test_a_folder_that_is_no_whole_checkpoint_says_what_is_missing(what: str, folder: Path) -> None:
    breaking, expected = BROKEN[what]
    breaking(folder)
    assert re.search(expected, fault(folder))
    found = list(registry.diagnose("chat", spec(folder)))
    assert [finding.fine for finding in found if "incomplete" in finding.text] == (
        [False] if what in SEEN_BEFORE_LOADING else []
    )


@pytest.mark.parametrize(
    ("package", "options"),
    [("flash_attn", {"attention": "flash_attention_2"}), ("accelerate", {"device": "auto", "device_map": "auto"})],
)
def test_a_package_that_is_not_installed_is_named(
    package: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    from cfeval.inference.local import libraries as packages

    monkeypatch.setattr(packages, "find_spec", lambda name: None if name == package else object())
    expected = f"needs the package '{package.replace('_', '-')}'; install it, or set"
    assert expected in fault(folder, **options)
    assert not next(registry.diagnose("chat", spec(folder, **options))).fine


def test_a_package_that_the_library_misses_is_named(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    import transformers

    def missing(*arguments: object, **options: object) -> None:
        raise ImportError("\nTinyProcessor requires the Torchvision library but it was not found.\nCheckout …")

    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", missing)
    assert fault(folder) == (
        "model 'tiny-vlm' needs a package that is not installed: "
        "TinyProcessor requires the Torchvision library but it was not found."
    )


def test_a_model_too_large_for_memory_is_seen_before_and_while_loading(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    import torch
    import transformers
    from psutil import virtual_memory

    little = virtual_memory()._replace(available=1000)
    monkeypatch.setattr("psutil.virtual_memory", lambda: little)
    (found,) = [finding for finding in registry.diagnose("chat", spec(folder)) if not finding.fine]
    assert "set dtype: bfloat16, device_map: auto, or take a smaller model" in found.text

    def full(*arguments: object, **options: object) -> None:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.\nSee …")

    monkeypatch.setattr(transformers.AutoModelForImageTextToText, "from_pretrained", full)
    assert "out of memory while loading model 'tiny-vlm'; set dtype: bfloat16" in fault(folder)


def test_limits_on_pixels_that_cannot_have_an_effect_are_refused() -> None:
    text_only, options = checkpoint("llama"), {"max_pixels": 100}
    expected = "model 'tiny-llama' reads text only; leave min_pixels and max_pixels out"
    assert fault(text_only, **options) == expected
    assert [f.text for f in registry.diagnose("chat", spec(text_only, **options)) if not f.fine] == [expected]


def test_the_doctor_says_how_a_limit_on_pixels_is_kept(folder: Path) -> None:
    findings = list(registry.diagnose("chat", spec(folder, max_pixels=100)))
    assert all(finding.fine for finding in findings)
    assert [finding for finding in findings if "at most 100 pixels" in finding.text]
