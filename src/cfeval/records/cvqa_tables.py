"""The rows of the cvqa study's tables. Figures are plain numbers; an empty cell: there is no such figure."""

from cfeval.records.common import Record
from cfeval.records.edct import Bit

Figure = float | None


class StatisticsRow(Record):
    """A group of a set in figures (cvqa_statistics; C-VQA, Section 3.4)."""

    set: str
    type: str
    """A type of pair, or `all`."""
    n: int
    """Pairs."""
    images: int
    """Different images."""
    words_original: Figure = None
    """Mean number of words."""
    words_counterfactual: Figure = None
    if_inside: int = 0
    """Counterfactual questions with ` if ` in them, in small or capital letters."""
    if_first: int = 0
    """Those that begin with `If`."""
    unchanged: int = 0
    """Pairs whose answer the presupposition does not change."""
    majority_original: Figure = None
    """Share of the commonest right answer: what always saying it would score."""
    majority_original_answer: str = ""
    majority_counterfactual: Figure = None
    majority_counterfactual_answer: str = ""
    negate: Figure = None
    """Share of counterfactual answers that are the opposite of the original's; yes and no only."""
    yes_original: Figure = None
    """Share of `yes`; of questions that have yes or no."""
    yes_counterfactual: Figure = None
    a_original: Figure = None
    """Share of the letter A, and so on; of questions with options."""
    b_original: Figure = None
    c_original: Figure = None
    d_original: Figure = None
    a_counterfactual: Figure = None
    b_counterfactual: Figure = None
    c_counterfactual: Figure = None
    d_counterfactual: Figure = None


class AnswersRow(Record):
    """How often an answer is right in a group (cvqa_answers; C-VQA, Figure 3)."""

    set: str
    type: str
    side: str
    answer: str
    count: int
    share: float
    """Of the group's questions on that side."""


class ReadRow(Record):
    """What every table of accuracies begins with: whose answers, to what, read by whom."""

    set: str
    answerer: str
    kind: str = ""
    """`chat`, `program`, `random`; `baseline` for what needs no answerer."""
    llm: str = ""
    """The language model that writes the programs."""
    type: str
    reader: str = ""
    """Who read the answers: `reference` (the released rules) or `robust`; empty for baselines."""


class AccuracyRow(ReadRow):
    """Accuracy on original and counterfactual questions (cvqa_table3, table5, table6, table7)."""

    n: int
    """Pairs."""
    n_scored: int
    """Those with a score on both sides; all figures but the bounds rest on them."""
    images: int = 0
    """Their images."""
    missing: str = ""
    """Why questions have no score, with counts of questions."""
    n_unread_original: int = 0
    """Replies, among the scored pairs, that the reader could not read: they count as wrong."""
    n_unread_counterfactual: int = 0
    original: Figure = None
    original_lo: Figure = None
    original_hi: Figure = None
    original_min: Figure = None
    """Over all pairs, if every question without a score had been answered wrong."""
    original_max: Figure = None
    """The same if all of them had been answered right."""
    counterfactual: Figure = None
    counterfactual_lo: Figure = None
    counterfactual_hi: Figure = None
    counterfactual_min: Figure = None
    counterfactual_max: Figure = None
    difference: Figure = None
    """Counterfactual − original."""
    difference_lo: Figure = None
    difference_hi: Figure = None
    difference_min: Figure = None
    difference_max: Figure = None
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    test: str = ""
    """What `p` is from: `McNemar`, over images where they have several pairs, or `bootstrap`."""
    p: Figure = None
    """Two-sided, that the difference is 0."""
    p_holm: Figure = None
    """Adjusted by Holm over the rows of one reader in this table."""
    paper_original: Figure = None
    """What the paper printed in this very cell."""
    paper_counterfactual: Figure = None
    paper_difference: Figure = None
    test_world: Bit = 0
    """1: a built-in test answerer, which stands for no real model."""


class CotRow(AccuracyRow):
    """Chain of thought beside the same answerer without (cvqa_table4)."""

    twin: str
    """The same answerer without chain of thought."""
    n_both: int = 0
    """Pairs that both have a score for on both sides; the figures below rest on them."""
    plain_original: Figure = None
    """The twin's accuracy on them."""
    plain_counterfactual: Figure = None
    change_original: Figure = None
    """With chain of thought − without."""
    change_original_lo: Figure = None
    change_original_hi: Figure = None
    p_original: Figure = None
    p_original_holm: Figure = None
    """Adjusted by Holm over all changes of one reader in this table, on either side."""
    change_counterfactual: Figure = None
    change_counterfactual_lo: Figure = None
    change_counterfactual_hi: Figure = None
    p_counterfactual: Figure = None
    p_counterfactual_holm: Figure = None
    ci_change: str = ""


class BiasRow(ReadRow):
    """How much more accuracy falls on images of women than of men (cvqa_bias; C-VQA, Section 4.3, Figure 5)."""

    n: int
    """Pairs with a label."""
    n_unlabelled: int = 0
    """Pairs of the set without one, or with people of both kinds."""
    missing: str = ""
    n_female: int = 0
    """Scored pairs on images of women only."""
    images_female: int = 0
    female_original: Figure = None
    female_counterfactual: Figure = None
    diff_female: Figure = None
    """Original − counterfactual, as the paper defines it: larger is worse."""
    diff_female_lo: Figure = None
    diff_female_hi: Figure = None
    n_male: int = 0
    images_male: int = 0
    male_original: Figure = None
    male_counterfactual: Figure = None
    diff_male: Figure = None
    diff_male_lo: Figure = None
    diff_male_hi: Figure = None
    gap: Figure = None
    """diff_female − diff_male: above 0, counterfactual questions about women suffer more."""
    gap_lo: Figure = None
    gap_hi: Figure = None
    ci: str = ""
    p: Figure = None
    """Two-sided, that the gap is 0; from the same bootstrap."""
    p_holm: Figure = None
    test_world: Bit = 0


