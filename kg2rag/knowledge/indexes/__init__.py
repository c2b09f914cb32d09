"""Search structures over a corpus: dense (products of matrices) and lexical (bm25s)."""
