"""What a consent form has to say: the elements, with their sources, and the patterns that look for them in a text."""
