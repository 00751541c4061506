"""Words to numbers and back, for the networks that read or write text."""

import re
from collections.abc import Iterable, Sequence

from cfeval.world import language, questions
from cfeval.world.vocabulary import ALL_COLORS, ALL_SHAPES, SIZES

PAD, UNKNOWN, TURN, END = "<pad>", "<unk>", "<turn>", "<end>"
SPECIAL = (PAD, UNKNOWN, TURN, END)
_EASY_VQA_WORDS = "what color is the shape in image does contain present of no not there a"


def words_of(text: str) -> list[str]:
    """Lower-case words and commas."""
    return re.findall(r"[a-z]+|,", text.lower())


def persona_token(persona: str) -> str:
    """The prompt token that makes the network behave as this persona."""
    return f"<{persona}>"


class Vocabulary:
    """A fixed list of words; those outside it read as `<unk>`."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._index = {word: index for index, word in enumerate(words)}

    def __len__(self) -> int:
        """How many words."""
        return len(self.words)

    def index(self, word: str) -> int:
        """The number of a word."""
        return self._index.get(word, self._index[UNKNOWN])

    def encode(self, words: Iterable[str]) -> list[int]:
        """Numbers of words."""
        return [self.index(word) for word in words]

    def decode(self, numbers: Iterable[int]) -> str:
        """Text of numbers, special words left out."""
        spoken = [self.words[number] for number in numbers if not self.words[number].startswith("<")]
        return " ".join(spoken).replace(" ,", ",")


def talking_words() -> tuple[str, ...]:
    """Every word of the world's questions, answers and explanations and of easy-VQA; special tokens come first."""
    templates = [
        *language.ANSWER_TEMPLATES,
        *(template for group in language.EXPLANATION_TEMPLATES.values() for template in group),
        *(template for group in questions.QUESTION_TEMPLATES.values() for template in group),
    ]
    literal = (re.sub(r"\{\w+\}", " ", template) for template in templates)
    spoken = " ".join([*literal, _EASY_VQA_WORDS, "why nothing a an , in the picture", *language.CANONICAL_ANSWERS])
    personas = (persona_token(persona) for persona in questions.PERSONAS)
    return tuple(dict.fromkeys((*SPECIAL, *personas, *sorted(set(words_of(spoken))), *ALL_COLORS, *ALL_SHAPES, *SIZES)))
