"""``philote-fast bench``: what philote_fast gains, on this machine and with one's own discipline.

Stock, patched and native are measured side by side: a client process and a server process of each,
sampled in turn. `runner` conducts them, `agent` is what runs in each process, `cases` says what is
measured, and `record` is what comes of it.
"""
