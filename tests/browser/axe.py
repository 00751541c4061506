"""axe-core in the browser of a test: what on a page people with a screen reader, or weak eyes, cannot use.

https://github.com/dequelabs/axe-core
"""

from pathlib import Path

from tests.browser.chromium import Browser

SCRIPT = Path(__file__).parents[2] / ".axe/axe_playwright_python/axe.min.js"
_RUN = """axe.run(document, {resultTypes: ["violations"], selectors: false}).then((found) =>
  found.violations.flatMap((one) => one.nodes.map((node) =>
    `${one.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`)))"""


def violations(tab: Browser) -> list[str]:
    """The violations of the page that is open: the rule, the element and what is wrong with it."""
    assert SCRIPT.is_file(), f"{SCRIPT} is missing; `make test-browser` installs it"
    tab.value(SCRIPT.read_text(encoding="utf-8") + "; 0")
    return list(tab.value(_RUN))
