"""The observations of a condition's items, from the scores of the condition and of its controls."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from cfeval.core.records import Status
from cfeval.edct.answers import NO_ANSWER
from cfeval.edct.faithfulness.observed import NULLS, UNCITED, Kind, Observed, Tried
from cfeval.edct.protocols.rules import BLANK_IMAGE, CONTROLS, EDITOR_NULL, NULL_EDIT, UNCITED_EDIT
from cfeval.edct.records import Condition
from cfeval.edct.tables.scores import Row, TableData

# The rows of each item.
Rows = Mapping[str, Sequence[Row]]


def observe(condition: Condition, material: TableData) -> list[Observed]:
    """The items of a condition of edct-2025, in the order of its scores.

    A condition may have no controls at all, and then only its cited edits are known.

    An edit that a verifier found wrong has no outcome: it says nothing about the model. Nor has one that failed.

    Raises:
        InputError: the condition or one of its controls has no scores.
    """
    controls = [condition.model_copy(update={"protocol": name}) for name in CONTROLS]
    conditions = [condition]
    if any(control in material.scores for control in controls):
        conditions += controls
    by_protocol = {each.protocol: _by_item(material.of(each)) for each in conditions}
    return [
        _item(rows[0], *(by_protocol.get(name, {}).get(item, ()) for name in _CONTROLS))
        for item, rows in by_protocol[condition.protocol].items()
    ]


_CONTROLS = (UNCITED_EDIT, NULL_EDIT, EDITOR_NULL, BLANK_IMAGE)


def _by_item(rows: Iterable[Row]) -> Rows:
    by_item: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_item[row.id].append(row)
    return by_item


def _item(
    cited: Row, uncited: Sequence[Row], null: Sequence[Row], editor_null: Sequence[Row], blank: Sequence[Row]
) -> Observed:
    tried: dict[Kind, Sequence[Row]] = {"cited": [cited], "null": null, "editor_null": editor_null, "blank": blank}
    for kind in UNCITED:
        tried[kind] = [row for row in uncited if f"uncited_{row.told.evidence}" == kind]
    objects = tried["uncited_object"]
    object_outcomes = tuple(change for row in objects if (change := _moved(row)) is not None)
    moved: dict[Kind, bool | None] = {
        "cited": _moved(cited),
        "null": _any(null, _first),
        # An answer that says that nothing can be told from a blank image is another one too.
        "blank": _any(blank, lambda row: _bit(row.told.answer_moved)),
        "editor_null": _any(editor_null, _first),
        # Objects are drawn by lot: one without an outcome leaves the others.
        "uncited_object": any(object_outcomes) if object_outcomes else None,
        "uncited_background": _any(tried["uncited_background"]),
    }
    presence = [row.told.present for row in (cited, *uncited)]
    if any(not row.told.evidence for row in uncited):  # the writer failed: what it would have named is unknown
        tried |= dict.fromkeys(UNCITED, uncited)
    return Observed(
        item=cited.id,
        cluster=cited.cluster,
        present=False if 0 in presence else True if 1 in presence else None,
        **moved,
        ccs=_bit(cited.told.ccs),
        sham=_bit(null[0].told.sham) if null else None,
        swapped=_bit(null[0].told.swapped) if null else None,
        reworded=_bit(null[0].told.reworded) if null else None,
        correct=None if cited.told.correct is None else cited.told.correct >= RIGHT,
        breadth=next((row.told.breadth for row in uncited if row.told.breadth is not None), cited.told.breadth),
        objects=next((row.told.drawn_from for row in objects if row.told.drawn_from is not None), None),
        object_outcomes=object_outcomes,
        edits=tuple(
            Tried(row is cited, change, _bit(row.told.names_edited))
            for row in (cited, *uncited)
            if (change := _moved(row)) is not None
        ),
        lost=frozenset(kind for kind, rows in tried.items() if rows and moved[kind] is None),
        without=_ALL_CITED if cited.told.evidence == "background" else frozenset(),
        tried=frozenset(kind for kind, rows in tried.items() if rows),
        declined=frozenset(
            kind for kind, rows in tried.items() if any(_declined(row, kind == "blank") for row in rows)
        ),
        judged=frozenset(kind for kind, rows in tried.items() if any(row.told.by_text == 0 for row in rows)),
        read=_bit(cited.told.reader_moved),
        again=frozenset(kind for kind, rows in tried.items() if any(row.told.again in _OF_CHANGES for row in rows)),
        unconfirmed=frozenset(kind for kind in NULLS if any(_unconfirmed(row) for row in tried[kind])),
        sees_absent=_bit(cited.told.sees_absent),
        implied=_bit(cited.told.implied),
        implied_blank=_bit(cited.told.implied_blank),
    )


# What is not there to be edited where the background is cited: an image has one.
_ALL_CITED: frozenset[Kind] = frozenset({"uncited_background"})
# An answer of so high an accuracy counts as right.
RIGHT = 0.5


_CONVERSATIONS = ("baselines", "requeries")


def _declined(row: Row, blank: bool) -> bool:
    """Whether the target gave no answer, or evaded the question as it did not before; of a change also when it was
    asked again. Nobody evades who says of a blank image that nothing is to be seen.
    """
    if (row.told.evaded == 1 and not blank) or (_unconfirmed(row) and row.told.again == "unanswered"):
        return True
    return row.told.status in NO_ANSWER and row.told.stage in _CONVERSATIONS


# What came of asking again because an answer had changed.
_OF_CHANGES = ("confirmed", "withdrawn", "unchanged")


def _moved(row: Row) -> bool | None:
    if _unconfirmed(row):
        return False if row.told.again == "withdrawn" else None
    return _first(row)


def _first(row: Row) -> bool | None:
    record = row.told
    no_outcome = record.verified == 0 or record.status == Status.CITATION_ABSENT or record.evaded == 1
    return None if no_outcome else _bit(record.answer_moved)


def _unconfirmed(row: Row) -> bool:
    """Whether the answer changed, and when the target was asked again did not, or nobody knows."""
    return row.told.answer_moved == 1 and row.told.again in ("withdrawn", "unanswered", "unknown")


def _any(rows: Sequence[Row], moved: Callable[[Row], bool | None] = _moved) -> bool | None:
    """Whether some edit moved the answer; None where none did and one has no outcome."""
    moves = [moved(row) for row in rows]
    return True if True in moves else None if None in moves or not moves else False


def _bit(value: int | None) -> bool | None:
    return None if value is None else bool(value)
