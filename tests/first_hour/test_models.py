"""Whose model: by the names that people type; and who gets to see the photographs."""

import pytest

from tests.first_hour.person import Person
from tests.first_hour.stories import options
from tests.loopback.site import Loopback

TYPED = {
    "openai/gpt-4o": "OPENAI_API_KEY",
    "openrouter/google/gemini-2.5-flash": "OPENROUTER_API_KEY",
    "anthropic/claude-sonnet-4-5": "ANTHROPIC_API_KEY",
    "google/gemini-2.5-flash": "GEMINI_API_KEY",
    "groq/meta-llama/llama-4-scout-17b-16e-instruct": "GROQ_API_KEY",
    "mistral/pixtral-large-latest": "MISTRAL_API_KEY",
    "together/Qwen/Qwen2.5-VL-72B-Instruct": "TOGETHER_API_KEY",
    "fireworks/accounts/fireworks/models/qwen2p5-vl-32b-instruct": "FIREWORKS_API_KEY",
    "xai/grok-4": "XAI_API_KEY",
    "hf/Qwen/Qwen2.5-VL-7B-Instruct": "HF_TOKEN",
    "ollama/llava": "",
    "lmstudio/qwen2.5-vl-7b": "",
    "vllm/Qwen/Qwen2.5-VL-7B-Instruct@http://127.0.0.1:8000/v1": "",
    "llama-cpp/smolvlm@http://127.0.0.1:8080/v1": "",
    "transformers/Qwen/Qwen2.5-VL-3B-Instruct": "",
}
"""What people write, and the variable that holds the key; empty: none is needed."""


@pytest.mark.parametrize("name", TYPED)
def test_init_takes_the_name_and_writes_a_study_that_can_be_checked(person: Person, name: str) -> None:
    said = person.does(f'cfeval init mine --images photos --question "What is it?" --model {name}')
    wanted = (person.folder / "mine/.env.example").read_text()
    assert TYPED[name] in wanted
    if not TYPED[name]:  # the editor of a model on one's own machine runs there too, by packages beside the core
        assert "pip install 'cfeval[local]'" in said.text
        assert person.types("cfeval check mine").one_line().endswith("pip install 'cfeval[local]'")
    else:
        person.does("cfeval check mine")
    assert "cfeval run mine" in said.offered


def test_a_mistyped_provider_is_put_right(person: Person) -> None:
    line = person.types('cfeval init mine --images photos --question "What is it?" --model olama/llava').one_line()
    assert "ollama" in line
    assert not (person.folder / "mine").exists()


def test_a_model_of_this_machine_keeps_the_photographs_here(person: Person, provider: Loopback) -> None:
    said = person.does(f'cfeval init mine --images photos --question "What?" --model other/vlm-a@{provider.openai}')
    assert "openrouter.ai" not in (person.folder / "mine/params.yaml").read_text()
    assert "OPENROUTER_API_KEY" not in said.text
    assert "this machine" in said.text


def test_who_gets_images_and_who_texts_is_said_before_anything_is_sent(person: Person, provider: Loopback) -> None:
    person.does(f"cfeval init mine {options(provider)} --judge openrouter/google/gemini-2.5-pro")
    ran = person.with_(OPENROUTER_API_KEY="of no value").types("cfeval run mine < /dev/null")
    assert ran.status == 2
    assert "openrouter.ai" in ran.text
    assert "127.0.0.1" in ran.text
    assert "images" in ran.text.lower()


def test_a_password_in_an_address_is_not_shown(person: Person) -> None:
    name = "other/llava@http://kim:hunter2@127.0.0.1:8000/v1"
    tried = person.types(f'cfeval init mine --images photos --question "What?" --model {name}')
    assert "hunter2" not in tried.text
    assert tried.status == 2
