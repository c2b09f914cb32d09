"""(Query, Ranking) -> Ranking, one file per stage."""
