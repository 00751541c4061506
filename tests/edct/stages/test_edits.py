"""Which image an edit starts from, what a judge is told of it, and what a verifier is shown."""

import numpy as np

from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.edct.interfaces import (
    EditAttempt,
    EditReply,
    EditRequest,
    VerifyReply,
    VerifyRequest,
    WriteReply,
    WriteRequest,
)
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.records import Baseline, Counterfactual, Instruction
from cfeval.edct.stages.checks import checks
from cfeval.edct.stages.edits import base_of
from cfeval.edct.stages.instructions import instructions
from tests.edct.stages.in_memory import IMAGES, ITEMS, Painting, edited, samples, scripted, study, wanted
from tests.images import image


def test_in_a_chain_every_edit_starts_from_the_result_of_the_one_before() -> None:
    editor = Painting()
    made = edited(editor, [*wanted("i0", 3), *wanted("i1", 1), *wanted("i2", 2)], "edct-bench-2026")
    assert [(c.id, c.edit) for c, _ in made] == [("i0", 1), ("i0", 2), ("i0", 3), ("i1", 1), ("i2", 1), ("i2", 2)]
    by_edit = {(r.item, r.edit): r for r in editor.seen}
    shown = {(c.id, c.edit): images[c.image.path] for c, images in made if c.image}
    assert by_edit["i0", 1].image == IMAGES["i0"]
    assert by_edit["i0", 2].image == shown["i0", 1]
    assert by_edit["i0", 3].image == shown["i0", 2]
    assert [by_edit["i0", n].before for n in (1, 2, 3)] == [(), ("p1",), ("p1", "p2")]


def test_edits_of_the_2025_protocol_and_of_uncited_edits_all_start_from_the_original() -> None:
    for protocol in ("edct-2025", "uncited-edit"):
        editor = Painting()
        edited(editor, wanted("i0", 2), protocol)
        assert [(r.image, r.before) for r in editor.seen] == [(IMAGES["i0"], ())] * 2


def test_a_chain_that_breaks_ends_there_and_says_at_which_edit() -> None:
    made = [c for c, _ in edited(Painting(("i0", 1)), [*wanted("i0", 3), *wanted("i1", 2)], "edct-bench-2026")]
    assert [c.status for c in made] == ["moderated"] * 3 + ["ok"] * 2
    assert [c.reason for c in made[:3]] == ["no", "edit 1 failed: no", "edit 1 failed: no"]


def test_without_a_chain_one_edit_that_fails_leaves_the_others_alone() -> None:
    made = [c for c, _ in edited(Painting(("i0", 1)), wanted("i0", 2), "uncited-edit")]
    assert [c.status for c in made] == ["moderated", "ok"]


def test_the_seeds_of_an_edit_are_the_same_under_every_protocol() -> None:
    seeds = {p: [c.seed for c, _ in edited(Painting(), wanted("i0", 2), p)] for p in RULES}
    assert len({tuple(found) for found in seeds.values()}) == 1


def test_a_null_edit_only_reencodes() -> None:
    _, stages = study("null-edit")
    assert [i.positive for i in stages["instructions"]] == ["Change nothing."] * len(ITEMS)
    assert all(
        c.status == Status.OK and c.details == {"edit": "re-encoded as JPEG 95"} for c in stages["counterfactuals"]
    )
    smooth = Image.from_pixels(np.full((64, 48, 3), (200, 120, 30), dtype=np.uint8))
    assert np.abs(smooth.reencoded().pixels.astype(int) - smooth.pixels).max() <= 3


def test_a_blank_image_is_one_gray_of_the_size_of_the_original() -> None:
    told = [Instruction(id="i0", concept="everything", positive="Show a uniform image instead.")]
    for editor in (None, Painting()):
        [(made, images)] = edited(editor, told, "blank-image")
        assert (made.status, made.details) == (Status.OK, {"edit": "uniform gray"})
        assert made.image is not None
        shown = images[made.image.path].pixels
        assert shown.shape == IMAGES["i0"].pixels.shape
        assert len(np.unique(shown)) == 1


