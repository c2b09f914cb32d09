"""What flows between the rooms: passages, rankings, formulas, traces, corpora and questions. Holds no algorithm."""
