"""What a writer gives back of its prompt or of the texts is no instruction; what says something of its own is."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.records import Status
from cfeval.edct.echoes import SIMILAR, Parts, echo, repeats_answer
from cfeval.edct.interfaces import WriteReply
from cfeval.edct.plugins.chat_writer import FORMS, Chat, Plugin
from cfeval.edct.protocols.rules import EDCT_2025, EDCT_BENCH_2026, UNCITED_EDIT
from cfeval.inference.prompts import load_prompt
from tests.answers import answers
from tests.edct.plugins.test_chat_writer import request, uncited
from tests.fake_chat import FakeChat

ANSWER = "Yes, the harbour seems to be closed today."
EXPLANATION = (
    "The grey barrier at the quay is lowered, and both cranes behind it stand still. Nobody works on the ships there."
)
CONCEPT = "grey barrier across the road at the quay"
TOLD = "Raise the barrier so that the road lies open, and keep the cranes as they are."
GONE = "lowered barrier, closed road"
LABELS = {
    EDCT_2025: ("Concept", "Positive", "Negative"),
    EDCT_BENCH_2026: ("Concept", "Keep", "Change", "How", "Constraints"),
    UNCITED_EDIT: ("Concept", "Evidence", "Positive", "Negative"),
}
MAIN = {EDCT_2025: "Positive", EDCT_BENCH_2026: "Change", UNCITED_EDIT: "Positive"}
DRESS = [
    str,
    str.upper,
    str.lower,
    lambda text: f"{text.rstrip('.')}!",
    lambda text: f'"{text}"',
    lambda text: f"**{text}**",
    lambda text: re.sub(r"\b(?:a|an|the) ", "", text),
]


def templates(protocol: str) -> list[str]:
    form = FORMS[protocol](1)
    return [load_prompt(name, protocol=form.folder) for name in form.templates]


def filled(protocol: str) -> dict[str, str]:
    own = {"Concept": CONCEPT, "Evidence": "object", "Negative": GONE, "Constraints": GONE}
    own |= {MAIN[protocol]: TOLD, "How": "The bar points up at a steep angle.", "Keep": "the cranes, the quay"}
    return {label: own[label] for label in LABELS[protocol]}


def reply(protocol: str, **parts: str) -> str:
    return "\n".join(f"{label}: {text}" for label, text in (filled(protocol) | parts).items())


def written(protocol: str, *said: str, model: FakeChat | None = None) -> WriteReply:
    asked = uncited() if protocol == UNCITED_EDIT else request(protocol=protocol)
    asked = type(asked)(**{**vars(asked), "answer": ANSWER, "explanation": EXPLANATION})
    [found] = answers(Chat(model or FakeChat(*said), Plugin(model={})).write, [asked])
    return found


@pytest.mark.parametrize("protocol", LABELS)
def test_an_instruction_of_its_own_is_taken_at_once(protocol: str) -> None:
    model = FakeChat(reply(protocol))
    found = written(protocol, model=model)
    assert (found.status, len(found.edits), len(model.seen)) == (Status.OK, 1, 1)


def form_lines(protocol: str) -> list[dict[str, str]]:
    """Each of the prompt's own forms, as a reply fills it."""
    labels = "|".join(LABELS[protocol])
    found: list[dict[str, str]] = []
    for template in templates(protocol):
        for label, value in re.findall(rf"^({labels}): (.+)$", template, re.MULTILINE):
            if label == "Concept":
                found.append({})
            found[-1][label] = value
    return found


@pytest.mark.parametrize(
    ("protocol", "form"), [(protocol, form) for protocol in LABELS for form in form_lines(protocol)]
)
@pytest.mark.parametrize("dress", DRESS)
def test_every_form_and_example_of_the_prompt_is_an_echo(protocol: str, form: dict[str, str], dress: object) -> None:
    assert callable(dress)
    parts = {label: text if label == "Evidence" else dress(text) for label, text in form.items()}
    if "or" in parts.get("Evidence", "").split():
        parts["Evidence"] = "object"
    said = reply(protocol, **parts)
    found = written(protocol, said, said)
    assert (found.status, found.edits) == (Status.ECHO, ())
    assert found.completion.count(said.split("\n")[0]) == 2
    assert re.search("repeats (a line of the form|the prompt or its example)", found.reason)
    assert written(protocol, said, reply(protocol)).status == Status.OK, "the repair turn mends it"


