"""Models asked without people: they answer alone and annotate conversations; each reply is kept."""
