"""The site: it is built without a warning, every page is in it, and what is printed from the code is up to date."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from ottla.cli.reference import PAGES
from tests.support.browser import Chromium
from tests.support.pages import DOCS, ROOT, page
from tests.support.patience import PATIENCE_SECONDS

WIDE: Final = 1280
NARROW: Final = 390


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. Links and anchors that lead nowhere, and pages that are not in the navigation, end the build."""
    folder = tmp_path_factory.mktemp("site")
    ended = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder


def test_every_page_is_built(site: Path) -> None:
    """By its own name, with the pictures it shows."""
    missing = [path.name for path in DOCS.glob("*.md") if not (site / f"{path.stem}.html").exists()]
    assert missing == []
    assert [path.name for path in DOCS.glob("*.png") if not (site / path.name).exists()] == []


def test_what_a_page_is_about_can_be_searched_for(site: Path) -> None:
    """The index of the search has the words of a page."""
    assert "group.initial.rebalance.delay.ms" in (site / "search" / "search_index.json").read_text()


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages as `make docs` prints them: tests have more patience than users by default."""
    folder = tmp_path_factory.mktemp("printed")
    environment = {name: value for name, value in os.environ.items() if name != "OTTLA_TIMEOUT_S"}
    command = [sys.executable, "-m", "ottla.cli.reference", str(folder)]
    subprocess.run(command, env=environment, timeout=PATIENCE_SECONDS, check=True)
    return folder


@pytest.mark.parametrize("name", PAGES)
def test_reference_is_up_to_date(name: str, printed: Path) -> None:
    """docs/ has what the parsers and docstrings say."""
    assert page(name) == (printed / name).read_text(encoding="utf-8"), f"docs/{name} is stale; run `make docs`"


def test_every_command_stands_in_the_reference() -> None:
    """And what it can do, with its options."""
    text = page("command-line.md")
    for title in ("## ottla serve", "### ottla topics consume", "### ottla groups lag", "### ottla transactions abort"):
        assert f"\n{title}\n" in text
    assert re.search(r"^\| `--listen \S+` \| \w", text, re.MULTILINE)


def test_pages_can_be_read_on_github() -> None:
    """They hold nothing that only the site understands."""
    only_on_the_site = re.compile(r"^(:::|!!! |\?\?\? |=== \")|\{: ?[.#]|\]\(/", re.MULTILINE)
    assert [path.name for path in DOCS.glob("*.md") if only_on_the_site.search(path.read_text())] == []


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["index", "config", "time", "groups"])
def test_page_fits_the_screen_and_asks_nobody_else(
    name: str, dark: bool, width: int, site: Path, chromium: Chromium
) -> None:
    """Wide tables scroll by themselves, the page does not; light and dark are the reader's choice."""
    with chromium.open(site / f"{name}.html", dark=dark, width=width) as shown:
        assert shown.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        brightness = shown.evaluate(
            "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"
        )
        assert (brightness < 3 * 128) is dark
        assert [url for url in shown.requested if not url.startswith(("file:", "data:"))] == []
