"""Thoughts before a reply: their marks around the answer, which models think, and how many tokens that takes.

Marks of thoughts, tokens that end a turn and tags around a whole reply have one list for targets, writers, judges,
gates and readers. Sources: the reasoning parsers of vLLM and SGLang, the chat templates of the models and of llama.cpp.
A mark that a text quotes stays: in quotation marks or backticks, inside a JSON string, in mid-sentence. The time is
linear in the length of the text, whatever the text.

Every provider counts thoughts against the limit on tokens of a reply. So that a limit that is meant for the reply cuts
no model off while it still thinks, room for thoughts is added to it.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal, NamedTuple

_NAMES = (
    r"think(?:ing)?|thoughts?|thought[_-]process|reason(?:ing)?|reasoning[_-]process|analysis|reflection|scratchpad"
    r"|(?:inner|internal)[_-](?:thoughts?|monologue)|monologue|deliberation|chain[_-]of[_-]thought|cot"
)
# LLaVA-CoT writes its stages in capitals; `<summary>` in small letters is HTML.
_TAG = rf"(?:[a-z]{{2,12}}:)?(?:{_NAMES}|(?-i:SUMMARY|CAPTION))(?::[a-z]+)?"
_BAR, _JOIN = "[|｜]", "[_▁]"
_OPEN = "|".join(
    (
        rf"<{_TAG}(?:\s[^<>\n]{{0,80}})?(?<!/)>",
        r"◁think▷",
        r"(?-i:\[(?:THINK|THINKING|REASONING)\])",
        rf"<{_BAR}(?:think|thinking|thought|reasoning|inner{_JOIN}prefix"
        rf"|(?:begin|start){_JOIN}(?:of{_JOIN})?(?:think|thinking|thoughts?|reasoning)){_BAR}>",
        # gpt-oss; Gemma 4; s1
        r"(?:<\|start\|>\s{0,9}assistant\s{0,9})?<\|channel\|>\s{0,9}(?:analysis\b|commentary\b(?!\s{0,9}to=))"
        r"[^<\n]{0,80}(?:<\|constrain\|>[^<\n]{0,40})?<\|message\|>",
        r"<\|channel>\s{0,9}(?:thought|thinking|analysis)\b",
        r"<\|im_start\|>\s{0,9}think\b",
        # gpt-oss and Granite 3.2, where the server has taken the special tokens out, and in plain words
        r"(?-i:\Aanalysis(?=[A-Z]))",
        r"\A\s*Here(?: is|'s|’s) my thought process:",
    )
)
_CLOSE = "|".join(
    (
        rf"</{_TAG}\s{{0,9}}>",
        r"◁/think▷",
        r"(?-i:\[/(?:THINK|THINKING|REASONING)\])",
        rf"<{_BAR}(?:/(?:think|thinking|thought|reasoning)|inner{_JOIN}suffix"
        rf"|end{_JOIN}(?:of{_JOIN})?(?:think|thinking|thoughts?|reasoning)){_BAR}>",
        r"(?:<\|start\|>\s{0,9}assistant\s{0,9})?<\|channel\|>\s{0,9}final\b[^<\n]{0,40}<\|message\|>",
        r"<channel\|>",
        r"<\|im_start\|>\s{0,9}answer\b",
    )
)
# These end thoughts only where thoughts began by a mark of the same model.
_OWN_CLOSES = {
    r"<\|end\|>|<\|content\|>": re.compile(r"<\|channel\||<\|think", re.IGNORECASE),
    r"(?-i:assistantfinal)": re.compile(r"analysis\Z"),
    r"^Here(?: is|'s|’s) my response:": re.compile(r"\s*Here", re.IGNORECASE),
}
_MARK = re.compile(
    rf"(?P<open>{_OPEN})|(?P<close>{_CLOSE})|(?P<own>{'|'.join(_OWN_CLOSES)})", re.IGNORECASE | re.MULTILINE
)

_ENDS_TURN = (
    r"<\|(?:im_end|im_sep|eot_id|eom_id|eot|eos|eod|eoc|end|end_of_turn|endofturn|endoftext|end_of_text|endofprompt"
    r"|end_of_sentence|end_of_message|return|call|assistant_end|END_OF_TURN_TOKEN|END_RESPONSE|/response)\|>"
    r"|<｜end▁of▁sentence｜>|</s>|<end_of_turn>|<end_of_utterance>|<turn\|>|<eos>|<eod>|<eoa>|<seed:eos>"
    r"|\[\|endofturn\|\]|\[e~\["
)
_ROLE = r"(?:\s{0,9}(?:assistant|model|chatbot)(?![A-Za-z]))?"
_SPECIAL = (
    rf"{_ENDS_TURN}|<\|(?:im_start|start|turn|begin|header_start){_BAR}?>{_ROLE}|<start_of_turn>{_ROLE}"
    rf"|<\|start_header_id\|>{_ROLE}|<\|[A-Za-z0-9_▁-]{{1,40}}\|>|<｜[^<>｜\n]{{1,40}}｜>|<s>|<bos>|<pad>|<unk>|<seed:bos>"
    r"|\[/?INST\]|\[\|[a-z]{1,20}\|\]|\]~b\]"
)
_END = re.compile(_ENDS_TURN, re.IGNORECASE)
# A box or the call of a tool is more than the end of a turn.
_MORE = r"(?:begin|end)_of_(?:box|solution)|python_tag|plugin|(?:start_|end_)?(?:tool|action)"
_KEPT = rf"(?!<[|｜](?:{_MORE})[^|｜]{{0,30}}[|｜]>)"
_FIRST = re.compile(rf"\s*{_KEPT}(?:{_SPECIAL})", re.IGNORECASE)
_LAST = re.compile(rf"\s{{0,30}}{_KEPT}(?:{_SPECIAL})\s{{0,30}}\Z", re.IGNORECASE)
_LONGEST = 99
_OF_HARMONY = ("<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|constrain|>", "<|content|>", "<|channel>")
_IN_WORDS = re.compile(r"\s*Here", re.IGNORECASE)
_ANY = re.compile(r"[<\[◁]|\Aanalysis[A-Z]|\A\s*Here")
_WRAPPED = re.compile(
    r"\s*(?:<(?P<tag>answer|final[_-]?answer|conclusion|response|result|output)\s{0,9}>|<\|begin_of_(?P<token>box|solution)\|>)",
    re.IGNORECASE,
)

_SPAN = re.compile(
    r"`[^`\n]+`|(?<![A-Za-z0-9])\"[^\"\n]+\"(?![A-Za-z0-9])|(?<![A-Za-z0-9])'[^'\n]+'(?![A-Za-z0-9])|“[^”\n]+”|‘[^’\n]+’"
    r"|„[^“”\n]+[“”]|«[^»\n]+»|「[^」\n]+」|『[^』\n]+』"
)
_QUOTE_BEFORE = re.compile(r"(?:(?<![A-Za-z0-9])[\"'`]|[“‘„«‹「『])\Z")
_QUOTE_AFTER = re.compile(r"[\"'`](?![A-Za-z0-9])|[”’“»›」』]")
_IN_SENTENCE = re.compile(r"[\w,][ \t]{1,9}\Z")
_GOES_ON = re.compile(r"[ \t]{1,9}[a-z0-9]|[ \t]{0,9}[.,;:!?)\]]|\s*\Z")
# An answer may begin with most words, and not with these.
_GOES_ON_AFTER_CLOSE = re.compile(
    r"[ \t]{0,9}[.,;:!?)\]](?!\d)|[ \t]{1,9}(?:is|are|was|were|and|or|which|tags?|marks?|tokens?|signs?|appears?"
    r"|stands?|written|printed|painted)\b"
)


class _Mark(NamedTuple):
    start: int
    end: int
    kind: str
    text: str


def answer_of(reply: str) -> str | None:
    """A reply's answer: without thoughts, special tokens at its ends, and a tag around the whole of it.

    It is a part of the reply as it stands there: what follows the last thoughts or, where nothing does, what stands
    before them; up to the first token that ends the turn. A text without any of these comes back as it is.

    Returns:
        None where thoughts begin and never end, so that there is no answer.
    """
    if not _ANY.search(reply) or _is_json(reply):
        return reply
    text = without_thoughts(reply)
    return None if text is None else _unwrapped(text)


def without_thoughts(reply: str) -> str | None:
    """As `answer_of`, with tags and boxes around the answer left where they are."""
    marks = [_Mark(*match.span(), str(match.lastgroup), match.group()) for match in _MARK.finditer(reply)]
    spans = [span.span() for span in _SPAN.finditer(reply)] if marks else []
    marks = [mark for mark in marks if not _is_quoted(reply, mark)]
    last_close = max((mark.start for mark in marks if mark.kind != "open"), default=-1)
    opened: _Mark | None = None
    start, pieces = 0, list[str]()
    for mark in marks:
        if opened is not None:
            if mark.kind == "close" or (mark.kind == "own" and _same_model(opened, mark)):
                opened, start = None, mark.end
        elif mark.kind == "own" or _is_within(mark, spans) or _is_named(reply, mark, last_close):
            continue
        elif mark.kind == "close":
            start = mark.end
            pieces.append("")
        elif not (_IN_WORDS.match(mark.text) and not any(_same_model(mark, other) for other in marks)):
            opened = mark
            pieces.append(reply[start : mark.start])
    if opened is not None:
        return None
    if not pieces:
        return _without_special(reply)
    answers = (_without_special(piece).strip() for piece in reversed([*pieces, reply[start:]]))
    return next(filter(None, answers), "")


def is_mark(token: str) -> bool:
    """Whether a special token of a tokenizer is a mark of thoughts or belongs to one."""
    return token in _OF_HARMONY or _MARK.fullmatch(token) is not None


def _same_model(opened: _Mark, closing: _Mark) -> bool:
    return any(
        re.fullmatch(close.removeprefix("^"), closing.text, re.IGNORECASE) and opening.search(opened.text)
        for close, opening in _OWN_CLOSES.items()
    )


def _is_json(text: str) -> bool:
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def _is_quoted(text: str, mark: _Mark) -> bool:
    before = text[max(0, mark.start - 2) : mark.start]
    return bool(_QUOTE_BEFORE.search(before) and _QUOTE_AFTER.match(text, mark.end))


def _is_within(mark: _Mark, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a mark stands in one of the quotations, which are in order."""
    place = bisect_left(spans, (mark.start, 0)) - 1
    return place >= 0 and mark.end < spans[place][1]


