"""Who meets it: participants' pages, researchers' console, command line, model backends, simulated participants."""
