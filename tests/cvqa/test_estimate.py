"""What the tables are told of answerers and sets, from params.yaml alone."""

from typing import Any

import pytest

from cfeval.cvqa.config import Cvqa
from cfeval.cvqa.estimate import answerer_facts, set_facts
from cfeval.cvqa.tables.replies import AnswererFacts, SetFacts

LLAVA = {"backend": "openai", "model": "llava", "provider": "openrouter"}
CODER = {"backend": "openai", "model": "lab/coder", "provider": "openrouter"}
EYES = {"backend": "transformers", "detector": "a/detector"}
ANSWERERS: dict[str, dict[str, Any]] = {
    "llava": {"backend": "chat", "family": "llava", "model": LLAVA, "paper": "LLaVA-1.5-13B"},
    "llava-cot": {"backend": "chat", "family": "llava", "model": LLAVA, "cot": True},
    "lonely-cot": {"backend": "chat", "family": "blip", "model": LLAVA, "cot": True},
    "viper": {"backend": "program", "programmer": {"backend": "chat", "model": CODER}, "vision": EYES},
    "grammar": {"backend": "program", "programmer": {"backend": "grammar"}, "vision": EYES},
    "blind": {
        "backend": "program",
        "programmer": {"backend": "chat", "model": CODER},
        "vision": {"backend": "puzzle"},
    },
    "chance": {"backend": "random"},
    "world": {"backend": "chat", "model": {"backend": "world"}},
    "theirs": {"backend": "responses", "path": "their.csv"},
    "their-viper": {"backend": "responses", "path": "codes.csv", "llm": "CodeLlama"},
}


def study(**changes: Any) -> Cvqa:
    content = {
        "seed": 1,
        "sets": {
            "real": {"backend": "csv", "questions": "q.csv", "images": "i"},
            "tenth": {"backend": "csv", "questions": "q.csv", "images": "i", "share": 0.1},
            "synthetic": {"backend": "synthetic"},
        },
        "answerers": ANSWERERS,
        "arms": [{"set": ["real"], "answerer": ["llava"]}],
    }
    return Cvqa.model_validate(content | changes)


def facts(name: str) -> AnswererFacts:
    return AnswererFacts(**answerer_facts(study())[name])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llava", AnswererFacts(paper="LLaVA-1.5-13B")),
        ("llava-cot", AnswererFacts(cot=True, twin="llava")),
        ("lonely-cot", AnswererFacts(cot=True)),
        ("viper", AnswererFacts("program", llm="lab/coder")),
        ("grammar", AnswererFacts("program", llm="grammar", test_world=True)),
        ("blind", AnswererFacts("program", llm="lab/coder", test_world=True)),
        ("chance", AnswererFacts("random", test_world=True)),
        ("world", AnswererFacts(test_world=True)),
        ("theirs", AnswererFacts()),
        ("their-viper", AnswererFacts("program", llm="CodeLlama")),
    ],
)
def test_an_answerer_is_told_by_what_it_is_made_of(name: str, expected: AnswererFacts) -> None:
    assert facts(name) == expected


def test_a_share_of_a_set_is_a_subset() -> None:
    told = {name: SetFacts(**of) for name, of in set_facts(study()).items()}
    assert told == {"real": SetFacts(), "tenth": SetFacts(subset=True), "synthetic": SetFacts()}


def test_a_twin_differs_in_nothing_but_the_chain_of_thought() -> None:
    others = {
        "plain": {"backend": "chat", "model": LLAVA},
        "other-model": {"backend": "chat", "cot": True, "model": CODER},
        "said-so": {"backend": "chat", "cot": True, "model": LLAVA},
        "no-cot": {"backend": "chat", "cot": False, "model": LLAVA},
    }
    arms = [{"set": ["real"], "answerer": ["plain"]}]
    told = answerer_facts(study(answerers=others, arms=arms))
    assert {name: of["twin"] for name, of in told.items()} == {
        "plain": "",
        "other-model": "",
        "said-so": "plain",
        "no-cot": "",
    }
