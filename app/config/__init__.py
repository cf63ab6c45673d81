"""A deployment's configuration: settings, model servers and the secret."""
