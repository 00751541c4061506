"""Every provider of models by its common name: its address, the variable of its key, and what its requests may hold.

Names of models stand below: which served model is the one asked for, and what in a name tells only a snapshot of it.
This is the only list of them: the plugins, `cfeval init`, the tables of the documentation and the tests read it.
Addresses, variables and parameters are those of the providers' own documentation in November 2026. Where that leaves
open whether every model takes a seed or enforces a JSON schema, none is sent; the options `seed` and `json_schema` of
the plugin `openai` turn them on.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from cfeval.core.errors import nearest


@dataclass(frozen=True)
class Provider:
    """A provider, and the rules of its requests.

    `title` is its name in prose, `aliases` are further names that people type. An empty `base_url` is for the user to
    give, such as `example`; an empty `key_env` means that no key is needed.

    `chat` is the plugin by which `cfeval init` asks its chat models, and `prefix` what LiteLLM puts before their names;
    empty: it has none. `edits` is the plugin by which it edits images; empty: it does not. `protocol`: speaks the
    OpenAI protocol at its address, so that the plugin `openai` takes it as `provider`.

    `batch_share` is how much of the list price a call by its batches costs; None where it has none here.

    The rest holds for that protocol. `seed`: takes a seed. `schema`: enforces a JSON schema. `lists`: lists its models.
    `limit`: the name of its limit on tokens. `body`: what every request holds beside.
    """

    title: str
    base_url: str = ""
    key_env: str = ""
    aliases: tuple[str, ...] = ()
    model: str = "MODEL"
    """How a model is written, for examples."""
    chat: str = "openai"
    prefix: str = ""
    edits: str = ""
    protocol: bool = True
    seed: bool = True
    schema: bool = True
    lists: bool = True
    limit: str = "max_tokens"
    body: Mapping[str, Any] = field(default_factory=dict)
    batch_share: float | None = None
    example: str = "http://localhost:8000/v1"


PROVIDERS: dict[str, Provider] = {
    "openrouter": Provider(
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        model="google/gemini-2.5-flash",
        edits="openrouter_image",
        body={"provider": {"require_parameters": True, "allow_fallbacks": False}},
    ),
    "openai": Provider(
        "OpenAI",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        model="gpt-4o",
        edits="openai_image",
        limit="max_completion_tokens",
        batch_share=0.5,
    ),
    "anthropic": Provider(  # platform.claude.com/docs: Claude's own protocol
        "Anthropic (Claude)",
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        aliases=("claude",),
        model="claude-sonnet-4-5",
        chat="anthropic",
        protocol=False,
        seed=False,
        batch_share=0.5,  # platform.claude.com/docs/en/build-with-claude/batch-processing
    ),
    "gemini": Provider(  # ai.google.dev/gemini-api/docs/openai: unknown fields, `seed` among them, are refused
        "Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        model="gemini-2.5-flash",
        seed=False,
    ),
    "google": Provider(
        "Gemini, by Google's own protocol",
        "https://generativelanguage.googleapis.com/v1beta",
        "GEMINI_API_KEY",
        model="gemini-2.5-flash",
        chat="google",
        protocol=False,
        batch_share=0.5,  # ai.google.dev/gemini-api/docs/batch-api
    ),
    "azure": Provider(
        "Azure OpenAI",
        "",
        "AZURE_OPENAI_API_KEY",
        aliases=("azure_openai",),
        model="DEPLOYMENT",
        edits="openai_image",
        limit="max_completion_tokens",
        lists=False,
        example="https://NAME.openai.azure.com/openai/v1",
    ),
    "bedrock": Provider(  # docs.aws.amazon.com/bedrock, Endpoints: its address names a region
        "Amazon Bedrock",
        "",
        "AWS_BEARER_TOKEN_BEDROCK",
        aliases=("aws", "aws_bedrock", "amazon_bedrock"),
        model="us.amazon.nova-pro-v1:0",
        chat="litellm",
        prefix="bedrock/",
        seed=False,
        schema=False,
        lists=False,
        example="https://bedrock-runtime.REGION.amazonaws.com/openai/v1",
    ),
    "groq": Provider(  # console.groq.com/docs/openai; a schema only with some models
        "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", model="OWNER/MODEL", schema=False
    ),
    "together": Provider(  # docs.together.ai/docs/inference/openai-compatibility; a schema only with some models
        "Together AI",
        "https://api.together.ai/v1",
        "TOGETHER_API_KEY",
        aliases=("together_ai",),
        model="OWNER/MODEL",
        schema=False,
    ),
    "fireworks": Provider(  # docs.fireworks.ai/structured-responses
        "Fireworks AI",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        aliases=("fireworks_ai",),
        model="accounts/fireworks/models/MODEL",
        seed=False,
        lists=False,
    ),
    "mistral": Provider(  # docs.mistral.ai/api: its seed is called random_seed
        "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", aliases=("mistralai",), seed=False
    ),
    "deepseek": Provider(  # api-docs.deepseek.com: replies as JSON objects, but by no schema
        "DeepSeek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", seed=False, schema=False
    ),
    "xai": Provider(  # docs.x.ai/developers
        "xAI (Grok)", "https://api.x.ai/v1", "XAI_API_KEY", aliases=("grok",), limit="max_completion_tokens"
    ),
    "cohere": Provider(  # docs.cohere.com/docs/compatibility-api
        "Cohere", "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY", seed=False, schema=False, lists=False
    ),
    "perplexity": Provider(  # docs.perplexity.ai/docs/sonar/openai-compatibility
        "Perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY", model="sonar-pro", seed=False, lists=False
    ),
    "huggingface": Provider(  # huggingface.co/docs/inference-providers: what is taken depends on who serves the model
        "Hugging Face Inference Providers",
        "https://router.huggingface.co/v1",
        "HF_TOKEN",
        aliases=("hf", "hf_inference"),
        model="OWNER/MODEL",
        seed=False,
        schema=False,
    ),
    "nvidia": Provider(  # docs.api.nvidia.com/nim
        "NVIDIA NIM",
        "https://integrate.api.nvidia.com/v1",
        "NVIDIA_API_KEY",
        aliases=("nim", "nvidia_nim"),
        model="OWNER/MODEL",
        schema=False,
    ),
    "ollama": Provider(  # docs.ollama.com/api/openai-compatibility
        "Ollama", "http://localhost:11434/v1", aliases=("ollama_chat",), model="llava"
    ),
    "lmstudio": Provider(  # lmstudio.ai/docs/developer/openai-compat
        "LM Studio", "http://localhost:1234/v1"
    ),
    "vllm": Provider(
        "vLLM", "http://localhost:8000/v1", aliases=("hosted_vllm",), model="OWNER/MODEL", edits="openai_image"
    ),
    "sglang": Provider("SGLang", "http://localhost:30000/v1", model="OWNER/MODEL", edits="openai_image"),
    "llama_cpp": Provider(  # github.com/ggml-org/llama.cpp, tools/server
        "llama.cpp", "http://localhost:8080/v1", aliases=("llama_server",)
    ),
    "transformers": Provider(
        "Transformers, in this process",
        "http://localhost:8000/v1",
        aliases=("hf_transformers",),
        model="OWNER/MODEL",
        chat="transformers",
        schema=False,
    ),
    "litellm": Provider(
        "any other that LiteLLM knows",
        "",
        "",
        model="PROVIDER/MODEL",
        chat="litellm",
        protocol=False,
        seed=False,
        schema=False,
    ),
    "other": Provider(
        "any other server of the OpenAI protocol",
        aliases=("openai_compatible", "custom"),
        edits="openai_image",
        seed=False,
        schema=False,
        lists=False,
    ),
    "bfl": Provider(
        "Black Forest Labs (edits images)",
        "https://api.bfl.ai",
        "BFL_API_KEY",
        aliases=("black_forest_labs", "flux"),
        model="flux-kontext-max",
        chat="",
        edits="bfl",
        protocol=False,
    ),
    "diffusers": Provider(
        "Diffusers, in this process (edits images)",
        aliases=("hf_diffusers",),
        model="black-forest-labs/FLUX.2-klein-4B",
        chat="",
        edits="diffusers",
        protocol=False,
    ),
    "inpaint": Provider(
        "OpenCV, in this process (removes what CLIPSeg finds; no GPU)",
        model="CIDAS/clipseg-rd64-refined",
        chat="",
        edits="inpaint",
        protocol=False,
    ),
}
# Plugins that compute in this process and send nothing.
IN_PROCESS = ("transformers", "diffusers", "inpaint")


def _plain(name: str) -> str:
    return re.sub(r"[-_. ]", "", name).lower()


_NAMES = {_plain(each): name for name, rules in PROVIDERS.items() for each in (name, *rules.aliases)}


def find_provider(name: str) -> str:
    """The name in `PROVIDERS` of what a user calls a provider, whatever its case, `-` and `_`; empty: none."""
    return _NAMES.get(_plain(name), "")


def similar(name: str, allowed: Iterable[str]) -> str:
    """A hint that names the provider that was probably meant, and all that are allowed."""
    names = list(allowed)
    aliases = {alias: provider for provider in names for alias in (provider, *PROVIDERS[provider].aliases)}
    hint = nearest(name.lower(), aliases)
    meant = re.match(r"did you mean '(.*?)'\? ", hint)
    first = f"did you mean '{aliases[meant[1]]}'? " if meant else ""
    return f"{first}known: {', '.join(sorted(names))}"


def of_openai_protocol(name: Any) -> str:
    """A provider of the OpenAI protocol, by its name in `PROVIDERS`.

    Raises:
        ValueError: there is none of that name, or its models have a plugin of their own.
    """
    allowed = [provider for provider, rules in PROVIDERS.items() if rules.protocol]
    known_name = find_provider(name) if isinstance(name, str) else ""
    if known_name in allowed:
        return known_name
    if known_name and (plugin := PROVIDERS[known_name].chat):
        raise ValueError(f"is not of the OpenAI protocol; write plugin: {plugin} and leave provider out")
    raise ValueError(f"no such provider; {similar(str(name), allowed)}")


# A provider of the OpenAI protocol; its name is matched whatever its case, `-` and `_`.
ProviderName = Annotated[
    str,
    BeforeValidator(of_openai_protocol),
    WithJsonSchema({"type": "string", "enum": [name for name, rules in PROVIDERS.items() if rules.protocol]}),
]


def way(name: str) -> str:
    """How a model of a provider is named to `cfeval init`, such as `ollama/llava`."""
    rules = PROVIDERS[name]
    needs_address = rules.protocol and not rules.base_url and rules.chat == "openai"
    return f"{name}/{rules.model}" + (f"@{rules.example}" if needs_address else "")


_SUFFIX = re.compile(
    r"[-@](?:(?P<day>20\d\d-?\d\d-?\d\d)|(?P<month>\d\d-20\d\d)|(?P<split>\d\d-\d\d)|(?P<short>\d{4})|00\d|latest|main)"
    r"(?:-preview)?$"
)
_PREVIEW = re.compile(r"-(preview|exp)$")
_MONTHLY = re.compile(r"stral|xtral|qwen")
# Whose dates of four digits may be taken for a size: Mistral's and Qwen's are year and month (2411), those of others
# month and day (gpt-4-1106-preview, grok-2-1212); a date that begins with 0 is no size, whoever writes it.
_DAILY = re.compile(r"^(gpt|grok|qwen|qvq|gemini-exp|deepseek|glm|kimi)")
# OpenRouter's suffixes; at other servers what follows a colon may be the model's size.
_ROUTING = re.compile(r":(free|nitro|floor|online|exacto|extended|beta|thinking)$")


def same_model(requested: str, served: str, accepted: Sequence[str]) -> bool:
    """Whether a served model is the one asked for: the same name, with or without its maker's, or a snapshot of it."""
    names = {_bare(name) for name in (requested, *accepted)}
    names |= {name.rpartition("/")[2] for name in names}
    given = _bare(served)
    return given in names or undated(given) in names


