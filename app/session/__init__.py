"""The one service through which everybody acts on sessions."""
