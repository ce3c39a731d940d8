"""Litotes: CLIP-family models that understand "not", and know when they are not sure."""

__version__ = "0.1.0"
