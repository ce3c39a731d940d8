"""One training loop; a method is a Task."""
