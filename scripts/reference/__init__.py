"""The pages of docs/reference/, made from the code they describe."""

from scripts.reference.pages import FOLDER, pages

__all__ = ["FOLDER", "pages"]
