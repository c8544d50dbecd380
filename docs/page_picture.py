"""Makes `page.png`, a part of the HTML page of `examples/train.py` as headless Chromium shows it.

    python docs/page_picture.py [LEDGER.json]

It needs donatree with its examples, selenium, and Debian's chromium and chromium-driver.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from selenium import webdriver

from donatree import reports
from donatree.reports import json

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "page.png"
WIDTH, ROWS = 1000, 3
PLACE = """
const top = document.querySelector(".crumbs").getBoundingClientRect().top + scrollY;
const rows = document.querySelectorAll(".every tbody tr");
return [top - 8, rows[arguments[0]].getBoundingClientRect().top + scrollY];
"""


def saved(folder: str) -> str:
    """The report of the example as JSON."""
    file = Path(folder, "ledger.json")
    command = [sys.executable, "-m", "donatree", "run", "--json", str(file), "examples/train.py"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return file.read_text("utf-8")


def main() -> None:
    """Makes the picture."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(sys.argv[1]).read_text("utf-8") if len(sys.argv) > 1 else saved(folder)
        account = json.loads(text)
        first = replace(account.ledgers[0], copies=())
        page = Path(folder, "page.html")
        made = reports.render(replace(account, ledgers=(first,)), "html")
        page.write_text(made, encoding="ascii")
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or "chromium"
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
            options.add_argument(argument)
        options.add_argument(f"--user-data-dir={folder}/profile")
        driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            driver.set_window_size(WIDTH, 900)
            driver.get(page.as_uri())
            driver.execute_async_script("setTimeout(arguments[0], 500)")
            top, bottom = driver.execute_script(PLACE, ROWS)
            clip = {"x": 0, "y": top, "width": WIDTH, "height": bottom - top, "scale": 1}
            wanted = {"captureBeyondViewport": True, "clip": clip}
            shot = driver.execute_cdp_cmd("Page.captureScreenshot", wanted)
        finally:
            driver.quit()
        PICTURE.write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    main()
