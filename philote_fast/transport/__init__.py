"""gRPC's channel and server on the native transport."""
