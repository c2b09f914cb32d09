"""Query -> Ranking, one file per strategy."""
