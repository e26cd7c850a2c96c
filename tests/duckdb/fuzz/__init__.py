"""Random queries that have one right answer, and the tables they read."""
