"""Python sources -> a graph of definitions, imports, calls, uses and inheritance."""
