"""PageRank over phrases, and over phrases and passages: HippoRAG and HippoRAG 2."""
