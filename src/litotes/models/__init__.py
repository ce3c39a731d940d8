"""Encoders, adapters and the matcher that train, evaluate, search and export all take."""
