"""Four retrievers, weighted query by query by an analyser."""
