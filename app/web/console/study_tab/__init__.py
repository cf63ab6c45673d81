"""The tabs of a study in the console: overview, editor, preview and versions."""
