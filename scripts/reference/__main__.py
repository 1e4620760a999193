"""`python -m scripts.reference` writes the pages, and the drawing of the layers."""

from __future__ import annotations

import sys

from scripts.reference import FOLDER, pages
from tests.contracts.layers import CONTRIBUTING, with_drawing

FOLDER.mkdir(parents=True, exist_ok=True)
for name, text in pages().items():
    (FOLDER / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"wrote {FOLDER.name}/{name}\n")
CONTRIBUTING.write_text(with_drawing(CONTRIBUTING.read_text(encoding="utf-8")), encoding="utf-8")
sys.stdout.write(f"wrote the layers in {CONTRIBUTING.name}\n")
