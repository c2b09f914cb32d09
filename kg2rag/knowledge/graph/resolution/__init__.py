"""Entities under several names -> one entity: candidates, decisions, the merge."""
