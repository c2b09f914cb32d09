"""A comparison -> a browser of its questions: two systems side by side, explained.

Everything shown is in the comparison; no system runs again. Needs `pip install 'kg2rag[notebooks]'`.
"""

from kg2rag.report.widgets.browser import Browser, browse

__all__ = ["Browser", "browse"]
