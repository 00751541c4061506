"""README and the documentation site: figures, images and words are what they should be, and links lead somewhere."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from bench.docs import facts, image, pipeline, screenshot, sources, words
from PIL import Image

from cfeval.core import registry
from tests.conftest import Run
from tests.offered import offered
from tests.test_docs import PAGES, ROOT

README = PAGES["README.md"]
TRACKED = set(
    subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
)
"""The files that a clone holds."""
FILES_OF_PEOPLE = (".pre-commit-config.yaml", ".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/idea.yml")
REPLACED = re.compile(
    r"\b(mends?|anew|heeds?|heedless|beside|seldom|nobody|somebody|turns? round|told of|arms?|placebo|plug-ins?"
    r"|personas?|phases?|fates?|sidecars?|verbs?|built-in world|data sets?)\b",
    re.IGNORECASE,
)
"""Words for which the glossary has others."""
MOVED = ("errors", "benchmarks", "cvqa-programs", "cvqa-tables", "vce-tables")
"""Pages in which they still stand."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of the site, with those that are generated; a link to a file that is not there is an error."""
    folder = tmp_path_factory.mktemp("site") / "docs"
    sources.write(ROOT, folder)
    return folder


def test_the_figures_of_the_readme_are_those_of_the_tables() -> None:
    assert facts.renewed(README) == README, "run `python -m bench.docs.facts`"


def test_the_readme_is_about_a_thousand_words() -> None:
    assert 850 <= len(README.split()) <= 1100


def test_pages_have_no_more_words_than_the_site_may() -> None:
    assert sum(words.counts().values()) <= words.LIMIT, "run `python -m bench.docs.words`"


def test_code_and_generated_lines_are_no_words() -> None:
    prose, code = "# Two words\n\n- see [it](cost.md): − 3", "```sh\ncfeval run\n```"
    table = "| a | b |\n|---|---|\n| c | `d e` |"
    page = f"{prose}\n\n{code}\n\n{table}\n"
    assert words.words(page) == 2 + 3 + 5
    assert words.words(page, frozenset({"| c | `d e` |"})) == 2 + 3 + 2


@pytest.mark.slow
def test_the_image_of_the_readme_shows_what_the_test_models_do(cfeval: Run, tmp_path: Path) -> None:
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["edct"]
    seed, count = ("--seed", params["seed"]), int(image.ITEM.split("-")[1]) + 1

    def step(name: str, out: str, *options: object) -> Path:
        file = tmp_path / f"{out}.jsonl"
        assert cfeval("edct", name, *options, *seed, "--out", file)[0] == 0
        return file

    items = step("items", "items/world", "--dataset", '{"plugin": "world"}', "--items", count)
    own = ("--samples", items)
    for vlm in image.MODELS:
        model, names = ("--vlm", json.dumps(params["vlms"][vlm])), f"world/{vlm}/grammar"
        said = step("baselines", f"baselines/world/{vlm}", *own, *model)
        told = step(
            "instructions",
            f"instructions/{names}/edct-2025",
            *own,
            "--baselines",
            said,
            "--writer",
            '{"plugin": "grammar"}',
        )
        made = step(
            "counterfactuals",
            f"counterfactuals/{names}/scene/edct-2025",
            *own,
            "--instructions",
            told,
            "--editor",
            '{"plugin": "scene"}',
        )
        step("requeries", f"requeries/{names}/scene/edct-2025", *own, "--counterfactuals", made, *model)
    shown = image.facts(tmp_path)
    for name, dark in image.FILES.items():
        assert (ROOT / "docs/images" / name).read_text(encoding="utf-8") == image.draw(shown, dark), "bench.docs.image"
    assert f'alt="{image.story(shown)}"' in README


