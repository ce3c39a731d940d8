"""The demonstration: a small picture-book world and what models learn in it."""
