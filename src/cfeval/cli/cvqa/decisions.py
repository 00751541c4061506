"""Write the CSV in which people decide about drafts: one row a draft, with what the checks found beside it."""

from itertools import chain

from cfeval.cli.common import Out
from cfeval.cli.cvqa.common import DraftsFiles, ReviewsFiles
from cfeval.errors import InputError
from cfeval.io.decisions import write_decisions
from cfeval.io.indexed import Indexed
from cfeval.io.records import read_jsonl
from cfeval.io.sharded_files import whole_or_shards_of_all
from cfeval.records.cvqa import Draft, Review


def run(drafts: DraftsFiles, out: Out, reviews: ReviewsFiles = None) -> None:
    """Write the CSV in which people decide about drafts: one row a draft, with what the checks found beside it.

    Fill in accept (yes or no), and where it needs one a corrected question and answer; then name the file in
    params.yaml (`decisions` of the build), or by `cfeval cvqa assemble --decisions`. A file that exists is never
    overwritten.
    """
    if out.exists():
        raise InputError(f"{out}: exists already, and may hold decisions; choose another name")
    known = Indexed(whole_or_shards_of_all(reviews or ()), Review)
    files = whole_or_shards_of_all(drafts)
    write_decisions(out, chain.from_iterable(read_jsonl(file, Draft) for file in files), known)
    print(f"{out}: fill in accept (yes or no) for every row")