def test_the_screenshot_of_the_report_is_small_and_shown_in_readme_and_docs() -> None:
    picture = ROOT / screenshot.FILE
    assert picture.stat().st_size < 150_000
    with Image.open(picture) as opened:
        assert (opened.format, opened.size) == ("PNG", (screenshot.WIDTH, screenshot.HEIGHT))
        assert opened.convert("L").getpixel((5, opened.height // 2)) > 200, "it is to be in light mode"
    assert f"]({screenshot.FILE})" in README
    assert "](../images/report.png)" in PAGES["docs/start/read-a-result.md"]


def test_the_diagram_is_the_one_that_its_script_draws() -> None:
    assert (ROOT / pipeline.FILE).read_text(encoding="utf-8") == pipeline.draw(), "run `python -m bench.docs.pipeline`"


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    headings = re.findall(r"^#+ (.*)", re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    texts = (re.sub(r"\]\([^)]*\)", "]", heading) for heading in headings)
    slugs = [re.sub(r"[^\w -]", "", text).strip().lower().replace(" ", "-") for text in texts]
    return {f"{slug}-{n}" if n else slug for i, slug in enumerate(slugs) for n in [slugs[:i].count(slug)]}


@pytest.mark.parametrize("name", sorted(name for name in TRACKED if name.endswith(".md")))
def test_every_relative_link_leads_to_a_file_of_the_repository_and_a_heading_of_it(name: str) -> None:
    page = re.sub(r"^ *```.*?^ *```|`[^`\n]*`", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    for target, anchor in re.findall(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)", page):
        file = os.path.normpath((ROOT / name).parent / target) if target else str(ROOT / name)
        kept = os.path.relpath(file, ROOT)
        assert kept in TRACKED or any(other.startswith(f"{kept}/") for other in TRACKED), f"{name}: {target}"
        assert not anchor or anchor in anchors(Path(file).read_text(encoding="utf-8")), f"{name}: {target}#{anchor}"


def test_generated_pages_are_what_the_code_writes() -> None:
    for place, text in sources.generated(ROOT).items():
        assert (ROOT / "docs" / place).read_text(encoding="utf-8") == text, f"docs/{place} is outdated: run `make docs`"


def test_every_reference_page_is_generated_whole(site: Path) -> None:
    commands, parameters, plugins = (
        (site / f"reference/{name}.md").read_text(encoding="utf-8") for name in ("commands", "parameters", "plugins")
    )
    assert "### cfeval init" in commands
    assert "`--question`" in commands
    assert "| `max_cost_usd` | number or none |" in parameters
    assert "| setting | `unguided` | `classifier-guidance` | `dvce` | `dbvce` | `dime` | `fastdime` |" in parameters
    assert "| `start` | 0.5 | 0.5 | 0.5 | 0.5 | 0.3 | 0.3 | 0.3 |" in parameters
    assert "### overlap" not in plugins
    assert re.search(r"^\| `votes` \| integer \| `1` \| \w+", plugins, re.MULTILINE)
    interfaces = (site / "reference/interfaces.md").read_text(encoding="utf-8")
    assert "- `async judge(self, request: JudgeRequest) -> JudgeReply`: Judge a request." in interfaces
    python = (site / "reference/python.md").read_text(encoding="utf-8")
    assert "## cfeval.try_item" in python
    assert "- `tables`: The tables by the names of their files" in python
    assert "params: str | Path | Sequence[str | Path] = 'params.yaml'" in python
    assert "| `pcs` | Int64 | edct-2025: is the new answer consistent with the edit? |" in python
    tables = (site / "reference/tables.md").read_text(encoding="utf-8")
    columns = ", ".join(f"`strict_ccs{end}`" for end in ("", "_lo", "_hi", "_min", "_max"))
    assert f"| {columns} | Strict CCS |" in tables


@pytest.mark.parametrize("family", ["chat", "classifiers", "datasets", "editors", "instruction_writers", "judges"])
def test_every_option_of_a_plugin_is_in_the_reference_and_says_what_it_means(site: Path, family: str) -> None:
    page = (site / "reference/plugins.md").read_text(encoding="utf-8")
    section = page.split(f"\n## {family}\n")[1].split("\n## ")[0]
    plugins = {text.partition("\n")[0]: text for text in section.split("\n### ")[1:]}
    assert set(registry.names(family)) <= set(plugins)
    for name in set(registry.names(family)) - {"mock"}:
        meanings = dict(re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", plugins[name], re.MULTILINE))
        assert set(meanings) == set(offered(family, name).model_fields)
        assert all(meanings.values()), name


def test_a_notebook_is_a_page_of_its_texts_code_and_output() -> None:
    code = {"cell_type": "code", "source": ["1 + ", "1"], "outputs": [{"data": {"text/plain": ["2"]}}]}
    page = sources.notebook({"cells": [{"cell_type": "markdown", "source": ["# Results"]}, code]})
    assert page == "# Results\n\n```python\n1 + 1\n```\n\n```text\n2\n```\n"


def test_the_tooltips_are_the_glossarys(site: Path) -> None:
    lines = (site.parent / sources.TOOLTIPS).read_text(encoding="utf-8").splitlines()
    assert "*[target models]: The model that is being tested." in lines
    assert any(line.startswith("*[FIT]: Faithfulness Intervention Test") for line in lines)


@pytest.mark.parametrize("name", [name for name in PAGES if Path(name).stem not in MOVED])
def test_no_page_has_a_word_that_the_glossary_replaces(name: str) -> None:
    page = PAGES[name].partition("\n## Columns\n")[0]  # what follows is generated
    text = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)|^\|.*?$", "", page, flags=re.DOTALL | re.MULTILINE)
    found = {line.strip(): REPLACED.findall(line) for line in text.splitlines() if REPLACED.search(line)}
    assert not found


@pytest.mark.parametrize("name", ["commands", "parameters", "plugins", "tables"])
def test_generated_pages_call_things_as_the_glossary_does(name: str, site: Path) -> None:
    text = (site / f"reference/{name}.md").read_text(encoding="utf-8")
    assert not re.findall(r"(?i)\b(?:sidecars?|built-in world|data sets?)\b", text)


def test_templates_and_hooks_are_well_formed() -> None:
    hooks, *forms = (yaml.safe_load((ROOT / name).read_text(encoding="utf-8")) for name in FILES_OF_PEOPLE)
    assert {"ruff", "ruff-format", "snakefmt"} <= {hook["id"] for repo in hooks["repos"] for hook in repo["hooks"]}
    assert all(repo["repo"] == "local" for repo in hooks["repos"])
    assert all({"name", "description", "body"} <= set(form) for form in forms)


@pytest.mark.slow
def test_the_site_builds_without_a_warning_has_every_page_once_and_loads_nothing_from_elsewhere() -> None:
    ended = subprocess.run([sys.executable, "-m", "bench.docs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    named = re.findall(r"([\w/-]+\.md)$", navigation, re.MULTILINE)
    written = ROOT / "build/docs"
    assert sorted(named) == sorted(str(path.relative_to(written)) for path in written.rglob("*.md"))
    pages = list((ROOT / "build/site").rglob("*.html"))
    assert len(pages) > 30
    loaded = re.compile(r'(?:src|href)="(https?:[^"]+)"[^>]*>')
    for page in pages:
        text = page.read_text(encoding="utf-8")
        elsewhere = {url for tag in re.findall(r"<(?:script|link|img)[^>]*>", text) for url in loaded.findall(tag)}
        assert not elsewhere, page
