"""Two people compute together: circuits, noise inside them, garbling, transfers and sessions.

Bytes in, bytes out: nothing here reads a file, a socket or a clock. `function`, `kernels`, `noise` and
`circuit` need numpy only; `blocks` and all that follows below need the extra ``pairs``.

    circuit, arithmetic   Boolean circuits, and numbers made of their bits
    bits                  numbers as rows of bits and back
    encoding              a value as an unsigned integer
    kernels, custom       what is computed
    noise, kary, laplace  what is added to it, from random bits of both
    choosing              which noise
    function              kernel and noise as one circuit; the same without one ("ideal")
    blocks, garbling      half-gates, many instances at once
    single                the same for one instance
    transfer, extension   how the evaluator gets the labels of its bits
    wire, session         the messages of a pair, and who may send which when
    batch                 many pairs in one process, garbled and evaluated, for simulations
"""
