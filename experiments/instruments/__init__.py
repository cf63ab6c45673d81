"""Published scales and label lists."""
