"""Verified shares: Prio3 of the CFRG draft on verifiable distributed aggregation functions (draft 20).

Bytes in, bytes out: nothing here reads a file, a socket or a clock, and randomness is an argument. What a
participant uses needs numpy and the extra ``vdaf``; `batch`, for servers, also the extra ``servers`` (numba).

    fields, polynomials   prime fields, and polynomials as values at roots of unity
    gadgets, circuits     what makes a vector valid
    measurements          the circuits of the draft
    proofs                fully linear proofs of a shared vector
    xof                   TurboSHAKE128
    prio3, instances      shares, their verification and their sum
    pingpong              the two servers' messages
    hpke                  a share sealed for its server
    arguments             checks of a caller's numbers
    batch                 thousands of reports at once
"""
