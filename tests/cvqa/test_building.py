"""The step format is read strictly; sums are recomputed; neither guesses."""

import pytest

from cfeval.cvqa.building import (
    LONGEST_FIELD,
    Steps,
    StepsError,
    Verdict,
    check_sum,
    numbers_fault,
    read_steps,
    turn_fault,
    write_steps,
)

QUESTION = "How many kites are there?"
LINES = (
    f"Original question: {QUESTION}",
    "Original answer: 3",
    "Step1: Let 2 kites fall.",
    "Step2: The answer would be 3 - 2 = 1",
    "New question: How many kites would there be if 2 fell?",
    "New answer: 1",
)
GOOD = "\n".join(LINES)
BOOLEAN = GOOD.replace("Original answer: 3", "Original answer: yes").replace("New answer: 1", "New answer: no")
STEPS = Steps(
    QUESTION,
    "3",
    "Let 2 kites fall.",
    "The answer would be 3 - 2 = 1",
    "How many kites would there be if 2 fell?",
    "1",
)


def changed(place: int, line: str) -> str:
    """The good reply with another line in one place."""
    return "\n".join((*LINES[:place], line, *LINES[place + 1 :]))


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\n\n  {GOOD}\n \n",
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\n\n"),
        GOOD.replace("Step1", "STEP1"),
        GOOD.replace("Step1:", "step 1 :").replace("New answer: ", "new  ANSWER:\t"),
        GOOD.replace(": ", ":"),
        GOOD.replace("How many kites are", "How  many kites\tare"),
    ],
)
def test_white_space_and_the_case_of_names_are_free(text: str) -> None:
    assert read_steps(text, QUESTION, "3", "direct") == STEPS


def test_what_is_written_is_read_back() -> None:
    assert read_steps(write_steps(STEPS), QUESTION, "3", "direct") == STEPS
    assert read_steps(BOOLEAN, QUESTION, "yes", "boolean").answer == "no"


MALFORMED: list[tuple[str, str]] = [
    ("", "'Original question' is missing"),
    ("   \n\t", "'Original question' is missing"),
    ("I cannot do that.", "line 1 is no field"),
    *[("\n".join(LINES[:n] + LINES[n + 1 :]), "is due, but") for n in range(5)],
    ("\n".join(LINES[:5]), "'New answer' is missing"),
    ("\n".join(LINES[:2]), "'Step1' is missing"),
    *[("\n".join((*LINES[: n + 1], LINES[n], *LINES[n + 1 :])), "a second time") for n in range(6)],
    (f"{GOOD}\n{GOOD}", "'Original question' stands there a second time"),
    (f"{GOOD}\nNew answer: 2", "a second time"),
    (f"{GOOD}\nStep3: Look again.", "no field 'Step3'"),
    (f"{GOOD}\nNote: I am sure.", "no field 'Note'"),
    (f"Reasoning: simple\n{GOOD}", "no field 'Reasoning'"),
    (f"Sure, here it is:\n{GOOD}", "line 1 is no field"),
    (f"{GOOD}\nI hope that helps!", "line 7 is no field"),
    (f"```\n{GOOD}\n```", "line 1 is no field"),
    ("\n".join((LINES[1], LINES[0], *LINES[2:])), "'Original question' is due"),
    ("\n".join((*LINES[:2], LINES[3], LINES[2], *LINES[4:])), "'Step1' is due"),
    ("\n".join((*LINES[:4], LINES[5], LINES[4])), "'New question' is due"),
    (changed(0, "Original question: How many birds are there?"), "not the question that was given"),
    (changed(0, f"Original question: {QUESTION.lower()}"), "not the question that was given"),
    (changed(0, "Original question:"), "'Original question' is empty"),
    (changed(1, "Original answer: 4"), "not the answer that was given"),
    (changed(1, "Original answer: three"), "not the answer that was given"),
    (changed(2, "Step1:   "), "'Step1' is empty"),
    (changed(2, "- Step1: Let 2 kites fall."), "line 3 is no field"),
    (changed(2, "**Step1:** Let 2 kites fall."), "line 3 is no field"),
    (changed(2, "Step1 Let 2 kites fall."), "line 3 is no field"),
    (changed(2, "Step1: Add or remove <number> <item>"), "placeholder"),
    (changed(3, "Step2:"), "'Step2' is empty"),
    (changed(3, f"Step2: {'so ' * LONGEST_FIELD}"), "longer than"),
    (changed(3, "Step2: 3 - 2 = 1\nso one is left"), "line 5 is no field"),
    (changed(4, "New question: How many kites would there be if 2 fell"), "question mark"),
    (changed(4, "New question: How many kites would there be?"), "supposes nothing"),
    (changed(4, "New question: How many kites would drift?"), "supposes nothing"),
    (changed(4, "New question: How many kites \u202e if 2 fell?"), "cannot be printed"),
    (changed(5, "New answer:"), "'New answer' is empty"),
    *[
        (changed(5, f"New answer: {said}"), "one number in digits")
        for said in (
            *("one", "1 or 2", "1, 2", "1-2", "1 kite", "1.", "1.0", "-1", "01", "+1", "yes", "?", "N/A"),
            *("about 1", "1/2", "\u0661", "1000000000"),
        )
    ],
]


