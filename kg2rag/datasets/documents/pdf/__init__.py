"""PDF, read by pypdfium2: letters, lines in reading order, headings."""
