"""A password or key in an address is never printed or written, wherever it stands; the refusal says what to do."""

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from cfeval.core.errors import CfevalError, shown
from cfeval.inference.remote.providers import checked_base_url
from tests.conftest import Run
from tests.study.service import photographs

LEFT, RIGHT = "Zwiebel", "Kuchen7"
"""Both halves of the secret; what stands between them may break an address in two."""
SEPARATORS = ("", "/", "@", "#", "?", ":", " ", "%40", "\\", "'", '"', "&", "=", "\t", "ü")
SHAPES = {
    "user and password": "http://anna:{}@far.example/v1",
    "user alone": "http://{}@far.example:8000/v1",
    "password alone": "https://:{}@far.example/v1",
    "numeric port": "http://anna:80/{}@far.example/v1",
    "scheme in capitals": "HTTP://anna:{}@far.example/v1",
    "no scheme": "anna:{}@far.example/v1",
    "no host": "http://anna:{}@/v1",
    "another scheme": "ftp://anna:{}@far.example/v1",
    "IPv6": "http://anna:{}@[::1]:8000/v1",
    "api_key": "https://far.example/v1?api_key={}",
    "key": "https://far.example/v1?a=b&key={}",
    "fragment": "https://far.example/v1#{}",
    "path parameter": "https://far.example/v1/token={}",
    "port too large": "http://anna:{}@far.example:99999/v1",
    "encoded host": "http://anna%3A{}%40far.example/v1",
}
ADDRESSES = [
    pytest.param(shape.format(f"{LEFT}{separator}{RIGHT}"), id=f"{name} {separator!r}")
    for (name, shape), separator in product(SHAPES.items(), SEPARATORS)
]
FEW = [shape.format(LEFT + separator + RIGHT) for shape, separator in product(SHAPES.values(), ("", "/", " "))]
PLUGINS = {
    "openai": {"plugin": "openai", "model": "m"},
    "anthropic": {"plugin": "anthropic", "model": "m"},
    "google": {"plugin": "google", "model": "m"},
    "litellm": {"plugin": "litellm", "model": "p/m"},
}
EDITORS = {name: {"plugin": name} for name in ("openai_image", "openrouter_image", "bfl")}


def clean(*texts: str) -> None:
    """No text holds a part of the secret."""
    for text in texts:
        assert LEFT not in text, text
        assert RIGHT not in text, text


def files_are_clean(folder: Path, *but: str) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in but:
            clean(path.read_bytes().decode(errors="replace"))


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_with_a_secret_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(ValueError, match="base_url must") as caught:
        checked_base_url(address)
    clean(str(caught.value))
    clean(shown({"base_url": address, "api_key": LEFT, "of": [address]}))
    if "@" in address and "://" in address:
        assert "key_env" in str(caught.value)


@pytest.mark.parametrize(
    "address", ["http://localhost:8000/v1", "https://a-b.example.co/x/y/", "http://[::1]:80/v1", ""]
)
def test_an_address_alone_is_taken(address: str) -> None:
    assert checked_base_url(address) == address.rstrip("/")


