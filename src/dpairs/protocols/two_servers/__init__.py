"""Two servers that do not collude: shares in, a few noisy numbers out.

protocol, claim      parameters, the analyst's answer, what is promised
bins, budget         how fine a grid, how much noise
forms                kernels in whole numbers
released, answer     what is released, and the answer from it
sampling             what coarse counts say about sampling and binning
pilot_round, ...     two rounds: a noisy pilot, then a sum of influence values
tally, servers       one server's added-up shares, and its steps
multiply             inner products of shared vectors by oblivious transfer
"""
