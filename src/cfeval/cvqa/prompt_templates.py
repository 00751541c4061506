"""How a question is put to each family of models (C-VQA, Section 4.1), and where the study's own templates lie.

The phrases are those the models were trained on, from the authors' scripts (github.com/Letian2003/C-VQA,
`scripts/run_eval_*.py`, November 2023); that for options stands there as a comment. Chain of thought: the phrase of
Table 4 after the question, inside the family's template, as the paper says no more of it than that it is "post-pended
to the questions".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pydantic import Field, field_validator

from cfeval.cvqa.records import read_choices
from cfeval.inference.prompts import ChatPlugin

COT = "Let's think step by step:"


@dataclass(frozen=True)
class Template:
    """A phrase with `{question}`; `choice` is that for questions with options, where it is another.

    `{options}` are the options as `(a)16  (b)17  …`, and `{question}` is then what stands before them.
    """

    text: str
    models: str
    source: str
    choice: str = ""


_SCRIPTS = "C-VQA, scripts/run_eval_"
# By family; `params.yaml` names one for each model.
FAMILIES: Mapping[str, Template] = {
    "plain": Template("{question}", "models without a phrase of their own", "the question as it stands"),
    "llava": Template(
        "{question} Answer the question using a single word or phrase.",
        "LLaVA v0, v1.1 and 1.5, CogVLM, Qwen-VL-Chat",
        f"{_SCRIPTS}llava.py, {_SCRIPTS}cogvlm.py, {_SCRIPTS}qwen.py",
    ),
    "minigpt": Template(
        "Based on the image, respond to this question with a single word or phrase: {question}",
        "MiniGPT-4, MiniGPT-v2",
        f"{_SCRIPTS}minigpt4.py",
    ),
    "blip": Template(
        "Question: {question} Short answer:",
        "BLIP-2, InstructBLIP (LAVIS)",
        f"{_SCRIPTS}lavis.py",
        choice="Question: {question} Options:{options}. Answer:",
    ),
}


def put(question: str, family: str, cot: bool = False) -> str:
    """The question as a family is asked it.

    Args:
        question: as in the CSV, options and all.
        family: a key of `FAMILIES`.
        cot: ask for a chain of thought.

    Raises:
        ValueError: there is no such family.
    """
    if family not in FAMILIES:
        raise ValueError(f"unknown family '{family}'; allowed: {', '.join(FAMILIES)}")
    template = FAMILIES[family]
    choices = read_choices(question) if template.choice else None
    if choices is None:
        return template.text.replace("{question}", _thinking(question, cot))
    options = "  ".join(
        f"({letter.lower()}){value}" for letter, value in zip(choices.letters, choices.values, strict=True)
    )
    parts = template.choice.split("{question}")
    return _thinking(choices.stem, cot).join(part.replace("{options}", options) for part in parts)


def _thinking(question: str, cot: bool) -> str:
    return f"{question} {COT}" if cot else question


class CvqaChatPlugin(ChatPlugin):
    """One that asks a chat model, by the templates of this study where the user names no folder."""

    prompts: str = Field("", validate_default=True)
    """Folder with own templates; empty: the package's."""

    @field_validator("prompts")
    @classmethod
    def _shipped(cls, folder: str) -> str:
        return folder or str(Path(str(resources.files("cfeval.cvqa"))) / "prompts")
