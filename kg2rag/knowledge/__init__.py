"""A corpus as strategies see it: graph, indexes, mentions and vectors, each built once and kept."""
