"""The rows of the vce study's tables, one a classifier and figure; an empty cell: there is no such figure."""

from typing import Literal

from cfeval.records.common import Record

Figure = float | None
Verdict = Literal["supported", "not supported", "undecided"]


class Setting(Record):
    """Whose images, made by which denoiser."""

    image_set: str
    denoiser: str


class SummaryRow(Setting):
    """One figure of one arm, over its groups (vce_table2, vce_table3, vce_methods, vce_unguided)."""

    method: str
    role: str = ""
    """What the method stands for: `base`, `no cone`, `no x0`, `neither`, `unguided`."""
    classifier: str
    kind: str = ""
    """What the classifier is: `robust`, `noise-trained`, `random`."""
    metric: str
    mean: Figure = None
    """Over the groups that have the figure."""
    sd: Figure = None
    """Standard deviation over these groups, of the population (ddof 0)."""
    n_groups: int = 0
    """Groups that mean and sd rest on."""
    n_groups_missing: int = 0
    """Groups of the setting without this figure."""
    n: int = 0
    """Counterfactuals that were asked for, in all groups."""
    n_scored: int = 0
    """Those of them that have a result."""
    missing: str = ""
    """Why others have none, with counts."""
    paper_mean: Figure = None
    """What the paper has in this very cell."""
    paper_sd: Figure = None


class DifferenceRow(Setting):
    """One figure of one classifier, as a difference to the base (vce_table4, vce_table5, vce_table6)."""

    method: str
    """The method of the groups that are compared with the base's."""
    classifier: str
    kind: str = ""
    metric: str
    mean: Figure = None
    """Difference of the means over groups, these − base."""
    sd: Figure = None
    """Difference of the standard deviations over groups, of samples (ddof 1)."""
    base_mean: Figure = None
    other_mean: Figure = None
    n_groups: int = 0
    """Groups that `other_mean` rests on."""
    n_base_groups: int = 0
    n_groups_missing: int = 0
    """Groups of the setting, of either side, that the row leaves out for want of the figure."""
    n: int = 0
    """Counterfactuals that were asked for, in the groups compared with the base's."""
    n_scored: int = 0
    n_base: int = 0
    n_base_scored: int = 0
    missing: str = ""
    """Why counterfactuals of either side have no result, with counts."""
    paper_mean: Figure = None
    paper_sd: Figure = None


class HypothesisRow(Setting):
    """A hypothesis of the paper, or one part of it, tested (vce_hypotheses)."""

    hypothesis: str
    part: str
    claim: str
    """What would have to be so."""
    classifiers: str = ""
    """Those that it was tested on."""
    bar: Figure = None
    """What the effect is held against."""
    effect: Figure = None
    effect_lo: Figure = None
    effect_hi: Figure = None
    ci: str = ""
    unit: str = ""
    """What is drawn or has its sign flipped as a whole: source images, source classes, or groups."""
    n_units: int = 0
    n: int = 0
    """Values that the effect could rest on, were none missing."""
    n_scored: int = 0
    """Those that it rests on."""
    missing: str = ""
    test: str = ""
    p: Figure = None
    """Two-sided, that the effect is at the bar."""
    p_holm: Figure = None
    """Adjusted by Holm over the table."""
    verdict: Verdict = "undecided"
    overall: Verdict = "undecided"
    """Of all parts of the hypothesis."""
    paper: str = ""
    """What the paper found."""
    note: str = ""


class PublishedCell(Record):
    """One cell of a table that the paper printed (data/reference/dbvce.csv)."""

    source: str
    table: str
    classifier: str
    metric: str
    oracle: str = ""
    mean: float
    sd: float
