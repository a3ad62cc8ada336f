"""The `pairwise` protocol: two people compute the noisy kernel of their values in a garbled circuit."""
