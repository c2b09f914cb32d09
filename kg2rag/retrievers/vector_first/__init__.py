"""Dense hits, then the nearest passages of related entities' documents."""
