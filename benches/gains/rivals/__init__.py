"""Other ways to carry what a call carries: a bare socket, ZeroMQ, Arrow Flight.

Each is a server process, ``python -m gains.rivals.NAME``, that gives back what it gets; its client
is a subject. They carry bytes or arrays and know nothing of Philote.
"""
