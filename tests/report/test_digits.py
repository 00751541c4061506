"""Two decimals, and never a 1.00 that is not one."""

import pytest

from cfeval.report.digits import percent, shortened, two


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1.00"),
        (0.9975, ">0.99"),
        (0.994, "0.99"),
        (0, "0.00"),
        (0.004, "<0.01"),
        (-0.0186, "−0.02"),
    ],
)
def test_two_decimals_are_exact_only_where_they_are(value: float, text: str) -> None:
    assert two(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1, "100 %"), (0.9975, ">99 %"), (0, "0 %"), (0.001, "<1 %"), (0.5, "50 %")]
)
def test_percentages_follow_the_same_rule(value: float, text: str) -> None:
    assert percent(value) == text


def test_cells_are_shortened_where_they_rest_on_few_items() -> None:
    assert shortened("supported, 0.9975 [0.9703, 1.0000]", 400) == "supported, >0.99 [0.97, 1.00]"
    assert shortened("0.9950", 1000) == "0.9950"
    assert shortened("gpt-4.1234, 1.0000 (399)", 400) == "gpt-4.1234, 1.00 (399)"
