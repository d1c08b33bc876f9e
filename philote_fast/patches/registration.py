"""Patches of ``philote_mdo.generated.disciplines_pb2_grpc``: what is registered with a server."""
