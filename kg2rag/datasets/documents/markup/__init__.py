"""Light markup and XML: Markdown by markdown-it-py, other markup by pandoc, XML by its root element."""
