"""Settings, model servers and the secret: what a deployment is given."""
