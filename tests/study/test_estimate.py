"""`cfeval estimate`: the numbers of a small study, worked out by hand."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cfeval.config import load
from cfeval.inference.remote.cache import Budget, ResponseCache, UsageEntry
from cfeval.inference.remote.request import Request, Response, Usage
from cfeval.study.components import used
from cfeval.study.doctor import plugin_check
from tests.conftest import Run
from tests.provider_study import BLOCK, CANARY, params, target, written
from tests.study.service import photographs

ROOT = Path(__file__).parents[2]
PRICES = """
models:
  maker/talker: {input: 1, output: 10, date: 2026-01-02, source: a page}
  painter: {image: 0.5, date: 2026-01-02, source: a page}
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Two targets, one of them behind a provider; writer, editor and judge behind one; prompts of known lengths."""
    monkeypatch.chdir(tmp_path)
    for name, length in {"answer": 40, "explain": 80}.items():
        written_prompt(tmp_path / "turns", name, length)
    for name, length in {"write": 400, "write_repair": 120, "judge": 800, "judge_repair": 160}.items():
        written_prompt(tmp_path / "asking", name, length)
    (tmp_path / "prices.yaml").write_text(PRICES)
    content = params(tmp_path, "http://127.0.0.1:9/v1", prices="prices.yaml")
    talker = target("http://127.0.0.1:9/v1", model="maker/talker", max_tokens=300)
    content["edct"] |= {
        "prompts": "turns",
        "vlms": {"m": talker | {"temperature": 0}, "local": {"plugin": "mock"}},
        "instruction_writers": {"w": {"plugin": "chat", "model": talker, "prompts": "asking"}},
        "editors": {"e": {"plugin": "bfl", "model": "painter"}},
        "judges": {
            "j": {"plugin": "chat", "model": talker, "prompts": "asking", "votes": 3},
            "panel": {
                "plugin": "panel",
                "judges": [{"plugin": "lexical"}, {"plugin": "chat", "model": talker, "prompts": "asking"}],
            },
        },
        "tables": {
            "table1": [BLOCK | {"vlm": ["m", "local"]}],
            "table2": [BLOCK | {"judge": ["j", "panel"]}],
        },
    }
    return content


def written_prompt(folder: Path, name: str, length: int) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_text("x" * length)


@pytest.fixture
def estimated(cfeval: Run, tmp_path: Path) -> Any:
    """Runs the estimate and returns its JSON."""

    def run(content: dict[str, Any], *more: object) -> dict[str, Any]:
        status, out, err = cfeval("estimate", written(tmp_path, content).parent, "--json", *more)
        assert (status, err) == (0, "")
        figures: dict[str, Any] = json.loads(out)
        return figures

    return run


def amounts(figures: dict[str, Any], stage: str, plugin: str) -> list[tuple[int, int, int, int]]:
    """Calls, tokens read, tokens written and images: typical, then at most."""
    [line] = [line for line in figures["stages"] if (line["stage"], line["plugin"]) == (stage, plugin)]
    names = ("calls", "input_tokens", "output_tokens", "images")
    return [tuple(line[which][name] for name in names) for which in ("typical", "most")]  # type: ignore[misc]


def test_every_number_is_what_it_is_by_hand(estimated: Any, study: dict[str, Any]) -> None:
    figures = estimated(study)
    assert figures["items"] == {"d": 3}
    # Typical: question 20, answer 15, explanation 180, instruction 100, verdict 200; prompts at 4 letters a token.
    # At most: question 100, every reply 300 (the local target's 2048); prompts at 3 letters a token.
    opening, follow_up = 10 + 20 + 1500, 10 + 20 + 15 + 20 + 1500
    opening_most, follow_up_most = 14 + 100 + 1500, 14 + 100 + 300 + 27 + 1500
    asked = [
        (6, 3 * (opening + follow_up), 3 * (15 + 180), 0),
        (6, 3 * (opening_most + follow_up_most), 3 * 600, 0),
    ]
    assert amounts(figures, "baselines", "m") == asked
    assert amounts(figures, "requeries", "m") == asked
    # The writer serves both targets; at most it asks again: both prompts and its own first reply.
    first, first_local = 134 + 100 + 2 * 300, 134 + 100 + 2 * 2048
    assert amounts(figures, "instructions", "w") == [
        (6, 6 * (100 + 20 + 15 + 180), 6 * 300, 0),  # up to six edits are listed, more than the limit holds
        (12, 3 * (2 * first + 40 + 300) + 3 * (2 * first_local + 40 + 300), 12 * 300, 0),
    ]
    assert amounts(figures, "counterfactuals", "e") == [
        (6, 6 * (100 + 2000), 0, 6),
        (6, 6 * (300 + 2000), 0, 6),
    ]
    # Three samples for two targets; the panel holds one chat judge and one that needs no provider.
    judged = 200 + 2 * (15 + 180) + 100
    assert amounts(figures, "verdicts", "j")[0] == (18, 18 * judged, 18 * 200, 0)
    assert amounts(figures, "verdicts", "panel")[0] == (3, 3 * judged, 3 * 200, 0)
    judged_most, again = 267 + 4 * 300 + 300, 320 + 4 * 300 + 300 + 300
    assert amounts(figures, "verdicts", "panel")[1] == (6, 3 * (judged_most + again), 6 * 300, 0)
    assert not any(line["plugin"] == "local" for line in figures["stages"])


def test_a_verifier_that_asks_a_model_is_counted_once_an_edit(estimated: Any, study: dict[str, Any]) -> None:
    study["edct"]["verifiers"] = {"d": {"plugin": "semantic", "model": study["edct"]["vlms"]["m"]}}
    figures = estimated(study)
    (calls, read, written, images), (at_most, *_) = amounts(figures, "checks", "d")
    assert (calls, images) == (10, 0), "of either target three edits, one that was not made, and an absent thing"
    assert at_most == 2 * (6 + 6 + 6), "each is asked again, and so many that were not made or are absent are drawn"
    assert read > 10 * 1500, "it is shown an image"
    assert written == 10 * 200


def test_a_gate_adds_the_calls_of_its_verifier_and_at_most_those_of_another_try(
    estimated: Any, study: dict[str, Any]
) -> None:
    plain = amounts(estimated(study), "counterfactuals", "e")
    sight = {"plugin": "semantic", "model": study["edct"]["vlms"]["m"]}
    alone = amounts(estimated(study | {"edct": study["edct"] | {"verifiers": {"d": sight}}}), "checks", "d")
    gate = {"plugin": "gated", "editor": study["edct"]["editors"]["e"], "verifier": sight}
    figures = estimated(study | {"edct": study["edct"] | {"editors": {"e": gate}}})
    by_model = {line["model"]: line for line in figures["stages"] if line["stage"] == "counterfactuals"}
    names = ("calls", "input_tokens", "output_tokens", "images")
    assert tuple(by_model["painter"]["typical"][name] for name in names) == plain[0]
    of_edits = tuple(amount * 6 // 10 for amount in alone[0])
    assert tuple(by_model["maker/talker"]["typical"][name] for name in names) == of_edits, "one image, and words"
    assert by_model["painter"]["most"]["images"] == 2 * plain[1][3]
    assert by_model["maker/talker"]["most"]["calls"] == alone[1][0] * 2 // 3, "two tries of six edits"


def test_concept_edits_of_vce_take_a_call_of_the_writer_and_as_many_of_the_editor_as_it_may_list(
    estimated: Any, study: dict[str, Any]
) -> None:
    writer, editor = study["edct"]["instruction_writers"]["w"], study["edct"]["editors"]["e"]
    names = {"image_set": ["s"], "denoiser": ["d"], "classifier": ["c", "r"]}
    content = {
        "calls": study["calls"],
        "vce": {
            "images": 4,
            "size": 32,
            "seed": 5,
            "image_sets": {"s": {"plugin": "world"}},
            "denoisers": {"d": {"plugin": "world"}},
            "classifiers": {"c": {"plugin": "world"}, "r": {"plugin": "world", "kind": "robust"}},
            "robust": "r",
            "oracles": ["r"],
            "methods": {"unguided": {"preset": "unguided"}},
            "concept_editors": {
                "words": {"plugin": "instructed", "writer": writer, "editor": editor, "edits": 3},
                "nothing": {"plugin": "instructed", "editor": editor},
            },
            "groups": [{"source": "red circle", "ideal": "red square", "others": ["blue star"]}],
            "conditions": [names | {"method": ["words", "nothing"], "pairs": ["ideal", "other"]}],
        },
    }
    figures = estimated(content)
    images = 4 * 2 * 2  # of two classifiers, towards two targets
    by_model = {(line["plugin"], line["model"]): line for line in figures["stages"]}
    assert {key: (line["typical"]["calls"], line["most"]["calls"]) for key, line in by_model.items()} == {
        ("words", "maker/talker"): (images, 2 * images),
        ("words", "painter"): (3 * images, 3 * images),
        ("nothing", "painter"): (images, images),
    }
    talker, painter = by_model["words", "maker/talker"], by_model["words", "painter"]
    assert talker["typical"]["input_tokens"] == images * (400 // 4 + 60)
    assert painter["typical"]["images"] == 3 * images
    assert painter["typical"]["input_tokens"] == 3 * images * (100 + 2000)
    assert figures["items"] == {"images of vce, once a target": 2 * images}


def test_money_is_by_the_price_list(estimated: Any, study: dict[str, Any]) -> None:
    figures = estimated(study)
    [talker] = [line for line in figures["models"] if line["model"] == "maker/talker"]
    tokens = talker["typical"]["input_tokens"], talker["typical"]["output_tokens"]
    assert tokens == (9285 + 9285 + 1890 + 12420 + 2070, 585 + 585 + 1800 + 3600 + 600)
    assert talker["typical"]["usd"] == pytest.approx((34950 * 1 + 7170 * 10) / 1e6)
    assert figures["usd"]["typical"] == pytest.approx(0.10665 + 6 * 0.5)


def test_an_unknown_price_is_told_and_how_to_add_it(cfeval: Run, study: dict[str, Any], tmp_path: Path) -> None:
    study["edct"]["editors"]["e"]["model"] = "flux-unheard-of"
    study["calls"]["max_cost_usd"] = 100
    status, out, _ = cfeval("estimate", written(tmp_path, study).parent)
    assert status == 0
    assert "No price for flux-unheard-of: add a line for it to prices.yaml (0 where it is free)" in out
    assert "stops the run before its first call to flux-unheard-of" in out
    assert "?" in next(line for line in out.splitlines() if line.startswith("counterfactuals"))
    assert re.search(r"^all .*\d\.\d\d to \d+\.\d\d \+ \? ", out, re.MULTILINE), "the sum of what is known, and more"


def test_where_no_price_is_known_there_is_no_total(
    estimated: Any, cfeval: Run, study: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "prices.yaml").write_text("models: {}\n")
    assert estimated(study)["usd"] == {"typical": None, "most": None}
    _, out, _ = cfeval("estimate", written(tmp_path, study).parent)
    total = next(line for line in out.splitlines() if line.startswith("all "))
    assert "0.00 " not in total
    assert " ? " in total


def test_what_the_cache_holds_is_counted_and_left_out_of_the_budget(
    estimated: Any, study: dict[str, Any], tmp_path: Path
) -> None:
    cache = ResponseCache(tmp_path / "calls.sqlite")
    for draw in range(4):
        call = Request("chat", "http://x", "maker/talker", {}, draw)
        cache.record_usage(
            UsageEntry(cache.send(call, 0.0, Budget()).number, "ok", Usage(cost_usd=0.25), None, charged=True)
        )
        cache.keep(call, Response(text="x"))
    cache.close()
    study["calls"] |= {"max_calls": 44, "max_cost_usd": 1}
    figures = estimated(study)
    [talker] = [line for line in figures["models"] if line["model"] == "maker/talker"]
    assert (talker["stored"], talker["sent"], talker["paid_usd"], talker["maybe_paid_usd"]) == (4, 4, 1.0, 0.0)
    # 6 + 6 + 6 + 18 + 3 calls of the talker, 4 of them stored; 6 of the painter; 4 were sent before
    calls, usd = figures["budget"]
    assert not calls["suffices"]
    assert "44 will not suffice: 4 calls so far, 41 calls to go" in calls["text"]
    assert not usd["suffices"]
    study["calls"] |= {"max_calls": 45, "max_cost_usd": 100}
    assert [one["suffices"] for one in estimated(study)["budget"]] == [True, True]


def test_conditions_that_share_a_stage_share_its_calls(estimated: Any, study: dict[str, Any]) -> None:
    once = estimated(study)
    study["edct"]["tables"]["table2"] = []
    assert [line for line in once["stages"] if line["plugin"] != "panel"] == estimated(study)["stages"]


def test_a_stage_is_told_by_protocol_and_what_the_second_one_adds(
    estimated: Any, cfeval: Run, study: dict[str, Any], tmp_path: Path
) -> None:
    alone = estimated(study)
    for name in ("grade", "grade_repair"):
        written_prompt(tmp_path / "asking", name, 400)
    study["edct"] |= {"edits": 2}
    study["edct"]["tables"] |= {"bench": [BLOCK]}
    both = estimated(study)
    assert [line for line in both["stages"] if line["protocol"] != "edct-bench-2026"] == alone["stages"]
    assert {line["stage"] for line in both["stages"] if not line["protocol"]} == {"baselines"}
    new = {line["stage"]: line for line in both["stages"] if line["protocol"] == "edct-bench-2026"}
    # Three items: a writer; two edits; two turns about either; three samples of a verdict and a grade of either.
    typical = {"instructions": 3, "counterfactuals": 6, "requeries": 12, "verdicts": 36}
    assert {stage: line["typical"]["calls"] for stage, line in new.items()} == typical
    # At most writer and judge are each asked again.
    adds = 6 + 6 + 12 + 72
    assert both["calls_of_protocols"]["edct-bench-2026"] == adds
    total_alone, total = (sum(model["most"]["calls"] for model in figures["models"]) for figures in (alone, both))
    assert total - total_alone == adds
    _, out, _ = cfeval("estimate", written(tmp_path, study).parent)
    assert f"on top edct-bench-2026 {adds} calls, fewer where" in out


def test_a_study_of_one_protocol_tells_of_no_other(cfeval: Run, study: dict[str, Any], tmp_path: Path) -> None:
    _, out, _ = cfeval("estimate", written(tmp_path, study).parent)
    assert "protocols share" not in out


def test_a_data_set_with_fewer_items_counts_what_it_has(
    estimated: Any, cfeval: Run, study: dict[str, Any], photo: Path, tmp_path: Path
) -> None:
    (tmp_path / "x.csv").write_text(f"image,question\n{photo},what?\n{photo},why?\n")
    assert cfeval("edct", "import", tmp_path / "x.csv", "--out", tmp_path / "mine.jsonl")[0] == 0
    study["edct"]["datasets"]["d"] = {"plugin": "samples", "path": "mine.jsonl"}
    figures = estimated(study)
    assert figures["items"] == {"d": 2}
    assert amounts(figures, "baselines", "m")[0][0] == 4


def test_a_data_set_that_is_not_there_yet_is_taken_to_have_all_items(estimated: Any, study: dict[str, Any]) -> None:
    study["edct"]["datasets"]["d"] = {"plugin": "samples", "path": "gone.jsonl"}
    figures = estimated(study)
    assert figures["items"] == {"d": 3}
    assert "edct.datasets.d is taken to have 3 items, because it cannot be read: gone.jsonl" in figures["notes"][0]


def test_a_chat_model_in_this_process_advises_vllm_and_a_fast_editor_the_gate(
    study: dict[str, Any], estimated: Any, tmp_path: Path
) -> None:
    chat = {"plugin": "transformers", "model": "maker/sees"}
    study["edct"]["vlms"] = {"m": chat, "local": chat | {"device": "cpu"}}
    study["edct"]["editors"]["e"] = {"plugin": "diffusers", "model": "maker/paints", "speed": "fast"}
    advice = {
        "edct.vlms.m": "on a GPU, vLLM behind `cfeval serve` answers many requests several times faster than this "
        "plugin: {plugin: openai, provider: vllm, model: maker/sees, base_url: http://127.0.0.1:8000/v1}",
        "edct.editors.e": "speed fast changes images: put the editor behind plugin gated; `cfeval edct edit-cost` "
        "compares its seconds and accepted edits with those of an editor without it",
    }
    notes = [note.partition(": ") for note in estimated(study)["notes"]]
    assert {place: note for place, _, note in notes if place.startswith(("edct.vlms", "edct.editors"))} == advice
    for use in used(load(written(tmp_path, study))):
        if use.place in advice:
            assert advice[use.place] in [finding.text for finding in plugin_check(use, offline=True).look()]


def test_a_wrong_option_is_one_line(cfeval: Run, study: dict[str, Any], tmp_path: Path) -> None:
    study["edct"]["editors"]["e"]["modle"] = "x"
    status, _, err = cfeval("estimate", written(tmp_path, study).parent)
    assert status == 2
    assert "edct.editors.e: unknown option 'modle' of 'bfl'; did you mean 'model'?" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["paper-table1", "paper-table2"])
def test_the_papers_tables_can_be_estimated_without_data_or_keys(cfeval: Run, name: str) -> None:
    status, out, err = cfeval("estimate", ROOT, "--params", name)
    assert status == 0, err
    assert "google/gemini-2.5-flash" in out
    assert "?" not in out, "every model has a price"


def test_a_study_without_a_provider_costs_nothing(cfeval: Run, tmp_path: Path) -> None:
    content = params(tmp_path, "http://x")
    content["edct"]["vlms"]["m"] = {"plugin": "mock"}
    status, out, _ = cfeval("estimate", written(tmp_path, content).parent)
    assert status == 0
    assert out == "No hosted model is called: the study costs nothing.\n"


def test_nothing_is_made_and_no_key_is_needed_or_shown(
    cfeval: Run, study: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, study)
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setenv("CANARY_KEY", CANARY)
    status, out, err = cfeval("estimate", path.parent)
    assert status == 0, err
    assert CANARY not in out + err
    assert sorted(tmp_path.rglob("*")) == before


def test_calls_by_batches_are_counted_at_half_the_price(
    estimated: Any, cfeval: Run, study: dict[str, Any], tmp_path: Path
) -> None:
    full = estimated(study)
    for judge in (study["edct"]["judges"]["j"], study["edct"]["judges"]["panel"]["judges"][1]):
        judge["model"] = judge["model"] | {"provider": "openai", "batch": True}
    figures = estimated(study)
    saved = {
        name: sum(line[name]["usd"] for line in full["stages"] if line["stage"] == "verdicts") / 2
        for name in ("typical", "most")
    }
    assert saved["typical"] > 0
    assert {name: full["usd"][name] - figures["usd"][name] for name in saved} == pytest.approx(saved)
    _, out, _ = cfeval("estimate", written(tmp_path, study).parent)
    assert "maker/talker (batches: 50% of the price)" in out
    study["calls"]["batches"] = False
    assert estimated(study)["usd"] == pytest.approx(full["usd"])


def test_calls_an_item_fall_with_the_number_of_items_and_are_those_of_the_guide(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    photographs(tmp_path / "photos", 2)
    models = ("--model", "openrouter/a/tested", "--reader", "openrouter/b/reads")
    assert cfeval("init", "s", "--images", "photos", "--question", "What?", *models)[0] == 0
    figures = json.loads(cfeval("estimate", "s", "--json")[1])["calls_per_item"]
    for items, objects in {"60": 3, "120": 2, "400": 1}.items():
        # Original and cited edit; an uncited edit of each object and of the background; nulls of one item in two each,
        # a blank image in one of three: two turns each.
        edits = 1 + objects + 1
        assert figures[items]["baselines"] == 2
        assert figures[items]["requeries"] == pytest.approx(2 * (edits + 1 + 1 / 3), abs=0.02)
        assert figures[items]["counterfactuals"] == pytest.approx(2 * (edits + 0.5), abs=0.02), "an editor and a gate"
        assert figures[items]["checks"] == pytest.approx(edits + 0.25 + 0.125, abs=0.02)
        assert figures[items]["readings"] == figures[items]["readings of originals"] == 1
    out = cfeval("estimate", "s")[1]
    start = out.index("Calls for an item")
    shown = [line.rstrip() for line in out[start : out.index("protocols share")].splitlines() if line.strip()]
    assert "\n".join(shown) in (ROOT / "docs/guides/cost.md").read_text()
