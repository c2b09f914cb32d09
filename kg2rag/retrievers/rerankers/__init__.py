"""Queries and passages -> scores of the pairs, and the stage that orders a ranking by them."""
