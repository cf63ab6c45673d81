"""Data-protection and ethics documents of a study, made from its file, the settings, and pictures of its screens."""
