"""Studies of pairs of populations."""

from dpairs import Integers, Study
from dpairs.protocols.pairwise.protocol import Pairwise

from ...statistics.populations import Population, populations

EVERY = populations()


def study_of(population: Population, epsilon: float, pairs: int, **options) -> Study:
    # Levels from 0 to 11 as whole numbers: a distance instead of a table.
    gini = population.name == "gini-mean-difference"
    return Study.create(
        population.statistic,
        epsilon=epsilon,
        protocol="pairwise",
        domain=Integers(0, 11) if gini else population.domain,
        pairs=pairs,
        seed=1,
        **{**population.options, **options},
    )


def protocol_of(study: Study) -> Pairwise:
    assert isinstance(study.protocol, Pairwise)
    return study.protocol
