"""The demo of pairs: several losses trained on sparse, partly wrong pairs, where all that is true is known."""
