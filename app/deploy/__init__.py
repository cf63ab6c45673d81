"""What `parley deploy` writes: a folder from which one host runs Parley."""
