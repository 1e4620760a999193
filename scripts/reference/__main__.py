"""`python -m scripts.reference` writes the pages."""

from __future__ import annotations

import sys

from scripts.reference import FOLDER, pages

FOLDER.mkdir(parents=True, exist_ok=True)
for name, text in pages().items():
    (FOLDER / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"wrote {FOLDER.name}/{name}\n")
