"""Plain text: books of libraries, test collections, and markup that is recognised by its text."""
