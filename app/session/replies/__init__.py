"""Replies of models: asked for in tasks of their own, tried again within limits, and every attempt recorded."""
