"""Evaluation: suites that turn a model's embeddings into numbers, and the files and pages that carry the numbers."""
