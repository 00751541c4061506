"""`make bench-cvqa`: answers read per second on one core, by the released rules and by the better reader.

Replies as models give them: a word, a sentence, a chain of thought; each kind of answer. A few seconds.
"""

import platform
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path

from cfeval.io.choices import Choices
from cfeval.protocols.cvqa import reference, robust
from cfeval.records.cvqa import Form

MANY, REPEATS = 5000, 3
OPTIONS = Choices("How many dots would there be if 5 were removed?", ("16", "17", "12", "13"))
REPLIES: dict[str, tuple[str, ...]] = {
    "a word": ("3", "twelve", "No", "yes", "C", "(b)", "none", "17"),
    "a sentence": (
        "There would be 3 plates left.",
        "If two more came, there would be 5 zebras in the picture.",
        "No, the goggles would not be covering her eyes if she took them off.",
        "The answer is (c) because 12 dots remain.",
    ),
    "a chain of thought": (
        "First, I count the plates on the table: there are 4 of them. Then the question supposes that one is taken "
        "away. 4 - 1 = 3. Nothing else changes in the picture. Therefore, the answer is 3.",
        "The image shows six circles. The circle with the most dots has 7, and the next one has 5. If the first were "
        "removed, the most would be 5, which is option B. So the answer is B.",
    ),
}
FORMS: tuple[Form, ...] = ("number", "boolean", "choice")


def main() -> None:
    """Time both readers and print the table."""
    print(f"{_processor()}, one core; Python {platform.python_version()}; the best of {REPEATS}\n")
    print("| replies | reference, answers/s | robust, answers/s |\n|---|---|---|")
    for name, replies in REPLIES.items():
        rates = [_rate(read, replies) for read in (_reference, _robust)]
        print(f"| {name} | {rates[0]:,.0f} | {rates[1]:,.0f} |")


def _reference(reply: str, form: Form) -> str | None:
    return reference.read(reply, form, OPTIONS if form == "choice" else None)


def _robust(reply: str, form: Form) -> str | None:
    return robust.read(reply, form, OPTIONS if form == "choice" else None, OPTIONS.stem)


def _rate(read: Callable[[str, Form], str | None], replies: tuple[str, ...]) -> float:
    work = list(islice(cycle((reply, form) for reply in replies for form in FORMS), MANY))
    best = min(_seconds(read, work) for _ in range(REPEATS))
    return MANY / best


def _seconds(read: Callable[[str, Form], str | None], work: list[tuple[str, Form]]) -> float:
    start = time.process_time()
    for reply, form in work:
        read(reply, form)
    return time.process_time() - start


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    return next((line.split(": ", 1)[1] for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    main()
