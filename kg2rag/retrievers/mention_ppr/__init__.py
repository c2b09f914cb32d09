"""PageRank over who mentions whom, along sentences that fit the query; no language model."""
