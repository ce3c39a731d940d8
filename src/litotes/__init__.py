"""Litotes: adapt CLIP-family models to "not", and measure how far that gets them and what it costs."""

__version__ = "0.1.0"
