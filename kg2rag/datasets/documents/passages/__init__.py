"""Blocks of documents to passages: divided by length, without furniture and excerpts, with links."""
