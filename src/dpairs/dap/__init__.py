"""DAP (draft-ietf-ppm-dap-18) for studies of two servers: bytes in, bytes out, no sockets and no clocks.

presentation         the TLS presentation language
reports, jobs        the messages of upload and of aggregation
collection           the messages of collection
task                 what analyst and both operators agree on, and what follows from it
sealing              what is sealed for a server, and for the analyst
participant          a person's report
verification         a batch of reports at the leader and at the helper
products, result     steps of our own: inner products, and what is released

The draft cites version 19 of the VDAF draft; the proofs here are those of version 20. Messages are encoded as
the draft says, and were never tried with another program.
"""