class ReadersRow(Record):
    """The two readers on the same replies (cvqa_readers)."""

    set: str
    answerer: str
    kind: str = ""
    llm: str = ""
    type: str
    side: str
    n: int
    """Replies that were due."""
    n_scored: int
    """Those that came."""
    missing: str = ""
    reference: Figure = None
    """Accuracy as the released rules read the replies."""
    reference_lo: Figure = None
    reference_hi: Figure = None
    robust: Figure = None
    robust_lo: Figure = None
    robust_hi: Figure = None
    difference: Figure = None
    """robust − reference."""
    difference_lo: Figure = None
    difference_hi: Figure = None
    ci: str = ""
    n_unread_reference: int = 0
    n_unread_robust: int = 0
    n_disagree: int = 0
    """Replies that both read, and read differently."""
    n_reference_only: int = 0
    """Replies that the reference reader alone read."""
    n_robust_only: int = 0
    n_reference_right: int = 0
    """Replies that are right as the reference reader reads them and not as the robust one does."""
    n_robust_right: int = 0
    test_world: Bit = 0


class PositionsRow(ReadRow):
    """Does an answerer go by where an option stands? (cvqa_positions; C-VQA, Section 4.2)"""

    side: str
    n: int
    """Questions with options."""
    n_scored: int
    """Those with a reply to the question in the order that counts: as it stands, where it was asked so."""
    n_read: int = 0
    """Replies of these in which a letter was read; the shares rest on them."""
    missing: str = ""
    said_a: Figure = None
    """Share of replies that name the option shown as A, and so on."""
    said_b: Figure = None
    said_c: Figure = None
    said_d: Figure = None
    gold_a: Figure = None
    """Share of the same questions whose right option is shown as A, and so on."""
    gold_b: Figure = None
    gold_c: Figure = None
    gold_d: Figure = None
    chi_square: Figure = None
    """Of what was said, against a quarter each; 3 degrees of freedom."""
    p: Figure = None
    p_holm: Figure = None
    n_permuted: int = 0
    """Questions that were asked in several orders, with an option read in each."""
    n_told: int = 0
    """Those of them in which position and value point to different options, whichever was chosen."""
    follows_position: Figure = None
    """Share of these whose answer is the same position in every order, though the option there is another."""
    follows_value: Figure = None
    """Share of these whose answer is the same option in every order, wherever it stands."""
    accuracy: Figure = None
    """Over all orders: the mean of a question's replies, then of questions."""
    accuracy_lo: Figure = None
    accuracy_hi: Figure = None
    n_orders: Figure = None
    """Mean number of orders a question was asked in."""
    ci: str = ""
    test_world: Bit = 0


class ProgramsRow(Record):
    """Programs that answered questions (cvqa_programs; C-VQA, Section 4.1)."""

    set: str
    answerer: str
    llm: str = ""
    language: str = ""
    type: str
    side: str
    n: int
    """Questions."""
    n_written: int
    """Those for which there is a program."""
    missing: str = ""
    """Why others have none, or no answer, with counts."""
    n_ran: int = 0
    """Programs that ran to their end."""
    ran: Figure = None
    """Share of the written ones."""
    ran_lo: Figure = None
    ran_hi: Figure = None
    ci: str = ""
    faults: str = ""
    """Why others did not, by kind, with counts."""
    n_fallback: int = 0
    """Questions that were put to the whole image instead."""
    mean_calls: Figure = None
    """Calls of vision operations a written program."""
    mean_steps: Figure = None
    """Interpreter steps a written program."""
    test_world: Bit = 0


class BuildsRow(Record):
    """How a built set came about (cvqa_builds; C-VQA, Sections 3.1 and 3.2)."""

    set: str
    type: str
    n: int
    """Drafts that were asked for."""
    n_written: int = 0
    """Those that could be read; the others are missing."""
    missing: str = ""
    """Why others could not, with counts."""
    n_wrong_sum: int = 0
    """Drafts left out because the second step's sum does not give the stated answer."""
    n_no_sum: int = 0
    """Because the second step of a direct draft states no sum that can be recomputed."""
    n_inconsistent: int = 0
    """Because the steps name other numbers, or another answer, than the question."""
    n_not_related: int = 0
    """Because the second model says that the question is not about the image."""
    n_not_reasonable: int = 0
    """Because the second model says that the answer is not right."""
    n_not_reviewed: int = 0
    """Because the second model failed or said nothing that can be read."""
    n_rejected: int = 0
    """Because a person said no."""
    n_undecided: int = 0
    """Because a person must accept it and has not."""
    n_accepted: int = 0
    """Pairs of the set."""
    n_by_people: int = 0
    """Those of them that a person accepted."""
    n_corrected: int = 0
    """Those of them whose question or answer a person changed."""
    accepted: Figure = None
    """Share of the written drafts."""


class PublishedAnswer(Record):
    """Accuracies of one model and group as the paper printed them (data/reference/cvqa.csv), in [0, 1]."""

    source: str
    table: str
    model: str
    """As Table 3 calls it; an answerer's `paper` names it so."""
    printed: str = ""
    """As this very table calls it, where that differs."""
    llm: str = ""
    """The language model inside, in Table 6."""
    type: str
    """`direct`, `indirect`, `boolean`; `all` in Table 7."""
    original: float
    counterfactual: float
    difference: float
    """Counterfactual − original, as printed."""
