"""Designs of graph-guided retrieval, a file or folder each; `docs/differences.md` lists what differs from them."""