@pytest.mark.parametrize("address", FEW)
def test_init_writes_no_study_with_a_secret(
    address: str, cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    photographs(tmp_path / "photos", 1)
    words = ["init", "s", "--images", "photos", "--question", "?"]
    for more in (
        ["--model", f"vllm/m@{address}"],
        ["--model", f"openrouter/m@{address}"],
        ["--model", f"@{address}"],
        ["--model", address],
        ["--model", "vllm/m", "--base-url", address],
        ["--model", "anthropic/m", "--base-url", address],
        ["--model", "groq/m", "--judge", f"other/m@{address}"],
        ["--model", "groq/m", "--editor", f"other/m@{address}"],
        ["--provider", address, "--model", "m"],
    ):
        status, out, err = cfeval(*words, *more)
        assert (status, err.count("\n")) == (2, 1), more
        clean(out, err)
        assert not (tmp_path / "s").exists()


def params(**changes: dict[str, object]) -> str:
    """A study's parameters as JSON, which is YAML."""
    model = {"plugin": "openai", "provider": "other", "model": "m", "base_url": "http://127.0.0.1:1/v1"}
    of = {
        "vlm": model,
        "editor": {"plugin": "openai_image", "base_url": "http://127.0.0.1:1/v1"},
        "judge": {"plugin": "chat", "model": model},
        **changes,
    }
    sections = {
        "datasets": {"d": {"plugin": "files", "path": "photos", "question": "?"}},
        "vlms": {"v": of["vlm"]},
        "instruction_writers": {"w": {"plugin": "chat", "model": model}},
        "editors": {"e": of["editor"]},
        "judges": {"j": of["judge"]},
    }
    return json.dumps({"edct": sections}, ensure_ascii=False)


def studies(address: str) -> list[str]:
    """Parameters with a secret address in every place that may hold one, and in some that people mistype."""
    texts = [params(vlm={**spec, "base_url": address}) for spec in PLUGINS.values()]
    texts += [params(editor={**spec, "base_url": address}) for spec in EDITORS.values()]
    texts += [params(judge={"plugin": "chat", "model": {**PLUGINS["openai"], "base_url": address}})]
    texts += [params(judge={"plugin": "chat", "model": address})]
    texts += [params(judge={"plugin": "panel", "judges": {"plugin": "chat", "base_url": address}})]
    texts += [params(vlm={**PLUGINS["openai"], f"base_url:{address}": None})]
    texts += [params(vlm={**PLUGINS["openai"], "base_url": [address]})]
    texts += [params(vlm={**PLUGINS["openai"], "provider": address})]
    texts += [params(vlm={"plugin": address, "model": "m"})]
    return texts


@pytest.mark.parametrize("address", FEW)
def test_no_command_prints_or_writes_a_secret_in_params(
    address: str, cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    photographs(tmp_path / "photos", 1)
    for text in studies(address):
        Path("params.yaml").write_text(text, encoding="utf-8")
        status, out, err = cfeval("check")
        assert (status, err.count("\n")) == (2, 1), text
        clean(out, err)
    for text in studies(address)[:2]:
        Path("params.yaml").write_text(text, encoding="utf-8")
        for command in ("doctor", "estimate", "status"):
            status, out, err = cfeval(command)
            assert status == 2, command
            clean(out, err)
        status, out, err = cfeval("run", ".", "--yes")
        assert status == 2
        clean(out, err)
    files_are_clean(tmp_path, "params.yaml")


@pytest.mark.parametrize("address", FEW)
def test_a_step_by_itself_and_the_list_of_prices_refuse_a_secret_too(
    address: str, cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    photographs(tmp_path / "photos", 1)
    dataset = '{"plugin": "files", "path": "photos", "question": "?"}'
    assert cfeval("edct", "items", "--dataset", dataset, "--items", 1, "--seed", 1, "--out", "i.jsonl")[0] == 0
    spec = json.dumps({**PLUGINS["openai"], "base_url": address})
    status, out, err = cfeval(
        "edct", "baselines", "--samples", "i.jsonl", "--vlm", spec, "--seed", 1, "--out", "b.jsonl"
    )
    assert status == 2
    clean(out, err)
    status, out, err = cfeval("prices", "--refresh", "--base-url", address)
    assert status == 2
    clean(out, err)
    assert "--base-url: base_url must" in err
    files_are_clean(tmp_path)


@pytest.mark.slow
def test_snakemake_prints_no_secret_either(tmp_path: Path) -> None:
    photographs(tmp_path / "photos", 1)
    (tmp_path / "params.yaml").write_text(studies(FEW[0])[0], encoding="utf-8")
    snakefile = Path(__file__).parents[2] / "Snakefile"
    words = [sys.executable, "-m", "snakemake", "-n", "-p", "--snakefile", str(snakefile)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "CI": "1"})
    assert done.returncode
    assert "key_env" in done.stdout + done.stderr
    clean(done.stdout, done.stderr)
    files_are_clean(tmp_path, "params.yaml")


@pytest.mark.parametrize(
    "text",
    [
        f"https://anna:{LEFT}/{RIGHT}@far.example/v1 cannot be reached",
        f"'http://far.example/v1?api_key={LEFT}{RIGHT}': HTTP 404",
        f"http://far.example/v1?x=1&access_token={LEFT}{RIGHT} and more",
    ],
)
def test_no_error_repeats_a_secret_of_an_address(text: str) -> None:
    said = str(CfevalError(text))
    clean(said)
    assert "far.example/v1" in said
