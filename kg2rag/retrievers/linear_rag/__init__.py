"""LinearRAG: entities, sentences and passages, bridged and walked; no relations."""
