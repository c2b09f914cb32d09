"""Designs of graph-guided retrieval; `docs/differences.md` lists our departures from them."""
