"""What costs hours or money, and where it is kept: the store, the encoder and its vectors, tokens, language models."""