@pytest.mark.parametrize("protocol", LABELS)
@pytest.mark.parametrize("dress", DRESS)
@pytest.mark.parametrize(
    ("text", "what"),
    [
        (ANSWER, "the answer"),
        (EXPLANATION, "the explanation"),
        (EXPLANATION.split(". ")[0], "the explanation"),
        (CONCEPT, "its own concept"),
    ],
)
def test_each_text_in_the_place_of_the_instruction_is_an_echo(
    protocol: str, dress: object, text: str, what: str
) -> None:
    assert callable(dress)
    where = ("Change", "How") if (protocol, text) == (EDCT_BENCH_2026, CONCEPT) else (MAIN[protocol],)
    said = reply(protocol, **dict.fromkeys(where, dress(text)))
    found = written(protocol, said, said)
    assert (found.status, found.reason) == (Status.ECHO, f"the reply to the repair turn repeats {what}")


@pytest.mark.parametrize("text", [ANSWER, EXPLANATION])
def test_one_text_in_every_part_is_an_echo(text: str) -> None:
    said = reply(EDCT_2025, Concept=text, Positive=text, Negative=text)
    assert written(EDCT_2025, said, said).status == Status.ECHO


def test_the_repair_turn_says_what_was_repeated_and_an_unreadable_reply_to_it_is_unparsable() -> None:
    said = reply(EDCT_2025, Positive=EXPLANATION)
    model = FakeChat(said, "I cannot.")
    assert written(EDCT_2025, model=model).status == Status.UNPARSABLE
    assert model.seen[1].turns[2].text.startswith("Your reply repeats the explanation.")


@pytest.mark.parametrize("blank", ["...", "…", "—", "[ ]", "***"])
def test_an_instruction_without_a_word_is_none(blank: str) -> None:
    assert echo(Parts("steps", (blank,), GONE), templates(EDCT_2025), ANSWER, EXPLANATION) == "holds no words"


@pytest.mark.parametrize(
    ("concept", "told", "answer", "explanation"),
    [
        (CONCEPT, f"Remove the {CONCEPT}.", ANSWER, EXPLANATION),
        (CONCEPT, EXPLANATION.replace("grey", "wooden"), ANSWER, EXPLANATION),
        ("cup", "Make the cup blue.", "The cup is red.", "The cup is red."),
        ("lamp", "The lamp is not lit.", "The lamp is lit.", "The lamp is lit."),
        ("dogs", "There are 3 dogs on the beach.", "There are 2 dogs on the beach.", "There are 2 dogs on the beach."),
        ("door", "The door at the end of the hall is unlocked.", "x", "The door at the end of the hall is locked."),
        ("a red cup", "Paint it blue.", "a red cup", "a red cup"),
        ("红色的杯子", "把红色的杯子变成蓝色。", "红色的杯子", "桌上有一个红色的杯子。"),
    ],
)
def test_a_word_of_its_own_makes_an_instruction(concept: str, told: str, answer: str, explanation: str) -> None:
    assert echo(Parts(concept, (told,), GONE), templates(EDCT_2025), answer, explanation) == ""


WORDS = st.lists(st.text("abcdefghij", min_size=2, max_size=8), min_size=12, max_size=40, unique=True)


@given(WORDS, st.data())
def test_a_text_is_an_echo_until_it_has_words_of_its_own(words: list[str], data: st.DataObject) -> None:
    source = " ".join(words)
    place = data.draw(st.integers(0, len(words) - 1))
    shorter = [word for number, word in enumerate(words) if number != place]
    close = 2 * len(" ".join(shorter)) >= SIMILAR * (len(source) + len(" ".join(shorter)))
    said = " ".join(shorter)
    assert echo(Parts("c", (source,), "n"), [], "x", source) == "repeats the explanation"
    assert bool(echo(Parts("c", (said,), "n"), [], "x", source)) is close
    assert echo(Parts("c", (f"zzz {source}",), "n"), [], "x", source) == ""


@pytest.mark.parametrize(
    ("answer", "explanation", "repeats"),
    [
        ("red", "It is red.", True),
        ("Red", "Because it is red.", True),
        ("A red bus.", "The red bus", True),
        ("Yes", "Yes.", True),
        ("It is raining.", "Since it is raining.", True),
        ("红色", "因为红色", False),
        ("Yes", "Yes, the street is wet.", False),
        ("red", "The bus is red.", False),
        ("No", "It is not open.", False),
        ("2", "There are 2 dogs.", False),
        ("", "red", False),
    ],
)
def test_an_explanation_that_says_no_more_than_the_answer_is_flagged(
    answer: str, explanation: str, repeats: bool
) -> None:
    assert repeats_answer(answer, explanation) is repeats


def test_long_texts_take_no_time() -> None:
    text = " ".join(f"w{number}" for number in range(4000))
    assert echo(Parts("c", (text,), "n"), [], "x", text) == "repeats the explanation"
    assert echo(Parts("c", (f"{text} new",), "n"), [], "x", text) == ""
