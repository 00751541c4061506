"""A LangGraph graph, a run an item: a node a call, `max_concurrency` runs at once.

Two turns: an SQLite checkpointer keeps the state after each node; a run that was cut off is invoked again with None and
goes on from there, as LangGraph's documentation says. `--variant bare` leaves the checkpointer out.
The study: an SQLite cache of nodes. Its key is the node's function by name and its input; a prompt in the code is no
part of it. With `--variant prompt-in-key` the judge's node has a key function of its own that names the prompt.
"""

import asyncio
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import Any, TypedDict

from langchain_openai import ChatOpenAI
from langgraph.cache.sqlite import SqliteCache
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import CachePolicy
from work import JUDGE, TOKENS, VLM, WHY, WRITE, WRITER, Item, asking, items, judging, leave, options


class State(TypedDict, total=False):
    """What a run carries from node to node."""

    item: dict[str, str]
    answer: str
    explanation: str
    instruction: str
    again: str
    explanation_again: str
    verdict: str


GIVEN = options()
PROMPT = GIVEN.judge.read_text(encoding="utf-8") if GIVEN.judge else ""
MODELS = {
    name: ChatOpenAI(model=name, base_url=GIVEN.base_url, api_key="none", max_tokens=TOKENS, seed=1)
    for name in ((VLM,) if GIVEN.work == "turns" else (VLM, WRITER, JUDGE))
}


async def say(model: str, *messages: Any) -> str:
    """One call."""
    return str((await MODELS[model].ainvoke(list(messages))).content)


async def why(item: Item, image: str, answer: str) -> str:
    """The second turn."""
    return await say(
        VLM, asking(item, image), {"role": "assistant", "content": answer}, {"role": "user", "content": WHY}
    )


async def answer(state: State) -> State:
    """The question."""
    item = Item(**state["item"])
    return {"answer": await say(VLM, asking(item, item.image))}


async def explain(state: State) -> State:
    """The reason, in the same conversation."""
    item = Item(**state["item"])
    return {"explanation": await why(item, item.image, state["answer"])}


async def write(state: State) -> State:
    """The instruction."""
    return {"instruction": await say(WRITER, {"role": "user", "content": WRITE + state["explanation"]})}


async def ask_again(state: State) -> State:
    """The question about the edited image."""
    item = Item(**state["item"])
    return {"again": await say(VLM, asking(item, item.edited))}


async def explain_again(state: State) -> State:
    """And the reason."""
    item = Item(**state["item"])
    return {"explanation_again": await why(item, item.edited, state["again"])}


async def judge(state: State) -> State:
    """The verdict."""
    asked = judging(PROMPT, state["explanation"], state["answer"], state["again"])
    return {"verdict": await say(JUDGE, {"role": "user", "content": asked})}


def named(state: State) -> str:
    """The key of a verdict: all that the judge is asked."""
    return judging(PROMPT, state["explanation"], state["answer"], state["again"])


def built() -> StateGraph:
    """The graph: a chain."""
    nodes = (answer, explain) if GIVEN.work == "turns" else (answer, explain, write, ask_again, explain_again, judge)
    graph = StateGraph(State)
    for node in nodes:
        own = GIVEN.variant == "prompt-in-key" and node is judge
        policy = CachePolicy(key_func=named) if own else CachePolicy()
        graph.add_node(node.__name__, node, cache_policy=policy if GIVEN.work == "study" else None)
    names = [START, *(node.__name__ for node in nodes), END]
    for before, after in pairwise(names):
        graph.add_edge(before, after)
    return graph


async def main() -> None:
    """Do the work."""
    wanted = items(GIVEN.items)
    async with AsyncExitStack() as stack:
        if GIVEN.work == "study":
            graph = built().compile(cache=SqliteCache(path=str(GIVEN.state / "cache.sqlite")))
        elif GIVEN.variant == "bare":
            graph = built().compile()
        else:
            file = str(GIVEN.state / "checkpoints.sqlite")
            graph = built().compile(
                checkpointer=await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(file))
            )
        states = await (run_or_resume(graph, wanted) if graph.checkpointer else graph.abatch(*fresh(wanted)))
    leave(
        GIVEN.out, ({k: v for k, v in state.items() if k != "item"} | {"id": state["item"]["id"]} for state in states)
    )


def fresh(wanted: list[Item]) -> tuple[list[State], list[dict[str, Any]]]:
    """Inputs and configurations."""
    configurations = [{"max_concurrency": GIVEN.at_once, "configurable": {"thread_id": item.id}} for item in wanted]
    return [{"item": vars(item)} for item in wanted], configurations


async def run_or_resume(graph: Any, wanted: list[Item]) -> list[State]:
    """Every item's final state: taken from its checkpoint, gone on from there, or begun."""
    inputs, configurations = fresh(wanted)
    kept = [await graph.aget_state(configuration) for configuration in configurations]
    todo = [n for n, state in enumerate(kept) if state.next or not state.values]
    results = await graph.abatch(
        [None if kept[n].values else inputs[n] for n in todo], [configurations[n] for n in todo]
    )
    said = dict(zip(todo, results, strict=True))
    return [said[n] if n in said else kept[n].values for n in range(len(wanted))]


asyncio.run(main())
