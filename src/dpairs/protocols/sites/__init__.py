"""Sites that hold many records: each adds noise once for all of its own.

unit, claim          what a change of one record, or of one person's records, moves, and what is promised
by_sites             what every round of sites offers
protocol             one round: noisy counts of cells, and the answer from them
pilot_round, ...     two rounds: a noisy pilot, then one noisy sum of influence values for each class
counted              forms from noisy counts
first_answers        what the analyst of a second round keeps of the first
predict              the error to expect
"""
