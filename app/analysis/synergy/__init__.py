"""Synergy of people and models: a hierarchical model of answers alone and with a model."""
