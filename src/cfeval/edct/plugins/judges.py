"""Judges: the texts before and after the edit → the two scores of the protocol, and its grade.

`chat` and `blind` are chat models, asked once or several times; `panel` is several judges as one; `lexical` and `noisy`
are instruments. EDCT 2025, Section 3, Stage 4: where a judge is asked several times, a strict majority decides.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar, Literal, TypeVar

from pydantic import Field

from cfeval.core import plugin, registry
from cfeval.core.errors import InputError, PluginError, nearest
from cfeval.core.records import Binary, Status
from cfeval.core.registry import CallEstimate
from cfeval.core.sampling import derive_seed
from cfeval.edct.interfaces import Change, Judge, JudgeReply, JudgeRequest
from cfeval.edct.metrics import majority, median_grade
from cfeval.edct.panels import distinct, members, odd, together, undecided
from cfeval.edct.protocols import controls, edct_2025
from cfeval.edct.protocols import edct_bench_2026 as bench
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025, EDCT_BENCH_2026, RULES
from cfeval.inference import prompts
from cfeval.inference.chat import ChatModel
from cfeval.inference.prompts import ParsedReply, Prompt, PromptTemplate, generate_parsed, named_texts

T = TypeVar("T")
# Of the texts, where what was said of the counterfactual image stands first.
ORDER = (
    "question",
    "edited_answer",
    "edited_explanation",
    "edit_instruction",
    "original_answer",
    "original_explanation",
)
COMPARED = ("original_answer", "original_explanation", "edited_answer", "edited_explanation")
WITH_INSTRUCTION = (
    "original_answer",
    "original_explanation",
    "edit_instruction",
    "edited_answer",
    "edited_explanation",
)
SEEN = ("question", *COMPARED)
_BLOCK = re.compile(rf"^<([a-z-]+-\{{mark\}})>\n\{{({'|'.join(ORDER)})\}}\n</\1>$", re.MULTILINE)
# What a judge is asked under a protocol: for the scores, and then for the grade where there is one.
Forms = tuple[PromptTemplate[Any], ...]
_COMPARE = PromptTemplate("controls", "compare", COMPARED, controls.COMPARE_SCHEMA, controls.read_comparison)
# By protocol, for a judge that reads texts.
FORMS: Mapping[str, Forms] = {
    EDCT_2025: (PromptTemplate(EDCT_2025, "judge", WITH_INSTRUCTION, edct_2025.JUDGE_SCHEMA, edct_2025.read_verdict),),
    EDCT_BENCH_2026: (
        PromptTemplate(
            EDCT_BENCH_2026, "judge", WITH_INSTRUCTION, bench.JUDGE_SCHEMA, bench.read_verdict, bench.MAX_TOKENS
        ),
        PromptTemplate(
            EDCT_BENCH_2026,
            "grade",
            WITH_INSTRUCTION,
            bench.GRADE_SCHEMA,
            bench.read_grade,
            bench.MAX_TOKENS_OF_A_GRADE,
        ),
    ),
    **dict.fromkeys(CONTROLS, (_COMPARE,)),
}


class JudgePlugin(prompts.ChatPlugin):
    """A judge that is a chat model: how it is asked."""

    by_protocol: ClassVar[bool] = True

    votes: int = Field(1, ge=1)
    """How often it is asked, an odd number; each score is what more than half of the votes say."""
    order: Literal["original-first", "edited-first"] = "original-first"
    """Whose answer and explanation it reads first."""

    _odd = odd

    def ordered(self, form: PromptTemplate[Any]) -> PromptTemplate[Any]:
        """A form in the order that is wanted."""
        return replace(form, arrange=edited_first) if self.order == "edited-first" else form

    def estimate_calls(self, protocol: str = "") -> tuple[CallEstimate, ...]:
        """For each sample those of every form."""
        return self.votes * super().estimate_calls(protocol)


class ChatJudge:
    """Asks a chat model; see `cfeval.inference.prompts`. The grade is asked for in a conversation of its own."""

    def __init__(
        self, model: ChatModel, options: JudgePlugin, forms: Mapping[str, Forms], needs_image: bool = False
    ) -> None:
        self.model = model
        self.options = options
        self.forms = forms
        self.needs_image = needs_image
        self._prompts = cache(lambda protocol: [options.prompt(form) for form in forms[protocol]])

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Have a request judged.

        Raises:
            PluginError: a request lacks what its protocol judges by.
        """
        if request.protocol not in self.forms:
            raise PluginError(
                f"a judge cannot judge by protocol '{request.protocol}'; {nearest(request.protocol, self.forms)}"
            )
        forms = self.forms[request.protocol]
        if forms[0].seen and request.image is None:
            raise PluginError(f"item '{request.item}': the judge sees the counterfactual image, and there is none")
        if "edit_instruction" in forms[0].placeholders and not request.changes:
            raise PluginError(
                f"item '{request.item}': {request.protocol} is judged by the instruction, and there is none"
            )
        votes = await asyncio.gather(*(self._sample(request, number) for number in range(self.options.votes)))
        return count_votes({f"sample {n}": vote for n, vote in enumerate(votes, start=1)}, request.protocol)

    async def _sample(self, request: JudgeRequest, number: int) -> JudgeReply:
        scored, *graded = self._prompts(request.protocol)
        seed = derive_seed(request.seed, "sample", number)
        parsed = await self._ask(request, scored, seed)
        if parsed.value is None:
            return JudgeReply(
                completion=parsed.completion, status=parsed.status, reason=parsed.reason, calls=parsed.calls
            )
        fields = parsed.value.model_dump()
        scores = {name: fields[name] for name in RULES[request.protocol].scores}
        stated = {"stated_ccs": fields.get("ccs"), "evades": fields.get("answer_evades")}
        reply = JudgeReply(scores, **stated, completion=parsed.completion, calls=parsed.calls)
        for form in graded:
            grade = await self._ask(request, form, derive_seed(seed, "grade"))
            raw = named_texts({"scores": reply.completion, "grade": grade.completion})
            reply = replace(reply, completion=raw, calls=reply.calls + grade.calls)
            if grade.value is None:
                reason = f"{grade.status}, {grade.reason}" if grade.reason else str(grade.status)
                reply = replace(reply, grade_reason=reason)
            else:
                reply = replace(reply, grade=float(grade.value.grade))
        return reply

    async def _ask(self, request: JudgeRequest, prompt: Prompt[Any], seed: int) -> ParsedReply[Any]:
        values = {
            "question": request.question,
            "original_answer": request.answer,
            "original_explanation": request.explanation,
            "edit_instruction": _instruction_text(request.changes),
            "edited_answer": request.new_answer,
            "edited_explanation": request.new_explanation,
        }
        named = {name: values[name] for name in prompt.form.placeholders}
        return await generate_parsed(self.model, prompt, request.item, named, seed, request.image)


