"""The page in a browser: it zooms, sorts, searches, filters, prints, and runs nothing of a name.

Needs Debian's ``chromium`` and ``chromium-driver``. Where there is no browser the tests are
skipped, unless ``DONATREE_BROWSER`` is ``required``.
"""

from __future__ import annotations

import base64
import dataclasses
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import sample_accounts
from donatree import reports
from donatree.ledger import Account, Finding, Gate, Label, Location
from sample_accounts import account, entry, ledger, spec

ATTACK = "<img src=x onerror=\"window.harmed='yes'\"></script><script>window.harmed='yes'</script>"
_REQUIRED = os.environ.get("DONATREE_BROWSER") == "required"


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator:
    found = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    if not all(found.values()) and not _REQUIRED:
        pytest.skip(f"no browser: {found}")
    if not _REQUIRED:
        pytest.importorskip("selenium")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = found["chromium"] or "chromium"
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--force-prefers-reduced-motion",
        f"--user-data-dir={tmp_path_factory.mktemp('chromium')}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(found["chromedriver"] or "chromedriver")
    driver = webdriver.Chrome(options, service)
    driver.set_window_size(1200, 900)
    yield driver
    driver.quit()


@pytest.fixture
def show(browser, tmp_path):
    """Opens the page of an account from a file; at the end nothing may have gone wrong in it."""

    def opened(made: Account, name: str = "page.html"):
        file = tmp_path / name
        file.write_text(reports.render(made, "html"), encoding="ascii")
        browser.get_log("browser")
        browser.get(file.as_uri())
        settle(browser)  # the explorers are made after the first paint
        return browser

    yield opened
    assert browser.get_log("browser") == []
    assert not browser.execute_script("return window.harmed")
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def settle(browser) -> None:
    """Waits until the browser has drawn, and done what it does after that."""
    browser.execute_async_script(
        "const drawn = (next) => requestAnimationFrame(() => setTimeout(next));"
        "const done = arguments[0]; drawn(() => drawn(done))"
    )


def all_of(browser, selector: str) -> list[str]:
    """The texts that are seen at a selector."""
    script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.innerText)"
    return [" ".join(text.split()) for text in browser.execute_script(script, selector)]


def paths(browser) -> list[str]:
    return all_of(browser, ".every tbody tr > th")


def status(browser) -> str:
    (text,) = all_of(browser, ".status")
    return text


def find(browser, selector: str):
    return browser.find_element("css selector", selector)


def cells(browser) -> list[str]:
    script = (
        "return [...document.querySelectorAll('.map .cell')]"
        ".map((cell) => cell.getAttribute('aria-label'))"
    )
    return browser.execute_script(script)


def crumbs(browser) -> list[str]:
    return all_of(browser, ".crumbs li")


