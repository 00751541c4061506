"""Every provider by its common name: `cfeval init` takes it, writes what `cfeval check` accepts, and says whose key."""

from pathlib import Path

import pytest
import yaml
from bench.docs import providers as tables

from cfeval.core import registry
from cfeval.core.errors import InputError, ParamsError
from cfeval.inference.remote.provider_table import PROVIDERS, find_provider, way
from cfeval.inference.remote.providers import on_own_network
from cfeval.study import init
from cfeval.study.models import DEFAULTS, SMALLEST_EDITOR, Model, model, roles
from tests.conftest import Run
from tests.study.service import photographs
from tests.test_docs import PAGES

CHATS = [name for name, rules in PROVIDERS.items() if rules.chat]
EDITS = [name for name, rules in PROVIDERS.items() if rules.edits]
SPELLED = {alias: name for name, rules in PROVIDERS.items() for alias in (name, *rules.aliases)}
ASKED_FOR = (
    *("openai", "azure", "openrouter", "gemini", "google", "anthropic", "bedrock", "groq", "together", "fireworks"),
    *("mistral", "deepseek", "xai", "cohere", "perplexity", "huggingface", "hf", "nvidia", "ollama", "lmstudio"),
    *("vllm", "sglang", "llama_cpp", "llama-cpp", "llamacpp", "transformers", "litellm", "other"),
)
"""The common names of issue 37."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with photographs in it; no key is set, and nobody is asked."""
    monkeypatch.chdir(tmp_path)
    for rules in PROVIDERS.values():
        if rules.key_env:
            monkeypatch.delenv(rules.key_env, raising=False)
    photographs(tmp_path / "photos", 1)
    return tmp_path


def started(cfeval: Run, *options: str) -> tuple[str, dict[str, dict[str, dict[str, object]]]]:
    """What `init` prints, and the section edct that it writes; `check` accepts it."""
    words = ["--images", "photos", "--question", "What is it?", *options]
    status, out, err = cfeval("init", "s", *words)
    assert status == 0, err
    written = yaml.safe_load(Path("s/params.yaml").read_text(encoding="utf-8"))["edct"]
    return out, written


