"""Search structures over a corpus: dense (FAISS) and lexical (bm25s)."""
