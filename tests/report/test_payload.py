"""What a model returned can neither leave its JSON nor its HTML element."""

import json
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from cfeval.report.payload import script_json
from tests.report.study import HOSTILE, ITEMS

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


def test_the_data_unpack_to_the_cards(report_page: Path) -> None:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', report_page.read_text(), re.DOTALL)
    assert found
    data = json.loads(found[1])
    assert len(data["cards"]) == 3 * ITEMS
    assert data["fields"][: data["numbers"]] == ["arm", "edit", "pcs", "ncc", "ccs", "verified"]
    first = dict(zip(data["fields"], data["cards"][0], strict=True))
    assert data["texts"][first["explanation"]] == HOSTILE
    assert [data["arms"][row[0]]["vlm"] for row in data["cards"][:3]] == ["grounded", "prior", "confabulating"]
