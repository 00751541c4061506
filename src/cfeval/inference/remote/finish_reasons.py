"""Why a model ended its reply, as each provider words it: only reasons that are known to be good give an answer.

Gateways pass on the words of the provider behind them (OpenRouter's `native_finish_reason`; Gemini's compatible path
says `content_filter: RECITATION`), so that a word counts wherever it comes from. Case and separators do not matter.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Ending(StrEnum):
    """What a finish reason says about a reply. Of two, the one that stands first here counts."""

    MODERATED = "moderated"
    """A filter of the provider stopped it; it would stop it again."""
    REFUSED = "refused"
    """The model declined."""
    TRUNCATED = "truncated"
    """A limit on tokens cut it off."""
    BROKEN_OFF = "broken_off"
    """The server gave up; another attempt may go well."""
    OTHER = "other"
    """It is no whole answer in words, or nobody knows: a reason that the table lacks is one of these."""
    COMPLETE = "complete"
    """The model was done."""


@dataclass(frozen=True)
class Vocabulary:
    """A provider's words for each ending, and where it lists them."""

    source: str
    words: Mapping[Ending, tuple[str, ...]]


VOCABULARIES: Mapping[str, Vocabulary] = {
    "OpenAI and Azure": Vocabulary(
        "platform.openai.com/docs/api-reference/chat/object; of Responses: status and incomplete_details.reason",
        {
            Ending.COMPLETE: ("stop", "completed"),
            Ending.TRUNCATED: ("length", "max_output_tokens"),
            Ending.MODERATED: ("content_filter",),
            Ending.OTHER: ("tool_calls", "function_call"),
            Ending.BROKEN_OFF: ("failed", "cancelled", "incomplete"),
        },
    ),
    "OpenRouter": Vocabulary(
        "openrouter.ai/docs/api-reference/overview#finish-reason (the other words are OpenAI's)",
        {Ending.BROKEN_OFF: ("error",)},
    ),
    "Gemini": Vocabulary(
        "ai.google.dev/api/generate-content#FinishReason and #BlockReason",
        {
            Ending.COMPLETE: ("STOP",),
            Ending.TRUNCATED: ("MAX_TOKENS",),
            Ending.MODERATED: (
                *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"),
                *("IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
            ),
            Ending.OTHER: (
                *("FINISH_REASON_UNSPECIFIED", "LANGUAGE", "OTHER", "IMAGE_OTHER", "NO_IMAGE"),
                *("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE"),
                "MISSING_THOUGHT_SIGNATURE",
            ),
        },
    ),
    "Anthropic": Vocabulary(
        "docs.claude.com/en/api/handling-stop-reasons",
        {
            Ending.COMPLETE: ("end_turn", "stop_sequence"),
            Ending.TRUNCATED: ("max_tokens", "model_context_window_exceeded"),
            Ending.REFUSED: ("refusal",),
            Ending.OTHER: ("tool_use", "pause_turn"),
        },
    ),
    "Amazon Bedrock": Vocabulary(
        "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, stopReason",
        {
            Ending.MODERATED: ("guardrail_intervened", "content_filtered"),
            Ending.OTHER: ("malformed_model_output", "malformed_tool_use"),
        },
    ),
    "Mistral": Vocabulary(
        "docs.mistral.ai/api, finish_reason", {Ending.TRUNCATED: ("model_length",), Ending.BROKEN_OFF: ("error",)}
    ),
    "DeepSeek": Vocabulary(
        "api-docs.deepseek.com/api/create-chat-completion, finish_reason",
        {Ending.BROKEN_OFF: ("insufficient_system_resource",)},
    ),
    "Cohere": Vocabulary(
        "docs.cohere.com/reference/chat, finish_reason",
        {
            Ending.COMPLETE: ("COMPLETE",),
            Ending.TRUNCATED: ("ERROR_LIMIT",),
            Ending.MODERATED: ("ERROR_TOXIC",),
            Ending.BROKEN_OFF: ("ERROR", "USER_CANCEL", "TIMEOUT"),
            Ending.OTHER: ("TOOL_CALL",),
        },
    ),
    "Together": Vocabulary("docs.together.ai/reference/chat-completions-1, finish_reason", {Ending.COMPLETE: ("eos",)}),
    "Text Generation Inference": Vocabulary(
        "huggingface.github.io/text-generation-inference, FinishReason", {Ending.COMPLETE: ("eos_token",)}
    ),
    "vLLM and SGLang": Vocabulary(
        "github.com/vllm-project/vllm, vllm/v1/engine, FinishReason; docs.sglang.ai",
        {Ending.BROKEN_OFF: ("abort", "error"), Ending.OTHER: ("repetition",)},
    ),
}

# What providers say of an answer without a reason: none that is known here says that it is whole.
NO_REASON: Mapping[str, str] = {
    "OpenAI and Azure": "learn.microsoft.com/azure/ai-foundry/openai/how-to/chatgpt: null is in progress or incomplete",
    "Gemini": "ai.google.dev/api/generate-content#Candidate: empty, the model has not stopped generating",
    "Anthropic": "docs.claude.com/en/api/messages: null only at the start of a stream, never in a whole answer",
}

# What an unlisted word is taken for by a part of it; none is taken for a good one.
_FORMS: tuple[tuple[re.Pattern[str], Ending], ...] = (
    (re.compile("filter|safety|recitation|block|prohibit|spii|moderat|guardrail|policy|toxic"), Ending.MODERATED),
    (re.compile("refus"), Ending.REFUSED),
    (re.compile("length|(max|limit).*token|token.*(max|limit)|context"), Ending.TRUNCATED),
    (re.compile("abort|cancel|error|resource|overload|timeout|unavailable"), Ending.BROKEN_OFF),
)


def _plain(word: Any) -> str:
    return re.sub("[^a-z0-9]+", "_", str(word).lower()).strip("_")


# The ending of every listed word.
KNOWN: Mapping[str, Ending] = {
    _plain(word): ending for of in VOCABULARIES.values() for ending, words in of.words.items() for word in words
}


def ending_of(word: Any) -> Ending:
    """What a finish reason says."""
    plain = _plain(word)
    return KNOWN.get(plain) or next((ending for form, ending in _FORMS if form.search(plain)), Ending.OTHER)


def finish(choice: Mapping[str, Any], accepted: tuple[str, ...] = ()) -> tuple[Ending | None, str]:
    """What the finish reason of a choice says, or the native one beside it where that is worse, and the word.

    Args:
        choice: of a completion.
        accepted: further words that are to count as good; `null` stands for no reason at all.

    Returns:
        None for the ending where the answer gives no reason at all.
    """
    good = {_plain(word) for word in accepted}
    said = [choice.get(name) for name in ("finish_reason", "native_finish_reason")]
    told = [(Ending.COMPLETE if _plain(word) in good else ending_of(word), str(word)[:60]) for word in said if word]
    worst = min(told, key=lambda one: list(Ending).index(one[0]), default=None)
    if worst is None or (worst[0] is Ending.COMPLETE and not said[0]):
        return (Ending.COMPLETE, "null") if "null" in good else (None, "")
    return worst