def edited_first(template: str) -> str:
    """A template with its texts in another order: what was said of the counterfactual image stands before the rest.

    Raises:
        InputError: a text does not stand once, between tags of its own.
    """
    blocks = {block[2]: block[0] for block in _BLOCK.finditer(template)}
    loose = [name for name in ORDER if template.count(f"{{{name}}}") != (name in blocks)]
    if loose:
        raise InputError(
            f"order: edited-first moves texts, and {{{loose[0]}}} does not stand once, on a line of its own between "
            "two tags that end in {mark}; write it so, or leave order out"
        )
    ordered = iter(sorted(blocks, key=ORDER.index))
    return _BLOCK.sub(lambda _: blocks[next(ordered)], template)


def _instruction_text(changes: Sequence[Change]) -> str:
    """The instructions in order, numbered where there are several; then each part is one line, so that none can pose as
    another edit."""
    if len(changes) == 1:
        return _parts(changes[0])
    lines = (Change(" ".join(change.positive.split()), " ".join(change.negative.split())) for change in changes)
    return "\n\n".join(f"Edit {number}\n{_parts(change)}" for number, change in enumerate(lines, start=1))


def _parts(change: Change) -> str:
    negative = f"\nNegative part: {change.negative}" if change.negative else ""
    return f"Positive part: {change.positive}{negative}"