def _is_named(text: str, mark: _Mark, last_close: int) -> bool:
    """Whether a mark stands in mid-sentence; one that begins thoughts would need an end."""
    if not _IN_SENTENCE.search(text, max(0, mark.start - 10), mark.start):
        return False
    if mark.kind == "open":
        return last_close < mark.end and _GOES_ON.match(text, mark.end) is not None
    return _GOES_ON_AFTER_CLOSE.match(text, mark.end) is not None


def _without_special(text: str) -> str:
    """A text up to the first token that ends a turn, without special tokens at its ends."""
    if "<" not in text and "[" not in text and "]" not in text:
        return text
    start = 0
    while match := _FIRST.match(text, start):
        start = match.end()
    spans = [span.span() for span in _SPAN.finditer(text)]
    body = len(text) - len(text[start:].lstrip())
    struck = text.lower().find("<s>", start)
    end = len(text)
    for match in _END.finditer(text, start):
        mark = _Mark(*match.span(), "close", match.group())
        kept = _is_quoted(text, mark) or _is_within(mark, spans) or _is_named(text, mark, -1)
        if mark.start > body and not kept and not (mark.text == "</s>" and -1 < struck < mark.start):
            end = mark.start
            break
    while match := _LAST.search(text, max(start, end - _LONGEST), end):
        end = match.start()
    return text if (start, end) == (0, len(text)) else text[start:end].strip()


