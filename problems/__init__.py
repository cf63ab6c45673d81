"""Problems, and the sources that they come from."""
