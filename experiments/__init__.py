"""The paper's experiments and those of the documentation: from data to rows, from rows to tables and pictures.

`python -m experiments` runs them. Rows are kept in ``results``; `exhibits` makes what the pages show from them.
"""