def test_what_an_editor_does_not_find_is_a_finding_only_where_the_model_cited_it() -> None:
    class Blind:
        needs_metadata = False

        async def edit(self, request: EditRequest) -> EditReply:
            return EditReply(status=Status.CITATION_ABSENT, reason="no such thing")

    ends = {p: edited(Blind(), wanted("i0", 1), p)[0][0].status for p in RULES if RULES[p].written}
    assert ends == {
        "edct-2025": Status.CITATION_ABSENT,
        "edct-bench-2026": Status.CITATION_ABSENT,
        "uncited-edit": Status.EDIT_INVALID,
    }


def test_only_an_uncited_edit_shows_the_writer_the_image() -> None:
    class Listening:
        seen: list[WriteRequest]

        async def write(self, request: WriteRequest) -> WriteReply:
            self.seen = [request]
            reply: WriteReply = await scripted("instruction_writers").write(request)
            return reply

    for protocol, shown in (("edct-2025", False), ("edct-bench-2026", False), ("uncited-edit", True)):
        said = [Baseline(id="i0", question="q?", answer="a", explanation="e")]
        writer = Listening()
        list(instructions(said, samples(), lambda s: IMAGES[s.id], writer, protocol, 1, 3))
        assert (writer.seen[0].image is not None) == shown
        assert writer.seen[0].edits == {"edct-2025": 6, "edct-bench-2026": 3, "uncited-edit": 7}[protocol]


class Gated:
    """An editor that rejects its first attempt; of item i1 the second as well."""

    needs_metadata = False

    async def edit(self, request: EditRequest) -> EditReply:
        item = request.item
        bad = EditAttempt(1, image(90), VerifyReply(False, "spilled", {"outside": 0.71234567}, {"mask": image(91)}))
        good = EditAttempt(2, image(92), VerifyReply(item != "i1", "", {"outside": 0.1}))
        if item == "i1":
            return EditReply(status=Status.EDIT_INVALID, reason="rejected twice", attempts=(bad, good))
        return EditReply(good.image, attempts=(bad, good))


def test_every_attempt_is_kept_with_numbers_and_images_the_rejected_ones_too() -> None:
    (kept, shown), (lost, evidence) = edited(Gated(), [*wanted("i0", 1), *wanted("i1", 1)], "edct-2025")
    assert sorted(shown) == ["i0-1-try1-mask.png", "i0-1-try1.png", "i0-1.png"]
    assert [(t.seed, t.image.path, t.found.verified) for t in kept.attempts] == [
        (1, "i0-1-try1.png", 0),
        (2, "i0-1.png", 1),
    ]
    assert kept.attempts[0].found.numbers == {"outside": 0.7123}
    assert kept.attempts[0].found.reason == "spilled"
    assert (lost.status, lost.image, sorted(evidence)) == (
        Status.EDIT_INVALID,
        None,
        ["i1-1-try1-mask.png", "i1-1-try1.png", "i1-1-try2.png"],
    )


def test_a_check_is_given_what_the_edit_started_from_and_what_was_done_before() -> None:
    class Looking:
        def __init__(self) -> None:
            self.seen: list[VerifyRequest] = []

        async def verify(self, request: VerifyRequest) -> VerifyReply:
            self.seen.append(request)
            return VerifyReply(True, numbers={"inside": 0.5}, images={"heat": image(7)})

    told = wanted("i0", 2)
    made = edited(Painting(), told, "edct-bench-2026")
    shown = {(c.id, c.edit): images[c.image.path] for c, images in made if c.image}
    records = [c for c, _ in made]

    def opened(record: Counterfactual) -> Image:
        return shown[record.id, record.edit]

    by_edit = {(i.id, i.edit): i for i in told}
    base = base_of({(c.id, c.edit): c for c in records}, samples(), lambda s: IMAGES[s.id], opened, "edct-bench-2026")
    verifier = Looking()
    found = list(checks(records, samples(), by_edit, base, opened, verifier, "edct-bench-2026", 1))
    assert [(r.original, r.before, r.edit) for r in verifier.seen] == [
        (IMAGES["i0"], (), 1),
        (shown["i0", 1], ("p1",), 2),
    ]
    check, images = found[1]
    assert check.found is not None
    assert (check.found.verified, check.found.numbers) == (1, {"inside": 0.5})
    assert {name: ref.path for name, ref in check.found.images.items()} == {"heat": "i0-2-heat.png"}
    assert list(images) == ["i0-2-heat.png"]
    nobody = list(checks(records, samples(), by_edit, base, opened, verifier, "null-edit", 1))
    assert all(check.found is None for check, _ in nobody)
