"""Counterfactual Consistency Score (EDCT 2025, Section 3)."""

from typing import Literal

Bit = Literal[0, 1]


def ccs(pcs: Bit, ncc: Bit) -> Bit:
    """CCS_i = PCS_i · NCC_i, in {0, 1}.

    Args:
        pcs: Prediction Change Score, 1 where the new answer is logically consistent with the edit.
        ncc: NLE Concept Consistency, 1 where the new explanation reflects the edit.
    """
    return 1 if pcs and ncc else 0