def _unwrapped(text: str) -> str:
    """What stands in a tag or box that holds the whole of a text; the end of the reply may have cut its end off."""
    opened = _WRAPPED.match(text)
    if not opened:
        return text
    tag = opened["tag"]
    closing = rf"</{re.escape(tag)}\s{{0,9}}>" if tag else rf"<\|end_of_{opened['token']}\|>"
    closed = list(re.finditer(closing, text, re.IGNORECASE))
    inner = text[opened.end() : closed[0].start() if closed else len(text)].strip()
    whole = not closed or (len(closed) == 1 and not text[closed[0].end() :].strip())
    return inner if whole and inner else text


# How much a model is to think, as providers name it; no provider takes all of these words.
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
# Tokens kept for thoughts where no budget is named.
ROOM = 16_384
# A smaller room cuts most thoughts off; the smallest budget that Anthropic takes.
SHORT = 1_024
# Efforts that leave next to no thoughts.
LITTLE: tuple[Effort, ...] = ("none", "minimal")
# The fifth version of a family or a later one; no date, and no size of three digits.
_LATER = r"([5-9]|\d\d)(?!\d)"
# Families, each from its first version on that thinks unless it is told not to.
#
# Claude thinks by itself from version 5 on, before only where a request says so (platform.claude.com/docs/en/about-
# claude/models); DeepSeek from V4 on (api-docs.deepseek.com/guides/thinking_mode); Kimi from K2.5 on
# (platform.kimi.ai/docs/api/models-overview); OpenAI's from o1 and GPT-5 on
# (developers.openai.com/api/docs/guides/reasoning). GPT-5.1 to 5.4 do only where an effort is named, and have room all
# the same: it costs nothing where it is not used, and gateways name efforts of their own.
_THINKERS = re.compile(
    rf"^o[1-9](-|$)|^gpt-([5-9]|1\d)(?!\d)|^gpt-oss|^codex-mini|claude-([a-z]+-{_LATER}|fable|mythos)"
    r"|^gemini-(2\.5|[3-9]|1\d|flash|pro)|deepseek-(r\d|reasoner|v([4-9]|\d\d))|^r1[-_]|qwq|qvq"
    r"|^qwen-?[3-9](\.\d+)?[-_:]|magistral|^glm-(4\.[15-9]|[5-9])|grok-([4-9]|\d\d|3-mini|code)|^minimax-m[1-9]"
    r"|^kimi-k(2\.[5-9]|[3-9]|\d\d)"
    r"|seed-oss|nemotron|ernie-.*x1|hunyuan-t1|thinking|reason(er|ing)|thinker"
)
# Names of siblings that do not think.
_PLAIN = re.compile(
    r"instruct|non-?(thinking|reasoning)|no-?think|gpt-\d(\.\d)?-chat|qwen-?\d.*-(coder|embedding)|image"
)


