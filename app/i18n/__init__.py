"""Languages of participants: catalogues and their negotiation."""
