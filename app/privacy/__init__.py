"""The data-protection document of a study, with a picture of every screen."""
