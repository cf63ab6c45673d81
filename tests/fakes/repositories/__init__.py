"""Repositories for research data over real HTTP, as their documentation describes them, with faults on demand."""
