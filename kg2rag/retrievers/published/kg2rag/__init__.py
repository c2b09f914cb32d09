"""KG2RAG: seeds, expansion and organisation, as in the paper and as in the released code."""
