"""Tables, JSON and YAML: records with a text, or documents with a line per value."""
