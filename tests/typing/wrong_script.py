"""One mistake in each line, and what mypy and pyright call it."""

import dpairs
from dpairs import Study

people = [0.0, 1.0]

# fmt: off
dpairs.auk(people, people, epsilon=1)  # mypy: attr-defined, pyright: reportAttributeAccessIssue
dpairs.auc(people, people)  # mypy: call-arg, pyright: reportCallIssue
dpairs.auc(people, people, 1)  # mypy: call-arg, pyright: reportCallIssue
dpairs.auc(people, people, epsilon="1")  # mypy: arg-type, pyright: reportArgumentType
dpairs.auc(people, people, epsilon=1, tie="half")  # mypy: call-arg, pyright: reportCallIssue
dpairs.auc(people, people, epsilon=1, ties="none")  # mypy: arg-type, pyright: reportArgumentType
dpairs.auc(people, people, epsilon=1, trust="everybody")  # mypy: arg-type, pyright: reportArgumentType
dpairs.auc(people, people, epsilon=1, sample_weight=None)  # mypy: call-arg, pyright: reportCallIssue
dpairs.auc(people, people, epsilon=1, seed="7")  # mypy: arg-type, pyright: reportArgumentType
dpairs.mann_whitney(people, people, epsilon=1, alternative="lesser")  # mypy: arg-type, pyright: reportArgumentType
dpairs.kendall_tau(people, people, epsilon=1, variant="c")  # mypy: arg-type, pyright: reportArgumentType
dpairs.kendall_tau(people, epsilon=1)  # mypy: call-arg, pyright: reportCallIssue
dpairs.gini(people, epsilon=1, domain=5)  # mypy: arg-type, pyright: reportArgumentType
dpairs.gini_mean_difference(people, epsilon=1, rounds="two")  # mypy: arg-type, pyright: reportArgumentType
dpairs.variance(people, epsilon=1, ddof=1)  # mypy: call-arg, pyright: reportCallIssue
dpairs.collision_entropy(people, epsilon=1, variant="a")  # mypy: call-arg, pyright: reportCallIssue
dpairs.plan("auc", domain=(0, 1), epsilon=1, n="many")  # mypy: arg-type, pyright: reportArgumentType
dpairs.plan("auc", domain=(0, 1), epsilon=1, n=100, variant="c")  # mypy: arg-type, pyright: reportArgumentType
dpairs.plan("auc", domain=(0, 1), epsilon=1, n=100, bin=3)  # mypy: call-arg, pyright: reportCallIssue
dpairs.plan("auc", domain=(0, 1), epsilon=1, n=100).begin("now")  # mypy: call-arg, pyright: reportCallIssue
Study.create("auc", domain=(0, 1))  # mypy: call-overload, pyright: reportCallIssue
Study.create("auc", epsilon=1, protocol="histogramm")  # mypy: call-overload, pyright: reportArgumentType
Study.create("auc", epsilon=1, bins="8")  # mypy: arg-type, pyright: reportArgumentType
Study.create("auc", epsilon=1, splitting="users")  # mypy: call-overload, pyright: reportCallIssue
Study.create("auc", epsilon=1, protocol="histogram", mechanism="rr")  # mypy: call-overload, pyright: reportArgumentType
Study.create("auc", epsilon=1, protocol="tree", splitting="people")  # mypy: call-overload, pyright: reportArgumentType
Study.create("auc", epsilon=1, protocol="tree", mechanism="krr")  # mypy: call-overload, pyright: reportCallIssue
Study.create("auc", epsilon=1, protocol="projection", pilot="none")  # mypy: call-overload, pyright: reportArgumentType
Study.create("auc", epsilon=1, protocol="projection", rounds=2)  # mypy: call-overload, pyright: reportCallIssue
Study.create("auc", epsilon=1, protocol="pairwise", noise="normal")  # mypy: call-overload, pyright: reportArgumentType
Study.create("auc", epsilon=1, protocol="pairwise", n=100)  # mypy: call-overload, pyright: reportCallIssue
Study.create("auc", epsilon=1, protocol="two_servers", rounds=3)  # mypy: call-overload, pyright: reportArgumentType
Study.create("auc", epsilon=1, protocol="two_servers", sites=3)  # mypy: call-overload, pyright: reportArgumentType
Study.create("auc", epsilon=1, protocol="sites", unit="hospital")  # mypy: call-overload, pyright: reportArgumentType
Study.create("auc", epsilon=1, protocol="sites", release="counts")  # mypy: call-overload, pyright: reportArgumentType
dpairs.Participant("a study", index=0)  # mypy: arg-type, pyright: reportArgumentType
dpairs.Tally(Study.create("auc", epsilon=1)).add(0.7)  # mypy: arg-type, pyright: reportArgumentType
dpairs.gini(people, epsilon=1).confidence_interval(level="95%")  # mypy: arg-type, pyright: reportArgumentType
dpairs.gini(people, epsilon=1).valeu  # mypy: attr-defined, pyright: reportAttributeAccessIssue
