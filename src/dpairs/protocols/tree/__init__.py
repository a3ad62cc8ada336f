"""The `tree` protocol: one bit of a Hadamard row from each person, two trees, one AUC."""
