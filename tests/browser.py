"""A page as a headless browser shows it."""

import html
import json
import re
import shutil
import subprocess

import pytest

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(PROGRAM is None, reason="no chromium or chrome is installed")

_RULES = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'unsafe-inline'"
_WATCH = f"""<meta http-equiv="Content-Security-Policy" content="{_RULES}"><script>
window.faults = [];
addEventListener("error", e => faults.push(e.message || "not loaded: " + (e.target.src || e.target.href)), true);
addEventListener("securitypolicyviolation", e => faults.push(e.violatedDirective + ": " + e.blockedURI));
</script>"""
_TELL = """<script>addEventListener("load", () => document.documentElement.setAttribute("data-seen",
  JSON.stringify({faults, text: document.body.innerText, too_wide: document.documentElement.scrollWidth > innerWidth,
  pictures: [...document.images].filter(i => i.naturalWidth).length,
  requests: performance.getEntriesByType("resource").map(e => e.name)})));</script>"""


def seen(page, folder, width=1000):
    """What a browser makes of a page: its visible text, faults, requests, pictures shown, whether it is too wide.

    A copy of the page is opened that watches itself; it may load nothing from elsewhere.
    """
    content = page.read_text(encoding="utf-8")
    assert content.count("<head>") == content.count("</body>") == 1
    watched = folder / "watched.html"
    watched.write_text(content.replace("<head>", "<head>" + _WATCH).replace("</body>", _TELL + "</body>"))
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}"]
    command = [PROGRAM, *options, f"--window-size={width},900", "--dump-dom", watched.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    return json.loads(html.unescape(re.search(r'data-seen="([^"]*)"', shown).group(1)))
