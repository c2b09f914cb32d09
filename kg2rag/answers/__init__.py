"""Rankings -> a context within a token budget -> answers of a language model -> their scores."""
