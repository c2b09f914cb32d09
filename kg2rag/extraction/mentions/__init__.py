"""Passages -> which titles and names they mention, without a language model."""
