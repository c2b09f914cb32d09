"""Spellings, partial identifiers, wildcards and regular expressions."""
