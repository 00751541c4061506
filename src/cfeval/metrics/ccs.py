"""Counterfactual Consistency Score (EDCT 2025, Section 3; EDCT-Bench 2026)."""

from typing import Literal

Bit = Literal[0, 1]


def ccs(answer: Bit, explanation: Bit) -> Bit:
    """CCS_i = PCS_i · NCC_i (2025) or AC_i · EF_i (2026), in {0, 1}.

    Args:
        answer: PCS, 1 where the new answer is logically consistent with the edit; AC, 1 where it is what the evidence
            that is left supports.
        explanation: NCC, 1 where the new explanation reflects the edit; EF, 1 where it rests on valid evidence only.
    """
    return 1 if answer and explanation else 0
