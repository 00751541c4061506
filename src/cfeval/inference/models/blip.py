"""A local model of the BLIP family: one question about one image, without a template of conversations.

BLIP-2 and InstructBLIP (Table 7 of C-VQA, ViperGPT's `simple_query`) and BLIP-VQA (VisProg's `VQA`) load from a folder
or from the Hugging Face hub by their classes in `transformers`. What is asked is put as it stands: `family: blip` of
the solver `chat` words it as the models were trained on. Replies are searched by beams and nothing is drawn.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import PIL.Image
from pydantic import Field

from cfeval.core.errors import PluginError
from cfeval.core.records import Status
from cfeval.core.registry import Diagnostic, Resources
from cfeval.inference.batching import Batcher
from cfeval.inference.chat import ChatModel, ChatReply, ChatRequest
from cfeval.inference.local import devices, pretrained
from cfeval.inference.local.hub import Checkpoint, read_json, weights_fault, weights_size
from cfeval.inference.local.libraries import LocalOptions, check_packages, first_line, quiet

# By `model_type` of a checkpoint: the class of transformers that loads it.
KINDS = {
    "blip": "BlipForQuestionAnswering",
    "blip-2": "Blip2ForConditionalGeneration",
    "instructblip": "InstructBlipForConditionalGeneration",
}
_SMALLER = "set dtype: float16, or take a smaller model"


class Plugin(pretrained.LocalPlugin, LocalOptions):
    """Which model, and how its reply is searched; C-VQA runs LAVIS's models with the defaults."""

    samples: ClassVar[bool] = False
    """It replies alike to every seed."""

    dtype: devices.Dtype = "auto"
    """Type of the weights and of the arithmetic; auto is the type in which they are stored."""
    batch: int = Field(8, ge=1, le=1024)
    """Questions answered at once."""
    beams: int = Field(5, ge=1, le=64)
    """Replies that are followed at a time; 1 takes the likeliest token."""
    max_tokens: int = Field(250, ge=1)
    """Longest reply, in tokens (ViperGPT: 10); a longer one is cut and has the status `truncated`."""
    length_penalty: float = Field(1.0, ge=-5, le=5)
    """Over 0 favours long replies, under 0 short ones (ViperGPT: -1)."""

    def resources(self) -> Resources:
        """A GPU, unless the processor is asked for."""
        return Resources(gpu=0 if self.device == "cpu" else 1)

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether packages, device, checkpoint and memory will do; loads no weights."""

        def room() -> pretrained.Room:
            device = devices.chosen(self.device)
            return pretrained.Room(device, device, devices.memory(device), _SMALLER)

        def size(folder: Path) -> int:
            return weights_size(folder, self.dtype)

        yield from pretrained.findings(checkpoint_of(self), (), room, size)

    def build(self) -> ChatModel:
        """Load the model."""
        return load(self)


def checkpoint_of(options: LocalOptions) -> Checkpoint:
    """The checkpoint that options name."""
    return Checkpoint(options.model, options.revision, "config.json", _fault)


def _fault(folder: Path) -> str:
    if fault := weights_fault(folder):
        return fault
    kind = read_json(folder / "config.json").get("model_type", "")
    if kind not in KINDS:
        return f"model_type {kind!r} is none of {', '.join(KINDS)}; the plugin 'transformers' loads chat models"
    if not any((folder / name).is_file() for name in ("processor_config.json", "preprocessor_config.json")):
        return "the image processor is missing (preprocessor_config.json)"
    return ""


_SAFE = {"local_files_only": True, "trust_remote_code": False}
_ALONE = "this model answers one question about one image; a conversation, and a question without an image, it cannot"


def load(options: Plugin) -> "Blip":
    """Load a checkpoint by the class of its `model_type`.

    Raises:
        PluginError: one line: it is incomplete or cannot be fetched, or this machine lacks what it needs.
    """
    check_packages(())
    device = devices.chosen(options.device)
    checkpoint = checkpoint_of(options)
    folder = checkpoint.whole()
    name = checkpoint.name(folder)
    try:
        with quiet("transformers"), devices.memory_errors(f"loading model '{name}'", "set dtype: float16"):
            import transformers

            library: Any = transformers
            kind = getattr(library, KINDS[read_json(folder / "config.json")["model_type"]])
            processor = library.AutoProcessor.from_pretrained(folder, **_SAFE)
            kwargs = {"dtype": options.dtype, "use_safetensors": True, "output_loading_info": True, **_SAFE}
            model, loading_info = kind.from_pretrained(folder, **kwargs)
            pretrained.check_complete(name, loading_info)
            return Blip(name, model.to(device).eval(), processor, options)
    except PluginError:
        raise
    except Exception as error:
        raise PluginError(f"model '{name}' cannot be loaded ({first_line(error, folder, name)})") from error


class Blip:
    """A chat model that answers single questions about single images; see `cfeval.inference.chat.ChatModel`."""

    def __init__(self, name: str, model: Any, processor: Any, options: Plugin) -> None:
        self._name, self._model, self._processor, self._options = name, model, processor, options
        self._requests = Batcher(self._answer_all)

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Answer a request, in a batch with others; one that is no question about an image is `unparsable`."""
        if len(request.turns) != 1 or len(request.turns[0].images) != 1:
            return ChatReply(model=self._name, status=Status.UNPARSABLE, reason=_ALONE)
        return await self._requests.answer(request)

    def _answer_all(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        size, by_number = self._options.batch, dict[int, ChatReply]()
        with quiet("transformers"), devices.memory_errors(f"model '{self._name}' answered", "lower batch"):
            # Questions of one length in tokens go together: where nothing is padded, no reply hangs on the others'.
            kinds: dict[tuple[int, int], list[int]] = {}
            token_ids = self._processor.tokenizer([request.turns[0].text for request in requests])["input_ids"]
            for number, ids in enumerate(token_ids):
                kinds.setdefault((len(ids), self._limit(requests[number])), []).append(number)
            for same in kinds.values():
                for start in range(0, len(same), size):
                    numbers = same[start : start + size]
                    replies = self._answer([requests[number] for number in numbers])
                    by_number.update(zip(numbers, replies, strict=True))
        return [by_number[number] for number in range(len(requests))]

    def _limit(self, request: ChatRequest) -> int:
        return request.max_tokens or self._options.max_tokens

    def _answer(self, requests: Sequence[ChatRequest]) -> list[ChatReply]:
        import torch

        turns = [request.turns[0] for request in requests]
        images = [PIL.Image.fromarray(turn.image.pixels) for turn in turns if turn.image is not None]
        inputs = self._processor(
            images=images, text=[turn.text for turn in turns], truncation=True, return_tensors="pt"
        )
        moved = {
            name: tensor.to(self._model.device, self._model.dtype if tensor.is_floating_point() else None)
            for name, tensor in inputs.items()
        }
        kwargs = {"num_beams": self._options.beams, "length_penalty": self._options.length_penalty, "do_sample": False}
        limit = self._limit(requests[0])
        with torch.inference_mode():
            rows = self._model.generate(**moved, max_new_tokens=limit, **kwargs)
        prompt = moved["input_ids"]
        echoed = rows.shape[1] >= prompt.shape[1] and bool((rows[:, : prompt.shape[1]] == prompt).all())
        generated = rows[:, prompt.shape[1] :] if echoed else rows  # a decoder alone repeats what it was told
        return [self._reply(row, limit) for row in generated.tolist()]

    def _reply(self, tokens: list[int], limit: int) -> ChatReply:
        tokenizer = self._processor.tokenizer
        first = 1 if tokens and tokens[0] in self._begins() else 0
        kept = tokens[first:]
        ends = [place for place, token in enumerate(kept) if token in self._ends()]
        cut = not ends and len(kept) >= limit
        text = tokenizer.decode(kept[: ends[0] if ends else limit], skip_special_tokens=True).strip()
        if cut:
            reason = f"the reply was cut after max_tokens: {limit}"
            return ChatReply(text=text, model=self._name, status=Status.TRUNCATED, reason=reason)
        return ChatReply(text=text, model=self._name)

    def _begins(self) -> set[int]:
        """Tokens that begin what a decoder says, and are no part of it."""
        tokenizer, config = self._processor.tokenizer, self._text_config()
        named = (getattr(config, "decoder_start_token_id", None), getattr(config, "bos_token_id", None))
        return {*named, tokenizer.bos_token_id, tokenizer.cls_token_id} - {None}

    def _ends(self) -> set[int]:
        """Tokens that end a reply: of BLIP-VQA the separator, of the others what their language model says."""
        config, generation = self._text_config(), getattr(self._model, "generation_config", None)
        language = getattr(self._model, "language_model", None)
        token_ids: set[int] = set()
        for token_id in (
            getattr(config, "eos_token_id", None),
            getattr(config, "sep_token_id", None),
            getattr(generation, "eos_token_id", None),
            getattr(getattr(language, "generation_config", generation), "eos_token_id", None),
            self._processor.tokenizer.eos_token_id,
            self._processor.tokenizer.sep_token_id,
        ):
            token_ids |= set(token_id if isinstance(token_id, list) else [token_id]) - {None}
        return token_ids

    def _text_config(self) -> Any:
        return self._model.config.text_config
