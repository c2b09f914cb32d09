"""Results that are a page of their own and a fragment in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod


class HtmlPage(ABC):
    """Renders itself by `html`; Jupyter shows the fragment."""

    def to_html(self) -> str:
        """A self-contained page; every text is escaped."""
        return self.html(alone=True)

    def _repr_html_(self) -> str:
        return self.html(alone=False)

    @abstractmethod
    def html(self, *, alone: bool) -> str:
        """A whole page, or where `alone` is False a fragment for a notebook."""
