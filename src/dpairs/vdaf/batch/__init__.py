"""The servers' side for thousands of reports at once, compiled. Needs the extra ``servers`` (numba).

server     verification of a batch, and its sum
pingpong   the two servers' messages about a batch
constants  what the compiled code knows of a circuit
kernels    queries and decisions
elements   arithmetic of both fields
keccak     TurboSHAKE128
compiling  where compiled code is kept
"""
