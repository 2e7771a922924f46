"""One HTML file with all that it needs: styles, scripts and data, and a policy that lets nothing else in or out.

The policy allows only the scripts and styles whose hashes it names, so nothing that comes from a scenario, a log or a
message can run, whatever it contains; and the page can reach no network. Data are JSON in elements that no browser
executes; texts get onto the page through `textContent` and `escape`, never as HTML.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

ASSETS = resources.files(__package__) / "assets"
COMMON_STYLES = ("common.css",)


def asset(name: str) -> str:
    """A file of `assets/`, or of a folder in it."""
    return ASSETS.joinpath(*name.split("/")).read_text(encoding="utf-8")


def page(
    title: str,
    body: str,
    *,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    data: Mapping[str, Any] | None = None,
    may_fetch: bool = False,
) -> str:
    """A page. `body` is HTML, `styles` and `scripts` name assets, and `data` becomes JSON by the id of its element.

    A script reads its data with `JSON.parse(document.getElementById(id).textContent)`. If it `may_fetch`, it can get
    more from the server that it comes from.
    """
    style_texts = [asset(name) for name in (*COMMON_STYLES, *styles)]
    script_texts = [asset(name) for name in scripts]
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashes(script_texts)}",
            f"style-src {_hashes(style_texts)}",
            "img-src data: blob:",
            "media-src blob:",
            *(["connect-src 'self'"] if may_fetch else []),
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    blocks = "".join(
        f'<script type="application/json" id="{escape(name)}">{embedded_json(value)}</script>\n'
        for name, value in (data or {}).items()
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
{"".join(f"<style>{text}</style>" for text in style_texts)}
</head>
<body>
{body}
{blocks}{"".join(f"<script>{text}</script>" for text in script_texts)}
</body>
</html>
"""


def embedded_json(value: Any) -> str:
    """JSON that cannot end the element it is in: no character of it is `<`, `>` or `&`."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hashes(texts: Sequence[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
