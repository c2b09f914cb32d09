"""Published systems, written again from their papers; `docs/differences.md` lists what differs from them."""
