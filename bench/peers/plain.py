"""AsyncOpenAI and a semaphore; each finished item is appended to a file, and what stands there is skipped next time.

An item holds its slot for both turns, so that few items are half done at any time; with `--variant call` a slot is held
for one call only, which fills the slots better and leaves many items half done.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI
from work import JUDGE, TOKENS, VLM, WHY, WRITE, WRITER, Item, asking, items, judging, leave, options

Say = Callable[..., Awaitable[str]]


async def main() -> None:
    """Do the work."""
    given = options()
    slots, done = asyncio.Semaphore(given.at_once), given.state / "done.jsonl"
    per_call = given.variant == "call"
    prompt = given.judge.read_text(encoding="utf-8") if given.judge else ""

    async def say(model: str, *messages: Any) -> str:
        async with slots if per_call else nullcontext():
            made = await client.chat.completions.create(model=model, messages=list(messages), max_tokens=TOKENS, seed=1)
        return made.choices[0].message.content or ""

    async def one(item: Item) -> None:
        async with nullcontext() if per_call else slots:
            row = await (turns(say, item, item.image) if given.work == "turns" else study(say, item, prompt))
        with done.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    finished = {row["id"] for row in rows(done)}
    async with AsyncOpenAI(base_url=given.base_url, api_key="none") as client:
        await asyncio.gather(*(one(item) for item in items(given.items) if item.id not in finished))
    leave(given.out, rows(done))


async def turns(say: Say, item: Item, image: str) -> dict[str, str]:
    """The question, then the reason in the same conversation."""
    first = asking(item, image)
    answer = await say(VLM, first)
    why = await say(VLM, first, {"role": "assistant", "content": answer}, {"role": "user", "content": WHY})
    return {"id": item.id, "answer": answer, "explanation": why}


async def study(say: Say, item: Item, prompt: str) -> dict[str, str]:
    """Six calls: both turns, the instruction, both turns on the edited image, the verdict."""
    before = await turns(say, item, item.image)
    wanted = await say(WRITER, {"role": "user", "content": WRITE + before["explanation"]})
    after = await turns(say, item, item.edited)
    asked = judging(prompt, before["explanation"], before["answer"], after["answer"])
    verdict = await say(JUDGE, {"role": "user", "content": asked})
    return {**before, "instruction": wanted, "again": after["answer"], "verdict": verdict}


def rows(done: Path) -> list[dict[str, str]]:
    """The finished items; a last line that a kill cut off is none."""
    found = []
    for line in done.read_text(encoding="utf-8").splitlines() if done.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


asyncio.run(main())
