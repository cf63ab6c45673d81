"""Deposits of exports in repositories: the Hugging Face Hub, Zenodo and the OSF."""
