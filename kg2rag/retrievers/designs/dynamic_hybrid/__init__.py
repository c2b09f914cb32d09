"""Four retrievers with weights per query, chosen by an analyser."""
