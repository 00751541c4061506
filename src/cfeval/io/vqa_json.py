"""VQA's release files (VQA v2, OK-VQA and others of that layout): questions and annotations as JSON, images of COCO.

The annotations of VQA v2's training split are some 400 MB: objects are cut to what is needed while the text is parsed.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple, TypeVar

from cfeval.errors import InputError

PEOPLE = 10
"""How many answers each question has."""
_SPLIT = re.compile(r"(train|val|test|test-dev)20\d\d")
Found = TypeVar("Found")


class Question(NamedTuple):
    """A question and the number of the COCO image that it is about."""

    id: str
    image: int
    text: str


class Annotation(NamedTuple):
    """What people answered: as it is scored and, in OK-VQA only, as they wrote it (`raw`)."""

    id: str
    image: int
    answers: tuple[str, ...]
    raw: tuple[str, ...]
    reference: str
    """The most frequent answer, of two that are as frequent the first."""
    kind: str


class _Answer(NamedTuple):
    answer: str
    raw: str | None


@dataclass(frozen=True)
class Questions:
    """A questions file: its split, such as val2014, and its questions by id."""

    split: str
    by_id: dict[str, Question]


def read_questions(path: Path) -> Questions:
    """Read a questions file.

    Raises:
        InputError: one line: missing, not JSON, or not such a file.
    """

    def kept(found: dict[str, Any]) -> Any:
        if "question_id" not in found or "answers" in found:
            return found
        return Question(_id(path, found), _number(path, found, "image_id"), _text(path, found, "question"))

    content = _load(path, kept)
    questions = _list(path, content, "questions", Question, "v2_OpenEnded_mscoco_val2014_questions.json")
    by_id = {question.id: question for question in questions}
    if len(by_id) < len(questions):
        [(twice, _)] = Counter(question.id for question in questions).most_common(1)
        raise InputError(f"{path}: question {twice} stands there twice; take the file as it was released")
    return Questions(_split(path, content), by_id)


def read_annotations(path: Path, questions: Questions, wanted: Collection[str]) -> dict[str, Annotation]:
    """Read the annotations of some questions; each of `wanted` has one.

    Raises:
        InputError: one line: like `read_questions`; or the file is not for these questions.
    """

    def kept(found: dict[str, Any]) -> Any:
        if "answers" in found:
            item = _id(path, found)
            return _annotation(path, item, found) if item in wanted else Annotation(item, 0, (), (), "", "")
        if "answer" in found:
            raw = intern(_text(path, found, "raw_answer", blank=True)) if "raw_answer" in found else None
            return _Answer(intern(_text(path, found, "answer", blank=True)), raw)  # most are the same few words
        return found

    content = _load(path, kept)
    annotations = _list(path, content, "annotations", Annotation, "v2_mscoco_val2014_annotations.json")
    _check_release(path, questions, _split(path, content), len(annotations))
    by_id = {found.id: found for found in annotations if found.id in wanted}
    names = content.get("question_types")
    for item in wanted:
        if item not in by_id or by_id[item].image != questions.by_id[item].image:
            raise InputError(f"{path}: no annotation of question {item} about its image; {_SAME_RELEASE}")
    return {item: found._replace(kind=_named(found.kind, names)) for item, found in by_id.items()}


_SAME_RELEASE = "give questions and annotations of the same release and split"


def _check_release(path: Path, questions: Questions, split: str, annotations: int) -> None:
    if split != questions.split:
        raise InputError(f"{path}: annotations of {split} for questions of {questions.split}; {_SAME_RELEASE}")
    if annotations != len(questions.by_id):
        raise InputError(f"{path}: {annotations} annotations for {len(questions.by_id)} questions; {_SAME_RELEASE}")


def _annotation(path: Path, item: str, found: dict[str, Any]) -> Annotation:
    answers = found["answers"]
    if not isinstance(answers, list) or not all(isinstance(one, _Answer) for one in answers):
        raise InputError(f"{path}: question {item}: answers must be a list of objects with the key 'answer'")
    if len(answers) != PEOPLE:
        raise InputError(f"{path}: question {item}: {len(answers)} answers; VQA accuracy is defined for {PEOPLE}")
    raw = tuple(one.raw for one in answers if one.raw is not None)
    plain = tuple(one.answer for one in answers)
    [(most, _)] = Counter(raw or plain).most_common(1)
    reference, kind = found.get("multiple_choice_answer") or most, found.get("question_type") or ""
    return Annotation(item, _number(path, found, "image_id"), plain, raw, str(reference), str(kind))


def _named(kind: str, names: Any) -> str:
    """OK-VQA numbers its kinds of questions and says elsewhere what they are."""
    return str(names.get(kind, kind)) if isinstance(names, dict) else kind


def _load(path: Path, kept: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """Parse a file, each of its objects replaced by what `kept` makes of it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"), object_hook=kept)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); is it whole, and unpacked?") from None
    return content if isinstance(content, dict) else {}


def _list(path: Path, content: dict[str, Any], name: str, kind: type[Found], example: str) -> list[Found]:
    found = content.get(name)
    if not isinstance(found, list) or not all(isinstance(one, kind) for one in found):
        raise InputError(f"{path}: no list of {name} in VQA's layout; give a file such as {example}")
    return found


def _split(path: Path, content: dict[str, Any]) -> str:
    split = content.get("data_subtype")
    if not isinstance(split, str) or not _SPLIT.fullmatch(split):
        raise InputError(f"{path}: data_subtype must name a split of COCO such as val2014, but got {split!r:.40}")
    return split


def _id(path: Path, found: dict[str, Any]) -> str:
    return str(_number(path, found, "question_id"))


def _number(path: Path, found: dict[str, Any], key: str) -> int:
    value = found.get(key)
    if type(value) is not int or not 0 <= value < 10**18:
        raise InputError(f"{path}: {key} must be a whole number, but got {value!r:.40}{_whose(found)}")
    return value


def _text(path: Path, found: dict[str, Any], key: str, blank: bool = False) -> str:
    value = found.get(key)
    if not isinstance(value, str) or not (blank or value.strip()):
        raise InputError(f"{path}: {key} must be a text, but got {value!r:.40}{_whose(found)}")
    return value


def _whose(found: dict[str, Any]) -> str:
    return f" (question_id {found['question_id']!r:.40})" if "question_id" in found else ""