def press(browser, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def choose(browser, name: str, value: str) -> None:
    from selenium.webdriver.support.select import Select

    Select(find(browser, f"select[id$='{name}']")).select_by_value(value)


def colour(browser, selector: str, name: str = "background-color") -> str:
    return find(browser, selector).value_of_css_property(name)


# The treemap


def test_the_treemap_zooms_into_the_tree_by_click_and_back_by_its_breadcrumb(show):
    page = show(sample_accounts.transformer())
    assert crumbs(page) == ["state"]
    names = [text.partition(":")[0] for text in cells(page)]
    assert names == ["state.opt_state[0]", "state.params", "state.step"]

    find(page, ".map .cell").click()
    assert crumbs(page) == ["state", "opt_state[0]"]
    assert "122 of 184 leaves" in status(page)
    assert {path[:18] for path in paths(page)} == {"state.opt_state[0]"}

    find(page, ".crumbs button").click()
    assert crumbs(page) == ["state"]
    assert status(page).startswith("184 leaves")


def test_the_treemap_is_walked_with_the_keyboard(show):
    from selenium.webdriver import Keys

    page = show(sample_accounts.transformer())

    def focused() -> str:
        return page.execute_script("return document.activeElement.getAttribute('aria-label')") or ""

    page.execute_script("document.querySelector('.map .cell').focus()")
    assert focused().startswith("state.opt_state[0]: 122 leaves, 317.23 MiB; 158.62 MiB passed, ")
    press(page, Keys.ARROW_RIGHT)
    assert focused().startswith("state.params: ")
    press(page, Keys.ARROW_LEFT, Keys.ENTER)
    assert crumbs(page) == ["state", "opt_state[0]"]
    assert focused().startswith("state.opt_state[0].mu")  # the focus goes along
    press(page, Keys.ESCAPE)
    assert crumbs(page) == ["state"]
    assert focused().startswith("state.opt_state[0]: ")  # and comes back


def test_a_leaf_of_the_treemap_shows_its_evidence_in_the_table(show):
    page = show(sample_accounts.lesson())
    page.execute_script(
        "document.querySelectorAll('.map .cell')[2].dispatchEvent(new Event('click'))"
    )
    assert paths(page) == ["state.step"]
    assert all_of(page, ".detail dt") == ["asked", "matched", "result"]
    assert all_of(page, ".detail dd")[1] == "@main %arg2: no attribute"


def test_cells_have_the_area_of_their_bytes_and_do_not_overlap(show):
    page = show(sample_accounts.lesson())
    boxes = page.execute_script(
        "return [...document.querySelectorAll('.map .edge')].map((edge) => "
        "['x', 'y', 'width', 'height'].map((name) => Number(edge.getAttribute(name))))"
    )
    areas = [(w + 2) * (h + 2) for _, _, w, h in boxes]
    assert [round(area / sum(areas) * 84) for area in areas] == [64, 16, 4]
    for i, (x, y, w, h) in enumerate(boxes):
        for x2, y2, w2, h2 in boxes[i + 1 :]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


def test_what_was_lost_differs_from_what_was_not_by_more_than_its_colour(show):
    page = show(sample_accounts.lesson())
    assert (
        page.execute_script("return document.querySelectorAll('.map .hatch.matched').length") == 1
    )
    assert colour(page, ".map .hatch.matched", "fill").startswith('url("#hatch-matched")')
    assert page.execute_script("return document.querySelectorAll('.map .hatch.passed').length") == 0
    assert all_of(page, ".legend li") == [
        "passed 80 bytes, 2 leaves",
        "lost at matched 4 bytes, 1 leaf",
    ]


def test_a_loss_too_small_for_the_picture_is_told_in_words(show):
    page = show(sample_accounts.transformer())
    assert re.match(r"\d+ leaves that were lost are too small", all_of(page, ".hint")[0])


def test_leaves_without_bytes_are_told_in_words(show):
    rows = [entry("s.a", 0, spec("float32", 0)), entry("s.b", 1, spec("float32", 0))]
    page = show(account(ledger(rows)))
    assert all_of(page, ".hint") == ["these leaves have no bytes, so there is nothing to draw"]
    assert paths(page) == ["s.a", "s.b"]


# The table


def test_the_table_is_sorted_by_its_heads_and_says_so(show):
    page = show(sample_accounts.lesson())
    assert paths(page) == ["state.step", "state.w", "state.b"]  # what was lost first
    heads = {text.split()[0]: n for n, text in enumerate(all_of(page, ".every thead th"))}
    assert list(heads) == ["path", "type", "bytes", "slot", "gate", "cause", "evidence"]

    def order(name: str) -> str | None:
        head = page.find_elements("css selector", ".every thead th")[heads[name]]
        head.find_element("css selector", "button").click()
        return head.get_attribute("aria-sort")

    assert order("path") == "ascending"
    assert paths(page) == ["state.b", "state.step", "state.w"]
    assert order("path") == "descending"
    assert paths(page) == ["state.w", "state.step", "state.b"]
    assert order("bytes") == "descending"  # the largest first
    assert paths(page) == ["state.w", "state.b", "state.step"]
    sorts = page.execute_script(
        "return [...document.querySelectorAll('[aria-sort]')].map((each) => each.ariaSort)"
    )
    assert sorts.count("none") == len(sorts) - 1


def test_numbers_in_paths_are_sorted_as_numbers(show):
    page = show(sample_accounts.transformer())
    find(page, ".every thead button").click()
    blocks = [int(n) for path in paths(page) for n in re.findall(r"mu\['block_(\d+)", path)]
    assert blocks == sorted(blocks)
    assert max(blocks) == 9


def test_the_table_is_searched_and_filtered_and_the_count_is_announced(show):
    page = show(sample_accounts.transformer())
    box = find(page, "input[type=search]")
    box.send_keys("mu block_7 KERNEL")
    assert [path.partition("['block_7']")[2] for path in paths(page)] == [
        "['mlp']['up']['kernel']",
        "['attn']['qkv']['kernel']",
        "['attn']['out']['kernel']",
    ]
    assert status(page) == "3 of 184 leaves, 8.00 MiB"
    assert find(page, ".status").get_attribute("aria-live") == "polite"

    find(page, ".tools button").click()
    choose(page, "-gate", "matched")
    assert paths(page) == ["state.step"]
    choose(page, "-gate", "")
    choose(page, "-cause", "DT401")
    assert status(page) == "61 of 184 leaves, 158.62 MiB; rows 1 to 50 are shown"
    box.send_keys("result.opt_state[0].NU['block_11']['norm'")  # a slot's head and its tail
    assert status(page) == "no leaf is like that"
    choose(page, "-cause", "")
    assert paths(page) == ["state.opt_state[0].nu['block_11']['norm']['scale']"]
    box.clear()
    box.send_keys("there is no such leaf")
    assert status(page) == "no leaf is like that"
    assert paths(page) == []


def test_a_long_table_is_turned_page_by_page(show):
    page = show(sample_accounts.transformer())
    assert len(paths(page)) == 50
    back, on = page.find_elements("css selector", ".pager button")
    assert (back.is_enabled(), on.is_enabled()) == (False, True)
    for _ in range(3):
        page.execute_script("arguments[0].click()", on)
    assert len(paths(page)) == 34
    assert status(page).endswith("rows 151 to 184 are shown")
    assert (back.is_enabled(), on.is_enabled()) == (True, False)


def test_evidence_is_shown_when_asked_and_a_code_leads_to_its_finding(show):
    page = show(sample_accounts.lesson())
    opener = find(page, ".opener")
    assert opener.get_attribute("aria-expanded") == "false"
    opener.click()
    assert opener.get_attribute("aria-expanded") == "true"
    assert "args_info: donated" in find(page, ".detail").text
    opener.click()
    assert page.find_elements("css selector", ".detail") == []
    link = find(page, ".every td a.code")
    assert link.get_attribute("href").endswith("#finding-1")
    assert "DT402" in find(page, "#finding-1").text


def test_a_code_of_a_finding_opens_its_page(show):
    page = show(sample_accounts.lesson())
    find(page, "#finding-1 a.code").click()
    assert find(page, "#code-DT402 h4").is_displayed()
    assert "What it means" in find(page, "#code-DT402").text


# Targets


def test_targets_stand_side_by_side_and_one_of_them_can_be_chosen(show):
    page = show(sample_accounts.targets())
    heads = [text.split()[0] for text in all_of(page, ".every thead th")]
    assert heads[3:6] == ["host", "tpu:v5e:4x4", "cuda:h100:1x1x8"]
    rows = dict(zip(paths(page), all_of(page, ".every tbody tr"), strict=True))
    assert "copy DT501" in rows["state.flipped"]
    assert rows["state.flipped"].count("in place") == 2
    assert all_of(page, ".legend li")[2] == "lost at in place 16.00 MiB, 1 leaf"
    choose(page, "-target", "1")  # the TPU, which makes no copy
    assert all_of(page, ".legend li") == [
        "passed 2.52 GiB, 25 leaves",
        "lost at matched 4 bytes, 1 leaf",
    ]
    opener = page.find_elements("css selector", ".opener")[1]
    page.execute_script("arguments[0].click()", opener)
    assert all_of(page, ".detail h5") == heads[3:6]


# Colours, width, paper


def test_dark_and_light_follow_the_system_and_the_switch(show):
    page = show(sample_accounts.lesson())

    def system(value: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": value}]
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        settle(page)

    system("light")
    light = colour(page, "body")
    assert light == "rgba(255, 255, 255, 1)"
    system("dark")
    dark = colour(page, "body")
    assert dark != light
    switch = find(page, "#theme")
    assert switch.get_attribute("aria-pressed") == "true"
    switch.click()
    assert (colour(page, "body"), switch.get_attribute("aria-pressed")) == (light, "false")
    page.refresh()  # what was chosen stays chosen
    assert colour(page, "body") == light
    find(page, "#theme").click()
    assert colour(page, "body") == dark
    page.execute_script("localStorage.clear()")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_the_contrast_that_it_needs(show, theme):
    page = show(sample_accounts.lesson())
    page.execute_script("document.documentElement.dataset.theme = arguments[0]", theme)
    found = page.execute_script(
        """
        const style = getComputedStyle(document.body);
        const part = (name) => {
          const [r, g, b] = style.getPropertyValue(name).trim().match(/[0-9a-f]{2}/g)
            .map((hex) => parseInt(hex, 16) / 255)
            .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const found = {};
        for (const name of ["text", "dim", "link", "good", "bad", "care"]) {
          for (const ground of ["ground", "panel"]) {
            found[`${name} on ${ground}`] = ratio(part(`--${name}`), part(`--${ground}`));
          }
        }
        found["text on passed"] = ratio(part("--text"), part("--passed"));
        return found;
        """
    )
    assert {name: ratio for name, ratio in found.items() if ratio < 4.5} == {}


@pytest.mark.parametrize(
    "name", ["lesson", "transformer", "targets", "hostile targets", "compared"]
)
def test_a_narrow_window_does_not_scroll_sideways(show, name):
    page = show(sample_accounts.everything()[name])
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    settle(page)
    assert page.execute_script("return innerWidth") == 400
    assert page.execute_script("return document.documentElement.scrollWidth") <= 400


def test_on_paper_there_are_no_controls_and_the_state_is_folded(show):
    page = show(sample_accounts.transformer())
    assert not find(page, ".folded").is_displayed()
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    settle(page)
    for control in ("#theme", ".top nav", ".tools", ".pager", ".every"):
        assert not find(page, control).is_displayed(), control
    assert (
        "lost, 158.62 MiB" in find(page, ".folded").text
        or "granted DT401" in find(page, ".folded").text
    )
    assert find(page, ".map").is_displayed()


def test_paper_shows_programs_that_are_closed_on_the_screen(show):
    one = sample_accounts.lesson().ledgers[0]
    many = [dataclasses.replace(one, function=f"step_{i}") for i in range(5)]
    page = show(account(*many))
    assert len(page.find_elements("css selector", "details.program[open]")) == 1
    printed = page.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert base64.b64decode(printed).startswith(b"%PDF")
    page.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert len(page.find_elements("css selector", "details.program[open]")) == 5
    page.execute_script("dispatchEvent(new Event('afterprint'))")
    assert len(page.find_elements("css selector", "details.program[open]")) == 1


# What a program may call its things


def hostile(tmp_path: Path) -> Account:
    """Every text of a program is an attack."""
    source = tmp_path / "attack.py"
    source.write_text(f"x = '{ATTACK}'\n", encoding="utf-8")
    place = Location(str(source), 1, 0, 1, 1)
    lost = entry(
        f"state[{ATTACK!r}]",
        0,
        spec("float32", 4),
        slot=f"result[{ATTACK!r}]",
        stopped_at=Gate.KEPT,
        finding=ATTACK,
        evidence={ATTACK: ATTACK, "kept": f"{ATTACK}\u2028<!--"},
    )
    kept = entry(f"state.x{ATTACK}", 1, spec("float32", 4), slot=f"result{ATTACK}\u2028")
    finding = Finding(
        ATTACK,
        f"`{ATTACK}` {ATTACK}",
        leaves=(lost.path,),
        bytes=16,
        location=place,
        labels=(Label(place, ATTACK, primary=True), Label(Location(ATTACK, 3), ATTACK)),
        notes=(ATTACK,),
        help=ATTACK,
    )
    made = ledger(
        [lost, kept], finding, function=ATTACK, signature=ATTACK, notes=(ATTACK,), platform=ATTACK
    )
    return account(made, program=ATTACK, ended=ATTACK, unmatched=(ATTACK,), notes=(ATTACK,))


def test_names_of_a_program_are_text_and_nothing_else(show, tmp_path):
    page = show(hostile(tmp_path))
    assert page.find_elements("css selector", "img") == []
    assert len(page.find_elements("css selector", "script")) == 2
    assert ATTACK in find(page, "h1").text
    assert any(ATTACK in path for path in paths(page))
    for opener in page.find_elements("css selector", ".opener"):
        page.execute_script("arguments[0].click()", opener)
    assert ATTACK in find(page, ".detail").text
    for _ in cells(page):
        page.execute_script(
            "document.querySelector('.map .cell').dispatchEvent(new Event('click'))"
        )
    find(page, "input[type=search]").send_keys("<img")
    assert status(page).endswith("bytes")


def test_the_attack_would_do_harm_in_a_page_that_escapes_nothing(browser, tmp_path):
    file = tmp_path / "harm.html"
    file.write_text(f"<!doctype html><p>{ATTACK}</p>", encoding="ascii")
    browser.get(file.as_uri())
    assert browser.execute_script("return window.harmed") == "yes"
    assert browser.get_log("browser") != []  # the picture that is not there


def test_the_page_runs_no_script_but_its_own(browser, tmp_path):
    text = reports.render(sample_accounts.lesson(), "html")
    file = tmp_path / "injected.html"
    file.write_text(text.replace("<main", ATTACK + "<main"), encoding="ascii")
    browser.get(file.as_uri())
    assert len(browser.find_elements("css selector", "img")) == 1
    assert not browser.execute_script("return window.harmed")
    browser.get_log("browser")


@pytest.mark.parametrize("name", sorted(sample_accounts.everything()))
def test_every_account_opens_without_an_error(show, name):
    made = sample_accounts.everything()[name]
    page = show(made)
    explored = page.find_elements("css selector", ".program.explored")
    assert bool(explored) == bool(made.ledgers)


# Many leaves


def test_fifty_thousand_leaves_are_searched_and_zoomed(show):
    rows = [
        entry(
            f"state.layers[{i // 10}].w{i % 10}",
            i,
            spec("float32", 1 + i % 97),
            stopped_at=Gate.GRANTED if i % 5 == 0 else None,
            finding="DT401" if i % 5 == 0 else None,
            evidence={"granted": f"input_output_alias {{{i}}}: ({i}, {{}}, may-alias)"},
        )
        for i in range(50_000)
    ]
    page = show(account(ledger(rows)))
    assert status(page).startswith("50,000 leaves")
    assert len(paths(page)) == 50
    find(page, "input[type=search]").send_keys("layers[4321].w7")  # it is in the slot, too
    assert paths(page) == ["state.layers[4321].w7"]
    find(page, ".opener").click()
    assert "input_output_alias {43217}: (43217, {}, may-alias)" in find(page, ".detail").text
    find(page, ".tools button").click()
    assert "more" in cells(page)[-1]
    page.execute_script(
        "[...document.querySelectorAll('.map .cell')].at(-1).dispatchEvent(new Event('click'))"
    )
    assert crumbs(page)[-1].endswith(" more")
    assert re.match(r"[\d,]+ of 50,000 leaves", status(page))
    assert len(page.find_elements("css selector", ".map rect")) < 12_000


# Without a script


def test_without_a_script_the_page_still_tells_everything_that_matters(browser, tmp_path):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        file = tmp_path / "plain.html"
        file.write_text(reports.render(sample_accounts.lesson(), "html"), encoding="ascii")
        browser.get(file.as_uri())
        text = find(browser, "body").text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    for told in ("an int32 leaf is returned as float32", "return state.step + 1", "matched DT402"):
        assert told in text
    assert "4 bytes, 1 leaf" in text  # the funnel's own words
