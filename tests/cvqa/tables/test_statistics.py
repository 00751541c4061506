"""The figures of a set, on the published questions (spec, section 1) or on questions counted by hand."""

from cfeval.core.records import ImageRef
from cfeval.cvqa.records import Question, QuestionPair
from cfeval.cvqa.tables.replies import Counts, count, question_pairs
from tests.cvqa.real import real_pairs

PUBLISHED = {
    "n": {"direct": 1150, "indirect": 864, "boolean": 1130, "all": 3144},
    "images": {"all": 3026},
    "unchanged": {"direct": 3, "indirect": 49, "boolean": 26},
    "if": {"all": (3089, 53)},
    "words": {"all": (5.88, 13.16)},
    "majority": {"direct": (0.355, 0.202), "indirect": (0.334, 0.263), "boolean": (0.562, 0.551)},
    "negate": {"boolean": 0.977},
    "no": {"boolean": (495, 623)},
}
BY_HAND = {
    "n": {"direct": 2, "indirect": 1, "boolean": 2, "all": 5},
    "images": {"all": 3},
    "unchanged": {"direct": 0, "indirect": 1, "boolean": 1},
    "if": {"all": (4, 1)},
    "words": {"all": (19 / 5, 43 / 5)},
    "majority": {"direct": (1, 0.5), "indirect": (1, 1), "boolean": (1, 0.5)},
    "negate": {"boolean": 0.5},
    "no": {"boolean": (0, 1)},
}


def test_the_figures_of_the_real_set_are_those_of_the_spec() -> None:
    pairs, published = real_pairs()
    found, wanted = count(pairs), PUBLISHED if published else BY_HAND
    assert {kind: of.n for kind, of in found.items()} == wanted["n"]
    assert len(found["all"].images) == wanted["images"]["all"]
    assert {kind: found[kind].unchanged for kind in wanted["unchanged"]} == wanted["unchanged"]
    assert (found["all"].if_inside, found["all"].if_first) == wanted["if"]["all"]
    rounded = 2 if published else 9
    assert tuple(round(x, rounded) for x in words(found["all"])) == wanted["words"]["all"]
    shares = {kind: tuple(round(x, 3) for x in majorities(found[kind])) for kind in wanted["majority"]}
    assert shares == wanted["majority"]
    boolean = found["boolean"]
    assert round(boolean.negated / boolean.n, 3) == wanted["negate"]["boolean"]
    assert (boolean.answers["original"]["no"], boolean.answers["counterfactual"]["no"]) == wanted["no"]["boolean"]
    assert boolean.booleans == boolean.n
    assert found["direct"].negated == found["direct"].booleans == found["direct"].choices == 0


def test_the_share_of_no_is_the_papers() -> None:
    pairs, published = real_pairs()
    share = count(pairs)["boolean"].share("counterfactual", "no")
    assert round(share, 4) == (0.5513 if published else 0.5)


def words(of: Counts) -> tuple[float, float]:
    return of.mean_words("original"), of.mean_words("counterfactual")


def majorities(of: Counts) -> tuple[float, float]:
    return of.majority("original")[1], of.majority("counterfactual")[1]


def test_of_equally_common_answers_the_first_is_the_majority() -> None:
    of = count(real_pairs()[0][:1])["all"]
    of.answers["original"].update({"b": 4, "a": 4})
    assert of.majority("original")[0] == "a"


def test_no_pairs_have_no_figures() -> None:
    assert count([]) == {}


def test_filed_pairs_are_counted_with_their_images() -> None:
    question = Question(question="How many dots? Select the correct answer:A:1  B:2  C:3  D:4", answer="B")
    pairs = [
        QuestionPair(
            id=f"p{i}",
            image=ImageRef(path="a.png", sha256="a" * 64),
            original=question,
            counterfactual=question,
            type="abs_counting_4",
            img_path="x.png",
        )
        for i in range(3)
    ]
    found = count(question_pairs(pairs))["abs_counting_4"]
    assert (found.n, len(found.images), found.choices, found.unchanged) == (3, 1, 3, 3)
    assert found.share("original", "B") == 1
