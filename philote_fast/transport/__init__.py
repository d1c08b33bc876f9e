"""gRPC's channel and server on the native transport."""

from grpc import ssl_channel_credentials

from philote_fast.transport.credentials import ssl_server_credentials

__all__ = ["ssl_channel_credentials", "ssl_server_credentials"]
