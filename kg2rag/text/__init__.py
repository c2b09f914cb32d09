"""Strings only: normalisation, lexicon, names, identifiers, records of files, HTML templates."""
