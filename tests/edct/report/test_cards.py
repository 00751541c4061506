"""What a model returned can neither leave its JSON nor its HTML element."""

import json
import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cfeval.edct.protocols.rules import CONTROLS
from cfeval.edct.report.cards import script_json
from tests.edct.report.study import CARDS, HOSTILE

LEAVES = st.text() | st.integers() | st.none()


@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_script_json_reads_back_and_holds_nothing_that_html_would_read(content: object) -> None:
    text = str(script_json(content))
    assert json.loads(text) == content
    assert not set(text) & set("<>&\u2028\u2029")
    assert text.isascii()


def test_hostile_texts_stand_in_the_page_as_data_only(report_page: Path) -> None:
    html = report_page.read_text()
    assert html.count("<script") == html.count("</script>") == 2
    assert "<img src=x" not in html
    assert "onerror=&#34;" in html


def unpacked(page: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_data_unpack_to_the_cards(report_page: Path) -> None:
    data = unpacked(report_page)
    assert len(data["cards"]) == CARDS
    numbers = ["condition", "edit", "answer_score", "explanation_score", "ccs", "ccs_graded", "verified"]
    assert data["fields"][: data["numbers"]] == numbers
    first = dict(zip(data["fields"], data["cards"][0], strict=True))
    assert data["texts"][first["explanation"]] == HOSTILE
    assert [data["conditions"][row[0]]["vlm"] for row in data["cards"][:3]] == ["grounded", "prior", "confabulating"]


def test_scores_are_called_what_their_protocol_calls_them(report_page: Path) -> None:
    assert unpacked(report_page)["scores"] == {
        "edct-2025": ["PCS", "NCC"],
        "edct-bench-2026": ["AC", "EF"],
        "null-edit": ["answer moved", "explanation moved"],
        "uncited-edit": ["answer moved", "explanation moved"],
        "blank-image": ["answer moved", "explanation moved"],
    }


def test_the_edits_of_an_item_stand_beside_each_other_in_their_order(report_page: Path) -> None:
    data = unpacked(report_page)
    cards = [dict(zip(data["fields"], row, strict=True)) for row in data["cards"]]
    second = [
        (data["conditions"][c["condition"]]["protocol"], c["edit"])
        for c in cards
        if data["texts"][c["id"]] == "item-001"
    ]
    assert second[3:] == [*((protocol, 1) for protocol in ("edct-bench-2026", *CONTROLS)), ("edct-bench-2026", 2)]
    assert [c["ccs_graded"] for c in cards[:4]] == [None, None, None, 0.75]
    control = next(c for c in cards if data["conditions"][c["condition"]]["protocol"] == "null-edit")
    assert (control["ccs"], control["answer_score"], control["explanation_score"]) == (None, 0, 0)