def checked(cfeval: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("s")
    status, _, err = cfeval("check")
    assert status == 0, err


def spellings(name: str) -> set[str]:
    return {name, name.upper(), name.title(), name.replace("_", "-"), name.replace("_", ""), name.replace("_", ".")}


def test_every_common_name_is_one_of_the_table() -> None:
    assert [name for name in ASKED_FOR if not find_provider(name)] == []
    named = [each for name in SPELLED for each in spellings(name)]
    assert all(find_provider(each) == SPELLED[name] for name in SPELLED for each in spellings(name))
    assert len({each.lower().replace("-", "").replace("_", "").replace(".", "") for each in named}) == len(SPELLED)


@pytest.mark.parametrize("name", sorted(set(CHATS) | {alias for alias, name in SPELLED.items() if name in CHATS}))
def test_init_writes_a_study_of_every_provider_that_check_accepts(
    name: str, cfeval: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = find_provider(name)
    rules = PROVIDERS[known]
    written_as = name.replace("_", "-").upper() + way(known).removeprefix(known)
    out, edct = started(cfeval, "--model", written_as)
    [spec] = edct["vlms"].values()
    assert spec["plugin"] == rules.chat
    if rules.chat == "openai":
        assert spec["provider"] == known
    if rules.key_env:
        assert f"{rules.key_env}=" in (place / "s/.env.example").read_text(encoding="utf-8").splitlines()
        assert rules.key_env in out
    checked(cfeval, monkeypatch)


@pytest.mark.parametrize("name", CHATS)
def test_every_provider_may_write_gate_verify_and_judge(
    name: str, cfeval: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = [word for role in ("writer", "gate", "verifier", "judge") for word in (f"--{role}", way(name))]
    _, edct = started(cfeval, "--model", "openrouter/m", *named)
    assert edct["judges"]["judge"]["model"]["plugin"] == PROVIDERS[name].chat  # type: ignore[index]
    checked(cfeval, monkeypatch)


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_provider_edits_images_or_says_who_does(
    name: str, cfeval: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--model", "openrouter/m", "--editor", way(name))
    if name in EDITS:
        _, edct = started(cfeval, *words)
        assert edct["editors"]["gated"]["editor"]["plugin"] == PROVIDERS[name].edits  # type: ignore[index]
        checked(cfeval, monkeypatch)
        return
    status, _, err = cfeval("init", "s", "--images", "photos", "--question", "?", *words)
    assert (status, err.count("\n"), (place / "s").exists()) == (2, 1, False)
    assert f"edit no images here; name an editor of {', '.join(EDITS)}" in err


@pytest.mark.parametrize("name", CHATS)
def test_an_address_overrides_that_of_the_provider(name: str) -> None:
    made = model(f"{name}/a/b@http://cellar:9000/v1/")
    assert made.base_url == "http://cellar:9000/v1"
    spec = made.chat()
    assert spec["base_url"] == "http://cellar:9000/v1"
    registry.check("chat", spec, "here")
    assert spec["plugin"] == ("openai" if PROVIDERS[name].protocol else PROVIDERS[name].chat)
    assert model(f"{name}/a/b", base_url="http://cellar:9000/v1") == made


@pytest.mark.parametrize("name", [name for name, rules in PROVIDERS.items() if rules.protocol])
def test_params_name_a_provider_as_people_spell_it(name: str) -> None:
    for spelled in spellings(name):
        spec = {"plugin": "openai", "provider": spelled, "model": "m", "base_url": "http://localhost:1/v1"}
        registry.check("chat", spec, "here")


@pytest.mark.parametrize("name", [name for name in CHATS if len(name) > 4])
def test_a_name_with_a_letter_missing_is_told_as_it_should_be(name: str, cfeval: Run, place: Path) -> None:
    wrong = name[:2] + name[3:]
    status, _, err = cfeval("init", "s", "--images", "photos", "--question", "?", "--model", f"{wrong}/m")
    assert (status, err.count("\n")) == (2, 1)
    assert f"no provider '{wrong}'; did you mean '{name}'?" in err
    assert "Any other provider: litellm/PROVIDER/MODEL or other/MODEL@http" in err
    if PROVIDERS[name].protocol:
        with pytest.raises(ParamsError, match=f"did you mean '{name}'"):
            registry.check("chat", {"plugin": "openai", "provider": wrong, "model": "m"}, "here")


def test_a_provider_of_another_protocol_names_its_plugin() -> None:
    with pytest.raises(ParamsError, match="write plugin: anthropic"):
        registry.check("chat", {"plugin": "openai", "provider": "Anthropic", "model": "m"}, "here")


@pytest.mark.parametrize("text", ["ollama/llava@localhost:11434/v1", "http://localhost:11434/v1/llava", "litellm/m"])
def test_a_model_that_is_written_wrong_is_one_line(text: str) -> None:
    with pytest.raises(InputError, match=r"a model is written|LiteLLM needs the provider too"):
        model(text)


def test_a_checkpoint_in_a_folder_is_named_as_seen_from_the_study(
    cfeval: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "models/own").mkdir(parents=True)
    (place / "models/own/config.json").write_text("{}")
    _, edct = started(cfeval, "--model", "transformers/models/own")
    assert edct["vlms"]["own"]["model"] == "../models/own"


LOCAL = [
    way(name) for name in CHATS if on_own_network(PROVIDERS[name].base_url) or PROVIDERS[name].chat in "transformers"
]
LOCAL += ["other/m@http://127.0.0.1:9/v1", "vllm/m@http://cellar:8000/v1", "other/m@http://192.168.1.7:8000/v1"]
LOCAL += [
    "anthropic/m@http://localhost:4000",
    "litellm/ollama/llava",
    "litellm/ollama_chat/llava",
    "groq/m@http://[::1]:9",
]


@pytest.mark.parametrize("text", LOCAL)
def test_a_local_model_has_local_helpers_and_init_says_so(text: str, cfeval: Run, place: Path) -> None:
    out, edct = started(cfeval, "--model", text)
    target = next(iter(edct["vlms"].values()))
    same = {key: value for key, value in target.items() if key not in ("temperature", "max_pixels")}
    helpers = [edct["judges"]["judge"], edct["instruction_writers"]["writer"], edct["verifiers"]["own"]]
    helpers.append(edct["editors"]["gated"]["verifier"])  # type: ignore[arg-type]
    assert all(same.items() <= one["model"].items() for one in helpers)  # type: ignore[attr-defined]
    assert edct["editors"]["gated"]["editor"]["plugin"] == "diffusers"  # type: ignore[index]
    assert "openrouter" not in (place / "s/params.yaml").read_text(encoding="utf-8")
    assert "it writes, checks and judges its own" in (place / "s/params.yaml").read_text(encoding="utf-8")
    assert "The model under test also judges itself; a different judge is better: --judge" in out
    assert f"a GPU with 22 GiB; smaller, with worse edits: {SMALLEST_EDITOR.name}" in out


@pytest.mark.parametrize(
    "text", ["openrouter/m", "groq/m", "ollama/qwen3-vl:235b-cloud", "other/m@https://api.acme.ai/v1"]
)
def test_a_hosted_model_has_hosted_helpers_and_init_says_so(text: str, cfeval: Run, place: Path) -> None:
    out, _ = started(cfeval, "--model", text)
    assert "Images and texts go to openrouter.ai: " in out
    assert "Only texts go to openrouter.ai: google/gemini-2.5-pro" in out
    assert "Nothing leaves this machine" not in out
    if "cloud" in text:
        assert "Images and texts go to ollama.com: qwen3-vl:235b-cloud" in out


def test_helpers_of_a_local_model_that_are_named_are_taken(cfeval: Run, place: Path) -> None:
    out, edct = started(cfeval, "--model", "ollama/llava", "--judge", "openai/gpt-4o", "--editor", "bfl/flux-2-pro")
    assert edct["verifiers"]["own"] == {
        "plugin": "semantic",
        "model": {"plugin": "openai", "provider": "openai", "model": "gpt-4o", "max_pixels": 1_000_000},
    }
    assert "judges itself" not in out
    assert "Images and texts go to localhost:11434, on this machine: llava\n" in out
    assert "Images and texts go to api.bfl.ai: flux-2-pro\n" in out
    assert "Images and texts go to api.openai.com: gpt-4o\n" in out


def test_on_a_terminal_the_helpers_of_a_local_model_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    given = dict.fromkeys(("writer", "editor", "gate", "verifier", "judge"), "")
    local = model("ollama/llava")
    for answer in (True, False):
        monkeypatch.setattr("typer.confirm", lambda text, default, answer=answer: asked.append(text) or answer)
        assert init.Answers(terminal=True).hosted_helpers(local, given) is not answer
    assert asked[0] == (
        "Use the model itself and the editor black-forest-labs/FLUX.2-klein-4B? "
        "Otherwise, models at OpenRouter receive images and texts."
    )
    assert "llava is local. Nobody is named as writer, editor, gate, verifier, judge." in capsys.readouterr().out
    assert not init.Answers(terminal=False).hosted_helpers(local, given)
    assert not init.Answers(terminal=True).hosted_helpers(model("groq/m"), given)
    assert not init.Answers(terminal=True).hosted_helpers(
        local, {**dict.fromkeys(given, ""), "writer": "x", "editor": "x", "judge": "x"}
    )
    assert len(asked) == 2
    assert roles([local], {}, hosted=True).judge.provider == "openrouter"


def test_a_gateway_on_this_machine_has_the_helpers_of_its_provider() -> None:
    by = roles([model("openrouter/m", base_url="http://localhost:4000/v1")], {})
    assert {one.base_url for one in by.all()} == {"http://localhost:4000/v1"}
    assert by.judge.model == DEFAULTS["openrouter"]["judge"].removeprefix("openrouter/")


@pytest.mark.parametrize("page", tables.PAGES)
def test_the_tables_of_the_docs_are_those_of_the_code(page: str) -> None:
    assert tables.BEGIN in PAGES[page]
    assert tables.renewed(PAGES[page], page) == PAGES[page], "run `python -m bench.docs.providers`"


def test_the_readme_shows_ten_of_them() -> None:
    assert len(tables.FIRST) == 10
    assert isinstance(model(way("ollama")), Model)
