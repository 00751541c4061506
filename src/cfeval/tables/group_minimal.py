"""The paper's minimal set of figures (DBVCE, Section 5.1): TA and OTA, a perceptual distance, a Fréchet distance."""

from cfeval.params.vce_roles import Roles
from cfeval.tables.group_material import split


def is_minimal(metric: str, roles: Roles) -> bool:
    """Whether Table 3 shows a figure. Not every classifier is an oracle."""
    kind, oracle = split(metric)
    if oracle:
        return kind == "ota" and roles.is_oracle(oracle)
    return kind.removesuffix("_floor") in ("ta", *roles.closeness, *roles.realism)
