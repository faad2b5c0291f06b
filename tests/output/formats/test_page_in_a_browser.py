"""The page in a headless Chromium: it asks for nothing, hides nothing without its script, and content stays text."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import io
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from auditor.output.formats.problems import KindCount
from auditor.output.formats.registry import FORMATS
from tests.output.formats.drawn import HOSTILE, content, many
from tests.shared import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from auditor.output.formats.problems import Content

sync_api: Any = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]
MANY = 100_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium."""
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@dataclasses.dataclass
class Seen:
    """A page that a browser shows, and what it asked for or complained of.

    Attributes:
        page: The page.
        requests: URLs other than that of the page.
        complaints: Errors on the console, violations of the policy, and dialogs.
    """

    page: Any
    requests: list[str]
    complaints: list[str]


@contextlib.contextmanager
def opened(browser: Any, path: Path, **options: Any) -> Iterator[Seen]:
    """Open a file as a user does, by its path."""
    context = browser.new_context(**options)
    page = context.new_page()
    page.set_default_timeout(120_000)
    seen = Seen(page, [], [])
    page.on("request", lambda one: None if one.url.split("#")[0] == path.as_uri() else seen.requests.append(one.url))
    page.on("console", lambda one: seen.complaints.append(one.text) if one.type in ("error", "warning") else None)
    page.on("pageerror", lambda one: seen.complaints.append(str(one)))
    page.on("dialog", lambda one: (seen.complaints.append(one.message), one.dismiss()))
    page.goto(path.as_uri())
    yield seen
    context.close()


