"""Behaviour of gRPC: run against grpcio, which specifies it, and the native transport."""
