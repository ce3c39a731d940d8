"""Metrics as pure functions of a score matrix: image rows, text columns, higher is better.

One convention holds in every file: ties never count as hits, and scores that are not finite are refused. A model that
has collapsed to one embedding therefore scores 0, never 100 %.
"""
