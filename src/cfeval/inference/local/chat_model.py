"""A loaded checkpoint as a chat model: requests in batches, each reply drawn with its own seed.

The next token of every row of a batch is chosen on its own: a row's tokens follow from its scores and its seed.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor

from cfeval.core.records import Status
from cfeval.inference.batching import Batcher
from cfeval.inference.chat import ChatReply, ChatRequest, ScoredReply, scored
from cfeval.inference.local.chat_loading import Conversations, Loaded, UnusableRequestError, images, rough_length
from cfeval.inference.local.devices import out_of_memory, ran_out, release
from cfeval.inference.local.libraries import quiet
from cfeval.inference.thinking import answer_of, is_mark

_SMALLER = "lower max_pixels or max_tokens, set dtype: bfloat16, or spread it with device_map: auto"
# Tokens by which the memory of a compiled model's keys and values grows, each time compiled anew.
_BLOCK = 512


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen, and how many there may be."""

    max_tokens: int
    thinking_tokens: int
    temperature: float
    top_p: float
    repetition_penalty: float
    logprobs: int = 0
    """Of how many of the likeliest tokens the log-probabilities are kept; 0: of none."""


class LocalChat:
    """A chat model in this process; see `cfeval.inference.chat.ChatModel`."""

    def __init__(
        self, loaded: Loaded, conversations: Conversations, sampling: Sampling, batch: int, compiled: bool = False
    ) -> None:
        """`batch` is the most requests that are answered at once; it shrinks when memory runs out.

        What is `compiled` is so for one shape: batches are filled up, and memory for keys and values is kept in blocks.
        """
        self._loaded = loaded
        self._conversations = conversations
        self._sampling = sampling
        self._batch = batch
        self._compiled = compiled
        self._requests = Batcher(self._answer_all)

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Answer a request, in a batch with others; one that the model's processor refuses is `unparsable`.

        Raises:
            PluginError: a single request does not fit into memory.
        """
        return await self._requests.answer(request)

    def _answer_all(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        replies: dict[int, ChatReply] = {}
        with quiet("transformers"):
            for numbers in self._batches(requests):
                answered = self._answer([requests[n] for n in numbers])
                replies.update(zip(numbers, answered, strict=True))
        return [replies[n] for n in range(len(requests))]

    def _batches(self, requests: Sequence[ChatRequest]) -> Iterator[list[int]]:
        """Like goes with like, so that little is padding; the largest comes first, so that memory runs out early."""
        kinds: dict[tuple[int, int], list[int]] = {}
        for n, request in enumerate(requests):
            kinds.setdefault((images(request), self._limit(request)), []).append(n)
        for kind in sorted(kinds, reverse=True):
            waiting = sorted(kinds[kind], key=lambda n: rough_length(requests[n]), reverse=True)
            while waiting:
                taken, waiting = waiting[: self._batch], waiting[self._batch :]
                yield taken

    def _answer(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        """The replies of one batch; a batch that fails is halved until the request that fails stands alone."""
        fault = ""
        try:
            return self._generate(requests)
        except UnusableRequestError as error:
            fault = str(error)
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
        if fault and len(requests) == 1:
            return [ChatReply(model=self._loaded.name, status=Status.UNPARSABLE, reason=fault)]
        if not fault:
            tried = len(requests)
            release()  # outside of the handler, whose traceback would keep the tensors alive
            if tried == 1:
                dtype = str(self._loaded.model.dtype).removeprefix("torch.")
                raise ran_out(f"model '{self._loaded.name}' ({dtype}) answered a single request", _SMALLER)
            self._batch = min(self._batch, max(1, tried // 2))
        half = len(requests) // 2
        return self._answer(requests[:half]) + self._answer(requests[half:])

    def _generate(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        import torch

        model = self._loaded.model
        limit, count = self._limit(requests[0]), len(requests)
        if self._compiled:
            requests = [*requests, *[requests[-1]] * (self._batch - count)]
        encoded = self._conversations.encode(requests)
        attention_mask = encoded["attention_mask"]
        most = getattr(model.config.get_text_config(), "max_position_embeddings", None)
        longest = int(attention_mask.sum(dim=1).max())
        if most and longest >= most:
            raise UnusableRequestError(f"the conversation has {longest} tokens, the model reads at most {most}")
        inputs = {
            name: tensor.to(model.device, model.dtype if tensor.is_floating_point() else None)
            for name, tensor in encoded.items()
        }
        processors, likeliest = self._processors(requests, inputs["attention_mask"], limit)
        prompt = inputs["input_ids"].shape[1]
        kwargs: dict[str, Any] = {}
        if self._compiled:  # transformers compiles on a GPU where keys and values have memory of a fixed size
            size = math.ceil((prompt + limit) / _BLOCK) * _BLOCK
            kwargs = {"cache_implementation": "static", "max_cache_len": size}
        with torch.inference_mode():
            rows = model.generate(
                **inputs, **kwargs, logits_processor=processors, max_new_tokens=limit, do_sample=False
            )
        generated = rows[:count, prompt:].tolist()
        replies = [self._reply(row, limit) for row in generated]
        if likeliest is None:
            return replies
        return [self._scored(reply, generated[n], likeliest.of_row(n)) for n, reply in enumerate(replies)]

    def _limit(self, request: ChatRequest) -> int:
        """The longest reply, in tokens; it is one for all of a batch."""
        return (request.max_tokens or self._sampling.max_tokens) + self._sampling.thinking_tokens

    def _processors(
        self, requests: Sequence[ChatRequest], attention_mask: Any, limit: int
    ) -> "tuple[Any, TopTokens | None]":
        from transformers import LogitsProcessorList

        sampling = self._sampling
        likeliest = TopTokens(sampling.logprobs) if sampling.logprobs else None
        processors = LogitsProcessorList([likeliest] if likeliest else [])
        if sampling.repetition_penalty != 1:
            processors.append(RepetitionPenalty(sampling.repetition_penalty, attention_mask))
        if sampling.temperature > 0:
            seeds = [request.seed for request in requests]
            processors.append(RowSampler(seeds, limit, sampling.temperature, sampling.top_p))
        return processors, likeliest

    def _scored(self, reply: ChatReply, generated: list[int], likeliest: list[list[tuple[int, float]]]) -> ScoredReply:
        """The reply with the log-probabilities of how it could have begun, before any temperature or penalty."""
        tokenizer = self._loaded.tokenizer
        steps = [
            (
                tokenizer.decode([token], skip_special_tokens=True),
                tuple((spelled(tokenizer, token_id), logprob) for token_id, logprob in ranked),
            )
            for token, ranked in zip(generated, likeliest, strict=False)
        ]
        whole = "".join(piece for piece, _ in steps)  # pieces of a letter join to another text than the reply's
        marked = _decoded(tokenizer, generated)
        text = whole if answer_of(marked) == marked else reply.text
        return scored(reply, steps, text)

    def _reply(self, tokens: list[int], limit: int) -> ChatReply:
        """The reply up to the first token that ends it; what stands behind is padding."""
        ends = set(self._loaded.model.generation_config.eos_token_id)
        length = next((n for n, token in enumerate(tokens) if token in ends), None)
        text = _decoded(self._loaded.tokenizer, tokens[:length])
        if length is not None:
            return ChatReply(text=text, model=self._loaded.name)
        reason = f"the reply was cut after max_tokens: {limit}"
        return ChatReply(text=text, model=self._loaded.name, status=Status.TRUNCATED, reason=reason)


def _decoded(tokenizer: Any, tokens: Sequence[int]) -> str:
    """The text of tokens without special ones, but for the marks of thoughts: without them thoughts pass as answer."""
    special = {
        token
        for token, text in zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=True)
        if not is_mark(text)
    }
    return str(tokenizer.decode([token for token in tokens if token not in special]))


def spelled(tokenizer: Any, token: int) -> str:
    """A token with the mark of a blank before it, as it is read: tokenizers write other letters than ASCII as bytes.

    As the tokenizer writes it where it is ASCII, or a part of a letter.
    """
    written = str(tokenizer.convert_ids_to_tokens(token))
    bare = written.lstrip("▁Ġ")
    if bare.isascii():
        return written
    read = tokenizer.decode([token]).strip()
    whole = read and "\N{REPLACEMENT CHARACTER}" not in read
    return written[: len(written) - len(bare)] + read if whole else written


class TopTokens(LogitsProcessor):  # type: ignore[misc]
    """Keeps the log-probabilities of each row's likeliest tokens, step by step, and changes nothing."""

    def __init__(self, most: int) -> None:
        """`most` are kept of each step."""
        self._most = most
        self._steps: list[tuple[Tensor, Tensor]] = []

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """The scores (rows, vocabulary) as they are."""
        del input_ids
        likeliest = torch.log_softmax(scores.float(), dim=-1).topk(min(self._most, scores.shape[-1]), dim=-1)
        self._steps.append((likeliest.indices.cpu(), likeliest.values.cpu()))
        return scores

    def of_row(self, row: int) -> list[list[tuple[int, float]]]:
        """Of each step the likeliest tokens of a row, as numbers, with their log-probabilities."""
        return [list(zip(tokens[row].tolist(), values[row].tolist(), strict=True)) for tokens, values in self._steps]


