"""The wire to model servers: the transport, its errors, and a decoder for each protocol."""