def count_votes(replies: Mapping[str, JudgeReply], protocol: str) -> JudgeReply:
    """The verdict of a panel; a single member's is left as it is.

    Each score is what more than half of the members say; the grade is the median of theirs, if more than half gave one.
    A member that failed has no vote and still counts as one of the panel. Where all failed in the same way, that is how
    the panel failed; where there is no majority otherwise, the reply is `unparsable` and its reason names the votes.

    Returns:
        No product is stated: a panel states none.
    """
    members = list(replies.values())
    if len(members) == 1:
        return members[0]
    raw, calls = together(replies)
    voting = [reply if reply.status == Status.OK else JudgeReply() for reply in members]
    majorities = {name: majority([reply.scores.get(name) for reply in voting]) for name in RULES[protocol].scores}
    decided = {name: bit for name, bit in majorities.items() if bit is not None}
    scores = decided if len(decided) == len(RULES[protocol].scores) else None
    if scores is None:
        votes = _member_texts(
            replies, lambda reply: " ".join(f"{name.upper()} {bit}" for name, bit in reply.scores.items())
        )
        reason = f"no majority ({votes})"
        return JudgeReply(completion=raw, status=undecided(replies), reason=reason, calls=calls)
    grade = median_grade([reply.grade for reply in voting])
    missing = ""
    if RULES[protocol].graded and grade is None:
        grades = _member_texts(
            replies, lambda reply: f"{reply.grade:g}" if reply.grade is not None else reply.grade_reason or "none"
        )
        missing = f"no majority gave a grade ({grades})"
    evades = majority([reply.evades for reply in voting])
    return JudgeReply(scores, grade, missing, evades=evades, completion=raw, calls=calls)


def _member_texts(replies: Mapping[str, JudgeReply], text_of: Callable[[JudgeReply], str]) -> str:
    """What each member of a panel gave, or why it gave nothing."""
    texts = []
    for name, reply in replies.items():
        failure = f"{reply.status}, {reply.reason}" if reply.reason else str(reply.status)
        texts.append(f"{name}: {text_of(reply) if reply.status == Status.OK else failure}")
    return ", ".join(texts)


class ChatPlugin(JudgePlugin):
    """A judge that is any chat model, asked once or several times (EDCT 2025, Section 3, Stage 4: self-consistency).

    Templates in an own folder: judge.md, judge_repair.md; for edct-bench-2026 grade.md, grade_repair.md too; for the
    controls compare.md, compare_repair.md. With `wording: b` it is judge_b.md, grade_b.md, compare_b.md.
    """

    wording: Literal["a", "b"] = "a"
    """Which of two templates for the same task, rules and form of reply."""

    def forms(self, protocol: str = "") -> Forms:
        """What is asked under a protocol."""
        ending = "" if self.wording == "a" else f"_{self.wording}"
        return tuple(replace(self.ordered(form), opening=f"{form.name}{ending}") for form in FORMS[protocol])

    def build(self) -> Judge:
        """The judge."""
        return ChatJudge(registry.build("chat", self.model), self, {name: self.forms(name) for name in FORMS})


class BlindPlugin(JudgePlugin):
    """A judge that is any chat model with eyes: it is shown the edited image, and is not told what was edited.

    Neither paper has it. It must find out from the image which of the cited evidence has changed, so that it does not
    take an instruction for an edit that was never made; its disagreement with the judge of the texts is reported. Under
    the controls, where no judge is told of an edit, it compares the texts like any other.

    Templates in an own folder: those of the judge `chat`, but blind_judge.md, blind_grade.md for judge.md, grade.md.
    """

    def forms(self, protocol: str = "") -> Forms:
        """What is asked under a protocol."""
        return tuple(
            self.ordered(
                form
                if protocol in CONTROLS
                else replace(form, opening=f"blind_{form.name}", placeholders=SEEN, seen=True)
            )
            for form in FORMS[protocol]
        )

    def build(self) -> Judge:
        """The judge."""
        return ChatJudge(
            registry.build("chat", self.model), self, {name: self.forms(name) for name in FORMS}, needs_image=True
        )


class PanelPlugin(plugin.Plugin):
    """Several judges as one, by strict majority over all of them (EDCT 2025, Section 3, Stage 4)."""

    judges: tuple[dict[str, Any], ...] = plugin.component("judges", min_length=1)
    """The judges: the plugin and options of each; none twice, since one answer would count twice."""
    _distinct = distinct

    def build(self) -> Judge:
        """The panel."""
        return Panel(members("judges", self.judges))