class RowSampler(LogitsProcessor):  # type: ignore[misc]
    """Leaves each row a single token, so that taking the likeliest takes it.

    Each row has a generator of its own, seeded by its request, and takes one uniform number from it a token; the token
    is where the cumulative distribution passes that number. Nothing of a row depends on the other rows.
    """

    def __init__(self, seeds: Sequence[int], longest: int, temperature: float, top_p: float) -> None:
        """`longest` is the most tokens that will be drawn."""
        drawn = [
            torch.rand(longest, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) for seed in seeds
        ]
        self._uniform = iter(torch.stack(drawn, dim=1))
        self._temperature = temperature
        self._top_p = top_p

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores (rows, vocabulary) with all but the drawn token of each row at minus infinity."""
        del input_ids
        precise = (scores.cpu() if scores.device.type == "mps" else scores).double()  # mps has no numbers of 64 bits
        probabilities = nucleus(torch.softmax(precise / self._temperature, dim=-1), self._top_p)
        chosen = draw(probabilities, next(self._uniform).to(precise.device)).to(scores.device)
        return torch.full_like(scores, -torch.inf).scatter_(1, chosen, 0.0)


class RepetitionPenalty(LogitsProcessor):  # type: ignore[misc]
    """Makes tokens that a row already holds less likely (CTRL, Section 4.1); padding is not part of a row."""

    def __init__(self, penalty: float, attention_mask: Tensor) -> None:
        """`attention_mask` (rows, prompt length) is 0 where a prompt is padded."""
        self._penalty = penalty
        self._padded = attention_mask == 0

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Scores (rows, vocabulary); positive ones are divided by the penalty, negative ones multiplied."""
        prompt = self._padded.shape[1]
        last = input_ids[:, prompt - 1 : prompt].expand(-1, prompt)
        own = torch.cat([torch.where(self._padded, last, input_ids[:, :prompt]), input_ids[:, prompt:]], dim=1)
        had = scores.gather(1, own)
        return scores.scatter(1, own, torch.where(had < 0, had * self._penalty, had / self._penalty))


def nucleus(probabilities: Tensor, top_p: float) -> Tensor:
    """Probabilities (rows, vocabulary), those outside the smallest set that holds `top_p` of a row set to 0."""
    if top_p >= 1:
        return probabilities
    ranked = probabilities.sort(dim=-1, descending=True).values
    kept = ranked.cumsum(dim=-1) - ranked < top_p
    threshold = ranked.where(kept, torch.inf).amin(dim=-1, keepdim=True)
    return probabilities.where(probabilities >= threshold, 0.0)


def draw(probabilities: Tensor, uniform: Tensor) -> Tensor:
    """One column a row, (rows, 1), from weights (rows, vocabulary) and a number in [0, 1) a row."""
    cumulative = probabilities.cumsum(dim=-1)
    return torch.searchsorted(cumulative / cumulative[:, -1:], uniform[:, None], right=True)
