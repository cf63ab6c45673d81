"""What goes over the wire to model servers and back: the transport, its errors, and a decoder for each protocol."""