def undated(name: str) -> str:
    """A model's name without what a provider adds to it for a snapshot, and nothing else.

    That is a date (gpt-4o-2024-08-06, gpt-4-0613, claude-sonnet-4@20250514, gemini-2.5-flash-preview-09-2025), Google's
    revision (gemini-2.0-flash-001), `latest` or `main`: see platform.openai.com/docs/models,
    docs.claude.com/en/docs/about-claude/models, ai.google.dev/gemini-api/docs/models, docs.mistral.ai/getting-started.
    Other numbers, such as a size, are part of the name.
    """
    match = _SUFFIX.search(name)
    if match is None or not _is_snapshot(name[: match.start()].rpartition("/")[2], match.groupdict()):
        return name
    return name[: match.start()]


def _is_snapshot(model: str, written: Mapping[str, str | None]) -> bool:
    """Whether the digits after a model's name are a date as its maker writes it; none need not be."""
    day, month, split, short = (written[name] for name in ("day", "month", "split", "short"))
    if day is not None:
        return _is_date(day.replace("-", ""))
    if month is not None:
        return _is_date(f"{month[3:]}{month[:2]}01")
    if split is not None:
        return bool(_PREVIEW.search(model)) and _is_date(f"2024{split.replace('-', '')}")
    if short is None:
        return True
    if short[0] == "2":
        return bool(_MONTHLY.search(model)) and _is_date(f"20{short}01")
    return (short[0] == "0" or bool(_DAILY.search(model))) and _is_date(f"2024{short}")


def _is_date(digits: str) -> bool:
    try:
        date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        return False
    return True


def _bare(name: str) -> str:
    """A model's name without Gemini's prefix and without OpenRouter's routing suffix."""
    return _ROUTING.sub("", name.removeprefix("models/").lower())
