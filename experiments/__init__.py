"""The paper's experiments and those of the documentation.

`python -m experiments` runs them. Rows are kept in ``results``; `exhibits` makes tables and pictures of them.
"""
