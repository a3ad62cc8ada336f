"""A small study, and a kernel for one."""

import numpy as np

from dpairs import Interval, Kernel, Study

UNIT = Interval(0, 1)


def small(**options):
    return Study.create(
        "auc", **{"epsilon": 1.0, "domain": UNIT, "bins": 4, "mechanism": "krr", "seed": 1, **options}
    )


def distance(label="distance", domain=UNIT):
    return Kernel(lambda a, b: np.abs(a - b), range=(0, 1), lipschitz=1.0, domain=domain, label=label)
