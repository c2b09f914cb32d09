"""KG2RAG: seeds, expansion and organisation, as the paper says and as the released code does."""
