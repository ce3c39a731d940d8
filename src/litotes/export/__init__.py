"""Adapted models in the forms that other tools read."""