@pytest.mark.parametrize(("text", "reason"), MALFORMED)
def test_a_malformed_reply_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(StepsError, match=reason) as fault:
        read_steps(text, QUESTION, "3", "direct")
    assert "\n" not in str(fault.value)


def test_there_are_enough_malformed_replies() -> None:
    assert len({text for text, _ in MALFORMED}) >= 40


@pytest.mark.parametrize("said", ["1", "maybe", "yes and no", "yes/no", "No", "no.", "not", "true"])
def test_a_boolean_answer_is_yes_or_no(said: str) -> None:
    with pytest.raises(StepsError, match="yes` or `no"):
        read_steps(BOOLEAN.replace("New answer: no", f"New answer: {said}"), QUESTION, "yes", "boolean")


SUMS: list[tuple[str, str, str, Verdict, int | None]] = [
    ("The answer would be 3+3=6", "3", "6", "agrees", 6),
    ("The answer would be $3+3=6$", "3", "6", "agrees", 6),
    ("3 - 2 = 1.", "3", "1", "agrees", 1),
    ("2 - 1 + 2 = 3", "2", "3", "agrees", 3),
    ("2*2=4", "2", "4", "agrees", 4),
    ("2 x 2 = 4", "2", "4", "agrees", 4),
    ("2 × 2 = 4", "2", "4", "agrees", 4),
    ("3 − 2 = 1", "3", "1", "agrees", 1),
    ("6 / 2 = 3", "6", "3", "agrees", 3),
    ("2 + 2 * 3 = 8", "2", "8", "agrees", 8),
    ("(2 + 2) * 3 = 12", "2", "12", "agrees", 12),
    ("So it is 6 (3 + 3 = 6).", "3", "6", "agrees", 6),
    ("(3 + 3 = 6)", "3", "6", "agrees", 6),
    ("3 birds + 3 more birds = 6 birds", "3", "6", "agrees", 6),
    ("3 plus 3 equals 6", "3", "6", "agrees", 6),
    ("3 + 3 = 6 = 6", "3", "6", "agrees", 6),
    ("3 + 3 = 6, then 6 - 1 = 5", "3", "5", "agrees", 5),
    ("6 = 3 + 3", "6", "6", "agrees", 6),
    ("- 3 + 3 = 6 - done", "3", "6", "agrees", 6),
    ("5 - 5 = 0", "5", "0", "agrees", 0),
    ("2 - 1 + 2 = 3", "2", "1", "other answer", 3),
    ("3 + 3 = 6", "3", "7", "other answer", 6),
    ("3 - 5 = -2", "3", "2", "other answer", None),
    ("5 / 2 = 2.5", "5", "2", "other answer", None),
    ("1,000 + 1,000 = 2,000", "1000", "2000", "agrees", 2000),
    ("5 + 2 = 3 + 3 = 7", "5", "7", "wrong sum", 7),
    (f"3 {'* 999999999999 ' * 900} = 6", "3", "6", "wrong sum", None),
    ("3 + 3 = 7", "3", "7", "wrong sum", 6),
    ("2 + 2 * 3 = 12", "2", "12", "wrong sum", 8),
    ("2 + 2 = 4 + 1 = 5", "2", "5", "wrong sum", 4),
    ("3 + 3 = 6, then 6 - 1 = 4", "3", "4", "wrong sum", 5),
    ("3 ++ 3 = 6", "3", "6", "wrong sum", None),
    ("3 + 3 == 6", "3", "6", "wrong sum", 6),
    ("3 + 3 = six", "3", "6", "wrong sum", 6),
    ("3 / 0 = 0", "3", "0", "wrong sum", None),
    ("2 ** 3 = 8", "2", "8", "wrong sum", None),
    ("((3 + 3 = 6", "3", "6", "wrong sum", None),
    (f"3 + {'(' * 90}3{')' * 90} = 6", "3", "6", "wrong sum", None),
    (f"{'9' * 500} + 1 = 6", "3", "6", "wrong sum", None),
    ("4 + 3 = 7", "3", "7", "other start", 7),
    ("2 + 3 = 5", "3", "5", "other start", 5),
    ("The answer would be 6", "3", "6", "no sum", None),
    ("three more come, so there are six", "3", "6", "no sum", None),
    ("the answer = 6", "3", "6", "no sum", None),
    ("1-2 birds fly away", "3", "2", "no sum", None),
    ("__import__('os').system('3+3=6')", "3", "6", "agrees", 6),
    ("", "3", "6", "no sum", None),
]


