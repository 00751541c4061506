"""Do the records of each stage follow from those of the stage before: items and edits, statuses, images, scores?

Whether a score follows from verdict, check and answers is computed anew (EDCT 2025, Section 3).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cfeval.core.records import StageResult, Status, failed, propagated
from cfeval.datasets.sample import Sample
from cfeval.edct.answers import declines, evades, moved_by_text, names
from cfeval.edct.protocols.rules import CONTROLS, REPEATABLE, RULES, Rules
from cfeval.edct.records import (
    Baseline,
    Check,
    Condition,
    Counterfactual,
    Instruction,
    Reading,
    Requery,
    Score,
    Verdict,
)
from cfeval.edct.stages.scores import scores
from cfeval.edct.verification.chain import ConditionRecords, Key, Link, key_of, links

_CARRIED = ("answer_moved", "by_text", "evaded", "names_edited", "sham", "swapped", "reworded", "reader_moved")


def score_faults(
    row: Score,
    condition: Condition,
    sample: Sample,
    baseline: Baseline,
    instruction: Instruction,
    check: Check,
    verdict: Verdict,
) -> Iterator[str]:
    """What is wrong with each part of a score row, empty where nothing is; the rest is what the row rests on."""
    key = verdict.id, verdict.edit
    [again] = scores([verdict], {key[0]: sample}, {key[0]: baseline}, {key: instruction}, {key: check}, condition)
    for name in (name for name in Score.model_fields if name not in Condition.model_fields):
        value, should = getattr(row, name), getattr(again, name)
        yield "" if value == should else f"{name} is {_shown(value)}, not {_shown(should)}"


def _shown(value: Any) -> str:
    return "empty" if value in (None, "") else f"{str(value)[:60]!r}"


def stage_links(stage: str, records: ConditionRecords) -> Iterator[Link]:
    """The links of a stage to the stages before."""
    return _STAGES[stage](records)


def baseline_links(items: Sequence[Sample], baselines: Sequence[Baseline]) -> Iterator[Link]:
    """The links of conversations about original images to the items that they are about."""
    yield from in_step("baselines", map(key_of, items), map(key_of, baselines))
    samples = {sample.id: sample for sample in items}
    for baseline in baselines:
        if baseline.id in samples:
            other = baseline.question != samples[baseline.id].question
            yield from links(
                "baselines",
                baseline,
                "its question is not that of the sample" if other else "",
                began(baseline, "baselines"),
                _texts_fault(baseline.status, baseline.answer, baseline.explanation),
            )


def _instructions(records: ConditionRecords) -> Iterator[Link]:
    edits = Counter(record.id for record in records.instructions)
    drawn = records.condition.protocol in CONTROLS  # a control need not be made of every item
    wanted = [
        (baseline.id, edit)
        for baseline in records.baselines
        for edit in range(1, max(edits[baseline.id], 0 if drawn else 1) + 1)
    ]
    yield from in_step("instructions", wanted, map(key_of, records.instructions))
    before = {baseline.id: baseline for baseline in records.baselines}
    for record in records.instructions:
        if record.id in before:
            has_edit = failed(record) or record.positive
            yield from links(
                "instructions",
                record,
                _followed(record, before[record.id], "instructions"),
                "" if has_edit else "it is ok, and tells no edit",
            )


def _counterfactuals(records: ConditionRecords) -> Iterator[Link]:
    yield from in_step("counterfactuals", map(key_of, records.instructions), map(key_of, records.counterfactuals))
    instructions = {key_of(record): record for record in records.instructions}
    made = {key_of(record): record for record in records.counterfactuals}
    originals = {sample.id: sample.image.sha256 for sample in records.items}
    rules = RULES[records.condition.protocol]
    for record in records.counterfactuals:
        if key_of(record) in instructions:
            previous = made.get((record.id, record.edit - 1)) if rules.chained else None
            # A control that changes nothing may have the same bytes, whoever made it; an edit may not.
            original = originals.get(record.id, "")
            source = previous.image.sha256 if previous is not None and previous.image else original
            same = record.image is not None and record.image.sha256 == source
            may = rules.edits in ("none", "nothing")
            yield from links(
                "counterfactuals",
                record,
                f"it goes on, although edit {previous.edit} has no image ({previous.status})"
                if previous is not None and failed(previous) and not failed(record)
                else _followed(record, instructions[key_of(record)], "counterfactuals"),
                ("it is ok, and the image is the one it was to change" if same and not may else ""),
                _tries(record),
            )


def _checks(records: ConditionRecords) -> Iterator[Link]:
    yield from _one_to_one("checks", records.counterfactuals, records.checks)
    made = {key_of(record): record for record in records.counterfactuals}
    for check in records.checks:
        if not failed(check) and key_of(check) in made:
            attempts = made[key_of(check)].attempts
            gate = attempts[-1].found.absent if attempts else None
            other = f"gate_absent is {_shown(check.gate_absent)}, not {_shown(gate)}"
            yield from links("checks", check, "" if check.gate_absent == gate else other)


def _requery(records: ConditionRecords) -> Iterator[Link]:
    yield from _one_to_one("requeries", records.counterfactuals, records.requeries)
    before = {requery.id: requery for requery in records.baselines}
    repeatable = RULES[records.condition.protocol].edits in REPEATABLE
    for requery in records.requeries:
        yield from links("requeries", requery, _texts_fault(requery.status, requery.answer, requery.explanation))
        if requery.id in before:
            # Asked again after no answer, or after one that may have changed where nothing cited was edited.
            answer, fault = before[requery.id].answer, ""
            settled = failed(requery) or not repeatable or moved_by_text(answer, requery.answer) == 0
            if requery.first is not None and not declines(requery.first.status, requery.first.answer, answer):
                fault = "it was asked again although it had answered"
            elif requery.again is not None and settled:
                fault = "it was asked again without a reason"
            yield from links("requeries", requery, fault)


def _verdicts(records: ConditionRecords) -> Iterator[Link]:
    yield from _one_to_one("verdicts", records.requeries, records.verdicts)
    rules = RULES[records.condition.protocol]
    before = {conversation.id: conversation for conversation in records.baselines}
    after = {key_of(conversation): conversation for conversation in records.requeries}
    instructions = {key_of(record): record for record in records.instructions}
    readings = {key_of(check): check.reader for check in records.checks}
    for verdict in records.verdicts:
        yield from links("verdicts", verdict, _judged(verdict, rules), _read(verdict, readings.get(key_of(verdict))))
        if verdict.id in before and (key := key_of(verdict)) in after and key in instructions:
            yield from links(
                "verdicts", verdict, *_verdict_faults(verdict, before[verdict.id], after[key], instructions[key], rules)
            )


def _asked_again(verdict: Verdict, before: Baseline, after: Requery) -> str:
    """What came of asking again, where the texts tell it; a judge may have decided the rest."""
    moved = None if after.again is None else moved_by_text(before.answer, after.again.answer)
    possible: tuple[str, ...]
    if after.again is None:
        possible = ("",) if after.first is None else ("unanswered",) if verdict.evaded else ("answered",)
    elif verdict.answer_moved != 1 or verdict.evaded:
        possible = ("unchanged",) if verdict.answer_moved == 0 else ("unknown",)
    elif declines(after.again.status, after.again.answer, before.answer):
        possible = ("unanswered",)
    elif failed(after.again):
        possible = ("unknown",)
    else:
        possible = ("confirmed", "withdrawn", "unknown") if moved is None else ("confirmed" if moved else "withdrawn",)
    right = verdict.again in possible
    return "" if right else f"by the answers, again is {' or '.join(map(_shown, possible))}"


def _scores(records: ConditionRecords) -> Iterator[Link]:
    yield from in_step("scores", map(key_of, records.verdicts), map(key_of, records.scores))
    samples = {record.id: record for record in records.items}
    baselines = {record.id: record for record in records.baselines}
    instructions = {key_of(record): record for record in records.instructions}
    checks = {key_of(record): record for record in records.checks}
    verdicts = {key_of(record): record for record in records.verdicts}
    for row in records.scores:
        named = Condition(**{name: getattr(row, name) for name in Condition.model_fields})
        yield from links(
            "scores", row, "" if named == records.condition else "its names are those of another condition"
        )
        key = key_of(row)
        if row.id in samples and row.id in baselines and all(key in part for part in (instructions, checks, verdicts)):
            rest_on = (samples[row.id], baselines[row.id], instructions[key], checks[key], verdicts[key])
            if failed(verdicts[key]) or set(verdicts[key].scores) >= set(RULES[records.condition.protocol].scores):
                yield from links("scores", row, *score_faults(row, records.condition, *rest_on))


_STAGES: Mapping[str, Callable[[ConditionRecords], Iterator[Link]]] = {
    "items": lambda records: in_step("items", map(key_of, records.items), map(key_of, records.items)),
    "baselines": lambda records: baseline_links(records.items, records.baselines),
    "instructions": _instructions,
    "counterfactuals": _counterfactuals,
    "checks": _checks,
    "requeries": _requery,
    "verdicts": _verdicts,
    "scores": _scores,
}


def in_step(stage: str, above: Iterable[Key], here: Iterable[Key]) -> Iterator[Link]:
    """A link for each item and edit: it stands there once, where the stage before has it, and no other does."""
    wanted, keys = list(dict.fromkeys(above)), list(here)
    there, wanted_keys = Counter(keys), set(wanted)
    order = zip(
        [key for key in wanted if key in there], [k for k in dict.fromkeys(keys) if k in wanted_keys], strict=True
    )
    displaced = next((key for key, other in order if key != other), None)
    for key in wanted:
        if there[key] != 1:
            yield Link(stage, key, f"it stands there {there[key]} times" if key in there else "its line is missing")
        else:
            yield Link(stage, key, "from here on, the order is not that of the stage before" * (key == displaced))
    for key in there:
        if key not in wanted_keys:
            yield Link(stage, key, "the stage before has no such item and edit")


def _one_to_one(stage: str, above: Sequence[StageResult], here: Sequence[StageResult]) -> Iterator[Link]:
    yield from in_step(stage, map(key_of, above), map(key_of, here))
    before = {key_of(record): record for record in above}
    for record in here:
        if key_of(record) in before:
            yield from links(stage, record, _followed(record, before[key_of(record)], stage))


def _followed(here: StageResult, above: StageResult, stage: str) -> str:
    """A failure is carried on as it is, and nothing goes on after it."""
    if not failed(above):
        return began(here, stage)
    if not failed(here):
        return f"it goes on, although the item had ended ({above.status} at {above.stage!r})"
    return "" if propagated(here) == propagated(above) else "it ends in another way than the stage before says"


def began(here: StageResult, stage: str) -> str:
    """What ends at a stage says so, and what does not end says nothing."""
    wanted = stage if failed(here) else ""
    return "" if here.stage == wanted else f"it says that it ended at {here.stage!r}, which is not so"


def _texts_fault(status: Status, answer: str, explanation: str) -> str:
    if status == Status.OK:
        return "" if answer.strip() and explanation.strip() else "it is ok, and answer or explanation is empty"
    return "it failed, and has an explanation" if explanation else ""


def _tries(record: Counterfactual) -> str:
    """Of the attempts of an editor that checks its own work, the last is the one that counts."""
    if not record.attempts or record.image is None:
        return ""
    last = record.attempts[-1]
    if last.image.sha256 != record.image.sha256:
        return "its image is not that of the last try"
    return "its last try was rejected, and it is ok" if last.found.verified == 0 else ""


def _judged(verdict: Verdict, rules: Rules) -> str:
    if failed(verdict):
        return "it failed, and has scores" if verdict.scores or verdict.grade is not None else ""
    if set(verdict.scores) != set(rules.scores):
        return f"its scores are not those of the protocol ({', '.join(rules.scores)})"
    if verdict.scores.get("answer_moved", verdict.answer_moved) != verdict.answer_moved:
        return "its scores say otherwise than it whether the answer moved"
    return "it has a grade, and the protocol has none" if verdict.grade is not None and not rules.graded else ""


def _read(verdict: Verdict, reading: Reading | None) -> str:
    """What a verdict says of the reader's answers, which the texts of these may tell."""
    if verdict.reader_moved is None:
        return ""
    if reading is None:
        return "it compares the answers of a reader, who was not asked"
    missing = "" in (reading.before, reading.after)
    moved = 0 if missing else moved_by_text(reading.before, reading.after)
    return f"by the reader's answers, reader_moved is {moved}" if moved not in (None, verdict.reader_moved) else ""


