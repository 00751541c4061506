"""What you edit and what runs, over the real list of jobs of params.yaml: no job runs, plans are compared.

The edits are those of `python -m bench.edits`, whose table stands in docs/concepts/provenance.md.
"""

from collections.abc import Iterator

import pytest
from bench.edits import EDITS, PAGE, WORDS, Edit, Ran, copy, shown, table, tried

CODE = "src/cfeval"
TABLES_OF_CONDITIONS = ("table1", "table2", "bench", "controls", "calibration")
RUN: dict[str, dict[str, str]] = {
    "the caption of Table 1": {"edct.table": "edct_table1", "edct.report": "index"},
    "a color of the forest plot": {"edct.figure": "edct_forest"},
    "the report's page": {f"{study}.report": "index" for study in ("edct", "vce", "cvqa")},
    "CCS": {"edct.scores": ""},
    "the lexical judge": {"edct.verdicts": "/lexical"},
    "how edits are checked": {"edct.counterfactuals": "", "edct.checks": ""},
    "the diffusion editor": {"edct.counterfactuals": "/diffusion"},
    "the prompt that asks for a reason": {"edct.baselines": "", "edct.requeries": ""},
    "the denoiser's weights": {"vce.counterfactuals": ""},
    "how C-VQA answers are compared": {"cvqa.scores": "", "cvqa.readings": ""},
    "`edct.interval.level`": {"edct.table": ""},
    "`edct.items`": {"edct.items": ""},
}
"""By edit: the stages whose jobs run for certain, and what the names of all their first outputs hold."""
MORE = (
    Edit("what the grammar judge reads", f"{CODE}/testbed/plugins/judges_grammar.py", "", "\n"),
    Edit("a plugin that nobody uses", f"{CODE}/testbed/mocks/judges.py", "256 *", "255 *"),
    Edit("a prompt that nobody uses", f"{CODE}/edct/prompts/edct-2025/judge.md", "", "Be strict.\n"),
    Edit(
        "the list of calls for an estimate",
        f"{CODE}/edct/plugins/chat_judge.py",
        "return self.votes * super()",
        "return super()",
    ),
)
NOBODYS = {edit.what for edit in (*WORDS, *MORE)}


@pytest.fixture(scope="module")
def ran() -> Iterator[dict[str, Ran]]:
    with copy() as root:
        every = [*EDITS, *MORE]
        yield dict(zip([edit.what for edit in every], tried(root, every), strict=True))


def test_the_page_prints_what_the_edits_make_run_now(ran: dict[str, Ran]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert shown(table([ran[edit.what] for edit in EDITS]).markdown(), page) == page, "run `python -m bench.edits`"


def test_words_transport_and_what_nobody_uses_make_nothing_run(ran: dict[str, Ran]) -> None:
    assert {what: dict(ran[what].most) for what in NOBODYS} == {what: {} for what in NOBODYS}


@pytest.mark.parametrize("what", RUN)
def test_an_edit_makes_run_what_rests_on_it_and_nothing_else(ran: dict[str, Ran], what: str) -> None:
    assert ran[what].certain.keys() == RUN[what].keys()
    for stage, part in RUN[what].items():
        assert all(part in name for name in ran[what].certain[stage]), ran[what].certain[stage]


def test_a_column_of_the_scores_makes_no_model_run(ran: dict[str, Ran]) -> None:
    stages = {"edct.scores", "edct.table", "edct.figure", "edct.metrics", "edct.report", "edct.calls"}
    assert {"edct.scores", "edct.table"} <= ran["a column of the scores"].most.keys() <= stages


def test_statistics_make_tables_run(ran: dict[str, Ran]) -> None:
    kinds = {stage.partition(".")[2] for stage in ran["the bootstrap"].certain}
    assert kinds == {"table", "report"}  # the records of rows lie beside the code of their tables
    assert set(ran["a published figure"].certain) == {"edct.table"}


def test_a_chat_plug_in_makes_its_own_conversations_run(ran: dict[str, Ran]) -> None:
    certain = ran["the chat plugin of test models"].certain
    assert certain.keys() == {"edct.baselines", "edct.requeries", "cvqa.answers"}
    names = [name for of in certain.values() for name in of]
    assert not [
        name for name in names if name.startswith(("results/edct/baselines/easy-vqa", "results/edct/requeries/easy"))
    ]
    assert ran["the weights of the test models"].certain == certain


def test_a_version_of_a_package_makes_run_what_imports_it(ran: dict[str, Ran]) -> None:
    its = ran["another version of pydantic"]
    assert its.count(its.certain) == its.jobs, "records are models of pydantic's"
