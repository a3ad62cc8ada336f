"""What the page on sites promises, from the results that it shows."""

import numpy as np

from experiments.exhibits import results
from experiments.pages import sites


def central(case="auc", way="two rounds"):
    return results("sites").where(case=case, way=way, sites=20, records=100_000)


def error(part):
    return float(np.sqrt(np.mean((part.column("value") - part.column("truth")) ** 2)))


def test_twenty_sites_have_the_promised_error_and_coverage():
    """10^5 records, 30% positives, offsets of 0.05, epsilon 1 for a record, 200 runs."""
    part = central()
    assert len(part) == 200
    assert error(part) <= 0.0004
    for target in ("in_pop", "in_sample"):
        assert 0.92 <= part.column(target).mean() <= 0.98
    # Others: one report for each record, and the average of local AUCs.
    assert error(central(way="projection")) > 10 * error(part)
    assert error(central(way="average of local AUCs")) > 50 * error(part)
    assert error(central(way="through two servers")) < error(part) / 2


def test_tau_and_gini_are_covered():
    for case in ("tau", "gini"):
        part = central(case)
        assert len(part) == 200
        assert min(part.column(target).mean() for target in ("in_pop", "in_sample")) >= 0.92
        assert error(part) <= 1.1 * part.column("noise").mean()


def test_errors_lie_near_theory():
    """Noise of the sums alone; the pilot adds to it where records are few."""
    found = results("sites").where(case="auc", way="two rounds")
    for count in sites.SITES:
        for records in (100_000, 1_000_000):
            ratio = error(found.where(sites=count, records=records)) / sites.theory(count, records)
            assert 0.75 < ratio < 1.35


def test_the_sites_were_drawn_once():
    assert len(sites.SHARES) == len(sites.OFFSETS) == 20
    assert abs(sum(sites.SHARES) - 1) < 1e-9
    assert 0.03 < np.std(sites.OFFSETS) < 0.07
