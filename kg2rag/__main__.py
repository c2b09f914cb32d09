"""`python -m kg2rag`: the command line, where the script `kg2rag` is not on the path."""

from kg2rag.cli import main

if __name__ == "__main__":
    main()