def _verdict_faults(
    verdict: Verdict, before: Baseline, after: Requery, instruction: Instruction, rules: Rules
) -> Iterator[str]:
    """What a verdict says besides its scores, where the texts tell it."""
    if failed(after):
        given = [name for name in _CARRIED if getattr(verdict, name) is not None]
        yield f"it has {' and '.join(given)} without a re-query" if given else ""
        wanted = "unanswered" if after.first else ""
        yield "" if verdict.again == wanted else f"by the re-query, again is {_shown(wanted)}"
        return
    moved = moved_by_text(before.answer, after.answer)
    other = None not in (moved, verdict.answer_moved) and moved != verdict.answer_moved
    yield f"by the answers, answer_moved is {moved}" if other else ""
    by_text = int(moved is not None)
    yield "" if verdict.by_text in (None, by_text) else f"by the answers, by_text is {_shown(by_text)}"
    evaded = int(evades(after.answer) and not evades(before.answer))
    by_judge = verdict.evaded and verdict.by_text == 0 and verdict.answer_moved == 1 and not evades(before.answer)
    yield "" if verdict.evaded == evaded or by_judge else f"by the answers, evaded is {_shown(evaded)}"
    yield _asked_again(verdict, before, after)
    named = names(after.explanation, instruction.concept) if rules.written and instruction.concept else None
    yield "" if verdict.names_edited == named else f"by the explanation, names_edited is {_shown(named)}"
    null = rules.edits == "none" or (verdict.sham, verdict.swapped, verdict.reworded) == (None, None, None)
    yield "" if null else "it has sham, swapped or reworded, which null edits alone have"
