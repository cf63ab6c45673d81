"""Simulated participants: they see screens and act through the same door as people."""
