"""Spark's process from which those of Python's tasks are forked, with what each of them would import.

Not dpairs: executors get it with the job, and only so.
"""

import numpy as np  # noqa: F401
import pandas as pd  # noqa: F401
import pyarrow.parquet  # noqa: F401
import pyspark.worker  # noqa: F401
import scipy.special  # noqa: F401
from pyspark.daemon import manager

if __name__ == "__main__":
    manager()