@pytest.mark.parametrize(("step2", "original", "answer", "verdict", "result"), SUMS)
def test_a_sum_is_recomputed(step2: str, original: str, answer: str, verdict: Verdict, result: int | None) -> None:
    found = check_sum(step2, original, answer)
    assert (found.verdict, found.result) == (verdict, result)
    assert bool(found.reason) == (verdict not in ("agrees", "no sum"))


def test_the_wrong_example_of_the_paper_is_caught() -> None:
    found = check_sum("The answer would be 2-1+2=3", "2", "1")
    assert found.verdict == "other answer"
    assert found.reason == "the sum gives 3, but the new answer is 1"


@pytest.mark.parametrize(
    ("step1", "question", "fault"),
    [
        ("Add 3 birds", "How many birds would there be if 3 birds came?", False),
        ("add two sinks", "How many sinks if 2 more were added?", False),
        ("1 zebra left and 2 zebras came", "How many if 1 zebra left and 2 came?", False),
        ("another zebra comes", "How many zebras if another came?", False),
        ("double the bikes", "How many bikes if the number of bikes doubled?", False),
        ("eat all 4 oranges", "How many oranges if all were eaten?", False),
        ("Add 3 birds", "How many birds would there be if 4 birds came?", True),
        ("2 left and 3 came", "How many if 2 left and 5 came?", True),
    ],
)
def test_the_numbers_of_the_new_question_are_those_of_step_1(step1: str, question: str, fault: bool) -> None:
    assert bool(numbers_fault(step1, "How many are there?", question)) == fault


def test_numbers_of_the_original_question_do_not_count() -> None:
    assert not numbers_fault("Add 3", "How many of the 5 birds?", "How many of the 5 birds if 3 more came?")


@pytest.mark.parametrize(("answer", "fault"), [("no", False), ("yes", True)])
def test_a_boolean_answer_is_the_one_that_step_1_promises(answer: str, fault: bool) -> None:
    assert bool(turn_fault("The new answer should be no, so it is dark.", answer)) == fault
    assert not turn_fault("It is dark.", answer)


@pytest.mark.parametrize("verb", ["is", "gives", "makes", "equals"])
def test_a_sum_is_recomputed_also_where_a_word_stands_for_its_equals_sign(verb: str) -> None:
    assert check_sum(f"The answer would be 2 + 2 {verb} 5", "2", "5").verdict == "wrong sum"
    assert check_sum(f"The answer would be 2 + 2 {verb} 4", "2", "4").verdict == "agrees"
