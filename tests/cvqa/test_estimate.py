"""What the tables are told of solvers and sets, from params.yaml alone."""

from typing import Any

import pytest

from cfeval.cvqa.config import Cvqa
from cfeval.cvqa.estimate import cvqa_lines
from cfeval.cvqa.interfaces import Sizes
from cfeval.cvqa.step_params import set_facts, solver_facts
from cfeval.cvqa.tables.replies import SetFacts, SolverFacts

LLAVA = {"plugin": "openai", "model": "llava", "provider": "openrouter"}
CODER = {"plugin": "openai", "model": "lab/coder", "provider": "openrouter"}
EYES = {"plugin": "transformers", "detector": "a/detector"}
SOLVERS: dict[str, dict[str, Any]] = {
    "llava": {"plugin": "chat", "family": "llava", "model": LLAVA, "paper": "LLaVA-1.5-13B"},
    "llava-cot": {"plugin": "chat", "family": "llava", "model": LLAVA, "cot": True},
    "lonely-cot": {"plugin": "chat", "family": "blip", "model": LLAVA, "cot": True},
    "viper": {"plugin": "program", "program_generator": {"plugin": "chat", "model": CODER}, "vision": EYES},
    "grammar": {"plugin": "program", "program_generator": {"plugin": "grammar"}, "vision": EYES},
    "blind": {
        "plugin": "program",
        "program_generator": {"plugin": "chat", "model": CODER},
        "vision": {"plugin": "puzzle"},
    },
    "chance": {"plugin": "random"},
    "world": {"plugin": "chat", "model": {"plugin": "world"}},
    "theirs": {"plugin": "responses", "path": "their.csv"},
    "their-viper": {"plugin": "responses", "path": "codes.csv", "llm": "CodeLlama"},
}


def study(**changes: Any) -> Cvqa:
    content = {
        "seed": 1,
        "sets": {
            "real": {"plugin": "csv", "questions": "q.csv", "images": "i"},
            "tenth": {"plugin": "csv", "questions": "q.csv", "images": "i", "share": 0.1},
            "synthetic": {"plugin": "synthetic"},
        },
        "solvers": SOLVERS,
        "conditions": [{"set": ["real"], "solver": ["llava"]}],
    }
    return Cvqa.model_validate(content | changes)


def facts(name: str) -> SolverFacts:
    return SolverFacts(**solver_facts(study())[name])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llava", SolverFacts(paper="LLaVA-1.5-13B")),
        ("llava-cot", SolverFacts(cot=True, no_cot_baseline="llava")),
        ("lonely-cot", SolverFacts(cot=True)),
        ("viper", SolverFacts("program", llm="lab/coder")),
        ("grammar", SolverFacts("program", llm="grammar", test_world=True)),
        ("blind", SolverFacts("program", llm="lab/coder", test_world=True)),
        ("chance", SolverFacts("random", test_world=True)),
        ("world", SolverFacts(test_world=True)),
        ("theirs", SolverFacts()),
        ("their-viper", SolverFacts("program", llm="CodeLlama")),
    ],
)
def test_a_solver_is_told_by_what_it_is_made_of(name: str, expected: SolverFacts) -> None:
    assert facts(name) == expected


def test_a_share_of_a_set_is_a_subset() -> None:
    told = {name: SetFacts(**of) for name, of in set_facts(study()).items()}
    assert told == {"real": SetFacts(), "tenth": SetFacts(subset=True), "synthetic": SetFacts()}


def test_a_twin_differs_in_nothing_but_the_chain_of_thought() -> None:
    others = {
        "plain": {"plugin": "chat", "model": LLAVA},
        "other-model": {"plugin": "chat", "cot": True, "model": CODER},
        "said-so": {"plugin": "chat", "cot": True, "model": LLAVA},
        "no-cot": {"plugin": "chat", "cot": False, "model": LLAVA},
    }
    conditions = [{"set": ["real"], "solver": ["plain"]}]
    told = solver_facts(study(solvers=others, conditions=conditions))
    assert {name: of["no_cot_baseline"] for name, of in told.items()} == {
        "plain": "",
        "other-model": "",
        "said-so": "plain",
        "no-cot": "",
    }


def test_every_open_answer_and_every_reply_of_known_truth_is_a_call() -> None:
    solvers = {name: {"plugin": "chat", "model": LLAVA} for name in ("one", "other")}
    parameters = study(
        solvers=solvers,
        conditions=[{"set": ["real"], "solver": list(solvers)}],
        reply_readers={"judge": {"plugin": "chat", "model": CODER}},
        reread=0.1,
    )
    readings = {
        number: [line for line in cvqa_lines(parameters, {"real": Sizes(50, open=number)}) if line.stage == "readings"]
        for number in (0, 40)
    }
    # 2 solvers × 100 replies: a tenth is read; or of each 60 a tenth, 40 judged, and once 40 + 52 of known truth
    assert [readings[number][0].typical.calls for number in (0, 40)] == [20, 12 + 2 * 40 + 40 + 52]
    assert [readings[number][0].most.calls for number in (0, 40)] == [200, 200 + 40 + 52]