def thinks(model: str) -> bool:
    """Whether a model is known, by its name alone, to think before it replies unless it is told not to.

    Args:
        model: its name at a provider, or on the hub: `openai/o3`, `Qwen/Qwen3-8B`, `gemini-2.5-pro`, `x:thinking`.
    """
    name = model.lower().rstrip("/").rpartition("/")[2]
    return _THINKERS.search(name) is not None and not _PLAIN.search(name)


def room_for_thoughts(model: str, effort: Effort | None, tokens: int | None) -> int:
    """How many tokens are kept for thoughts beside the reply.

    Args:
        model: its name.
        effort: how much it is asked to think; None: as it likes.
        tokens: the budget that is named; None: none is.
    """
    if tokens is not None:
        return tokens
    thinking = effort is not None or thinks(model)
    return ROOM if thinking and effort not in LITTLE else 0


def cut_off(model: str, effort: Effort | None, room: int) -> str:
    """One line that warns that thoughts will be cut off, and says what to do; empty where nothing is to be feared."""
    if room >= SHORT or effort in LITTLE or not (effort or thinks(model)):
        return ""
    return (
        f"{model} thinks before it replies, and {room:,} tokens are kept for that: replies will be cut off; "
        f"set thinking_tokens to {ROOM} or more"
    )
