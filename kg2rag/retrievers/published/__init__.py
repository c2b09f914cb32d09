"""Published systems, reimplemented; `docs/differences.md` lists our departures from them."""