class Panel:
    """Each score is what more than half of the judges say; see `cfeval.edct.plugins.judges`."""

    def __init__(self, judges: Mapping[str, Judge]) -> None:
        """PluginError where some are told of the edits and others are not."""
        self.judges = judges
        self.needs_image = any(judge.needs_image for judge in judges.values())
        if not all(judge.needs_image == self.needs_image for judge in judges.values()):
            blind = ", ".join(name for name, judge in judges.items() if judge.needs_image)
            raise PluginError(f"panel: {blind} must not know the edits, the others must; make two panels of them")

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Have every judge judge a request."""
        replies = await asyncio.gather(*(judge.judge(request) for judge in self.judges.values()))
        return count_votes(dict(zip(self.judges, replies, strict=True)), request.protocol)


class LexicalPlugin(plugin.Plugin):
    """A deliberately naive judge: did the words change? It shows how far a verdict can depend on the judge alone."""

    def build(self) -> Judge:
        """The lexical judge."""
        return Lexical()


class Lexical:
    """First score: some word of the answer changed. Second: some word of the explanation changed.

    So under every protocol: PCS and NCC, AC and EF, and for the controls what moved. The grade is 1, and two more for
    each of the two. No instruction is read.
    """

    needs_image = False

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Compare the words before and after."""
        rules = RULES[request.protocol]
        answer = _changed(request.answer, request.new_answer)
        explanation = _changed(request.explanation, request.new_explanation)
        return JudgeReply(
            scores=dict(zip(rules.scores, (answer, explanation), strict=True)),
            grade=1 + 2 * (answer + explanation) if rules.graded else None,
            stated_ccs=None if request.protocol in CONTROLS else 1 if answer and explanation else 0,
        )


def _changed(before: str, after: str) -> Binary:
    return 1 if _tokens(before) != _tokens(after) else 0


def _tokens(text: str) -> list[str]:
    return sorted(re.findall(r"\w+", text.lower()))


NO_GRADE = "a judge of known error gives no grade"


class NoisyPlugin(plugin.Plugin):
    """A test instrument: another judge made to err at known rates, to check a correction for a judge's error against.

    Of the two rates the usual ones: sensitivity is the chance that a 1 stays 1, specificity that a 0 stays 0 (Rogan and
    Gladen 1978 correct a rate for them). Each score errs on its own, so a product is right where both are 1 with the
    square of the sensitivity.
    """

    judge: dict[str, Any] = plugin.component("judges")
    """The judge: its plugin and options."""
    sensitivity: float = Field(0.9, ge=0, le=1)
    """Share of scores of 1 that are left."""
    specificity: float = Field(0.9, ge=0, le=1)
    """Share of scores of 0 that are left."""
    seed: int = 0
    """Of the errors; another one errs on other items."""

    def build(self) -> Judge:
        """The judge with errors."""
        return Noisy(self, registry.build("judges", self.judge))


class Noisy:
    """Flips scores by a hash of the request; statuses are passed on as they are, grades are not."""

    def __init__(self, options: NoisyPlugin, judge: Judge) -> None:
        self.options = options
        self.wrapped = judge
        self.needs_image = judge.needs_image

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Judge a request, and err."""
        reply = await self.wrapped.judge(request)
        if reply.status != Status.OK:
            return reply
        changes = (change.positive for change in request.changes)
        texts = (request.item, request.new_answer, request.new_explanation, *changes)
        scores: dict[str, Binary] = {}
        for name, bit in reply.scores.items():
            draw = derive_seed(self.options.seed, request.seed, request.protocol, name, *texts) / 2**31
            kept = draw < (self.options.sensitivity if bit else self.options.specificity)
            scores[name] = bit if kept else 0 if bit else 1
        reason = NO_GRADE if reply.grade is not None else reply.grade_reason
        stated: Binary | None = None if request.protocol in CONTROLS else 1 if all(scores.values()) else 0
        return replace(reply, scores=scores, stated_ccs=stated, grade=None, grade_reason=reason)