def written(what: Content, path: Path) -> Path:
    """Write a page to a file."""
    text = io.StringIO()
    FORMATS["html"].write(what, text)
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def wait_for_count(page: Any, beginning: str) -> None:
    """Wait until the page says how many problems it shows; its policy forbids Playwright's own way to wait for that."""
    until = time.monotonic() + 120
    while not page.evaluate("document.getElementById('count').textContent").startswith(beginning):
        assert time.monotonic() < until, page.locator("#count").inner_text()
        page.wait_for_timeout(50)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 10^5 problems."""
    return written(many(MANY), tmp_path_factory.mktemp("large") / "report.html")


@pytest.mark.parametrize("seed", range(8))
def test_hostile_content_stays_text(seed: int, browser: Any, tmp_path: Path) -> None:
    what = content(seed, objects=60)
    path = written(what, tmp_path / "report.html")
    with opened(browser, path) as seen:
        seen.page.wait_for_timeout(200)
        assert (seen.requests, seen.complaints) == ([], [])
        assert seen.page.locator("img, iframe, object, embed, form, base").count() == 0
        links = seen.page.eval_on_selector_all("a", "all => all.map(one => one.getAttribute('href'))")
        assert all(link.startswith("#") for link in links)
        assert seen.page.evaluate("document.title").startswith(
            ("WORSE", "INCOMPLETE", "SAME", "BETTER", "NOT COMPARED")
        )
    assert len(HOSTILE) >= 26


def test_forty_hostile_strings_are_inert_in_each_column(browser: Any, tmp_path: Path) -> None:
    strings = [f"{text}{number}" for number in range(2) for text in HOSTILE]
    assert len(strings) >= 40
    what = next(one for one in (content(seed, hostile=False) for seed in range(40)) if one.causes)
    first, cause = next(iter(what.problems())), what.causes[0]
    problems = [
        dataclasses.replace(first, name=text, namespace=text, kind=text, field=text, message=text, owner=text,
                            cause=cause.id, severity=cause.severity, accepted=False)
        for text in strings
    ]  # fmt: skip
    what = dataclasses.replace(what, problems=lambda: iter(problems))
    with opened(browser, written(what, tmp_path / "report.html")) as seen:
        seen.page.wait_for_selector("#rows .row:not(.head)")
        assert (seen.requests, seen.complaints) == ([], [])
        seen.page.fill("#find", "<script>alert")
        wait_for_count(seen.page, f"2 of {len(strings)} problems")
        assert (seen.requests, seen.complaints) == ([], [])


def test_the_page_is_complete_without_its_script(browser: Any, large: Path) -> None:
    with opened(browser, large, java_script_enabled=False) as seen:
        text = seen.page.locator("body").inner_text()
        assert any(word in text for word in ("WORSE", "INCOMPLETE", "SAME", "BETTER", "NOT COMPARED"))
        assert seen.page.locator("svg.chart").count() >= 2
        assert seen.page.locator("h2:has-text('Problems') ~ div table tbody tr").count() == 100
        assert f"The 100 worst of {MANY:,}" in text
        assert not seen.page.locator("#all").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_axe_finds_nothing_serious(scheme: str, width: int, browser: Any, tmp_path: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    what = dataclasses.replace(content(3, hostile=False, objects=200), title="../dumps/" + "long-name" * 12)
    path = written(what, tmp_path / "report.html")
    with opened(browser, path, color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True) as seen:
        seen.page.wait_for_selector("#rows .row:not(.head)")
        found = axe.Axe().run(seen.page).response["violations"]
        grave = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
        assert grave == []
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_page_of_many_problems_draws_what_a_screen_shows(browser: Any, large: Path) -> None:
    assert large.stat().st_size <= 8_000_000
    with opened(browser, large) as seen:
        page = seen.page
        page.wait_for_selector("#rows .row:not(.head)")
        drawn = page.evaluate(
            """async () => {
                const find = document.getElementById("find"), drawn = [];
                for (const text of ["t", "te", "tea", "team", "team-1", "team-1 list[4", "nothing like it", ""]) {
                    await new Promise(done => setTimeout(done, 100));
                    find.value = text;
                    find.dispatchEvent(new Event("input"));
                    await new Promise(done => {
                        const watch = new MutationObserver(() => { watch.disconnect(); done(); });
                        watch.observe(document.getElementById("rows"), {childList: true, subtree: true});
                    });
                    drawn.push(document.querySelectorAll("#rows .row").length);
                }
                return drawn;
            }"""
        )
        assert 10 < max(drawn) <= 200, drawn
        for share in (0, 0.3, 1):
            page.evaluate(
                "share => { const b = document.getElementById('rows'); b.scrollTop = share * b.scrollHeight }", share
            )
            page.wait_for_timeout(150)
            assert 0 < page.locator("#rows .row").count() <= 400
        page.click("#rows .head button:has-text('object')")
        assert page.evaluate("location.hash") == "#sort=object"
        page.evaluate("document.getElementById('rows').scrollTop = 0")
        assert page.locator("#rows .head [aria-sort=ascending]").inner_text() == "object"
        assert (seen.requests, seen.complaints) == ([], [])


def test_the_worst_come_first(browser: Any, large: Path) -> None:
    with opened(browser, large) as seen:
        seen.page.wait_for_selector("#rows .row:not(.head)")
        ranks = ["critical", "high", "medium", "low"]
        shown = seen.page.locator("#rows .row:not(.head) span:first-child").all_inner_texts()
        known = {cause.severity for cause in many(MANY).causes}
        assert shown[0] == next(one for one in ranks if one in known)
        assert shown == sorted(shown, key=ranks.index)


def test_a_link_to_a_filter_shows_it_again(browser: Any, large: Path) -> None:
    with opened(browser, large) as seen:
        seen.page.wait_for_selector("#rows .row:not(.head)")
        seen.page.fill("#find", "object-77777")
        wait_for_count(seen.page, "1 of")
        link = seen.page.evaluate("location.href")
        other = seen.page.context.new_page()
        other.goto(link)
        wait_for_count(other, "1 of")
        assert "object-77777" in other.locator("#rows").inner_text()


@pytest.mark.parametrize("width", [390, 1400])
def test_every_label_of_a_chart_is_inside_it(width: int, browser: Any, tmp_path: Path) -> None:
    names = ("CustomResourceDefinition", "W" * 24, "Ö" * 60)
    kinds = [
        KindCount("apiextensions.k8s.io", name, dict.fromkeys(("valid", "invalid", "unreadable", "sealed"), 1_000_000))
        for name in names
    ]
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    runs = [(start + datetime.timedelta(days=day), {"critical": 3, "low": day}) for day in range(90)]
    what = dataclasses.replace(content(3), kinds=kinds, nights=runs, space=lambda: {"M" * 40: 7 << 40, "b": 1})
    with opened(browser, written(what, tmp_path / "report.html"), viewport={"width": width, "height": 900}) as seen:
        outside = seen.page.evaluate(
            """() => [...document.querySelectorAll("svg.chart")].flatMap(chart => {
                const whole = chart.getBoundingClientRect();
                return [...chart.querySelectorAll("text")].filter(one => {
                    const box = one.getBoundingClientRect();
                    return box.left < whole.left - 1 || box.right > whole.right + 1 || box.bottom > whole.bottom + 1;
                }).map(one => one.textContent);
            })"""
        )
        assert outside == [], outside
        assert seen.page.locator("svg.chart").count() == 4


def test_print_shows_the_tables_and_no_tools(browser: Any, large: Path) -> None:
    with opened(browser, large) as seen:
        seen.page.wait_for_selector("#rows .row:not(.head)")
        seen.page.emulate_media(media="print")
        assert not seen.page.locator("#find").is_visible()
        assert seen.page.locator("#causes").is_visible()


_MEASURED = """
import io, sys
sys.path.insert(0, sys.argv[1])
from auditor.output.formats.registry import FORMATS
from tests.output.formats.drawn import many
FORMATS["html"].write(many(100_000), io.StringIO())
(most,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]  # of this program alone
print(int(most) >> 10)
"""


def test_a_page_of_many_problems_takes_little_memory() -> None:
    made = subprocess.run([sys.executable, "-c", _MEASURED, str(ROOT)], check=True, capture_output=True, text=True)
    assert int(made.stdout) <= 300
