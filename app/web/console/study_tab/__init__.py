"""The workbench: the parts of the room in which studies are made, published, run and walked through."""
