"""PageRank over who mentions whom; no language model."""
