"""The two real data sets: where they come from, how they are read, and what the paper left unsaid.

Neither is part of dpairs. They are looked for in a folder: ``--data``, or the variable DPAIRS_DATA.
"""

from __future__ import annotations

import csv
import gzip
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpairs.data.domains import Levels
from dpairs.errors import BadFile, BadParameter, Unavailable
from dpairs.formats import files

VARIABLE = "DPAIRS_DATA"
HOSPITAL, RATINGS = "diabetic_data.csv.gz", "tripadvisor_ratings.csv.gz"
HOW = {
    HOSPITAL: (
        f"put {HOSPITAL} into the folder that --data or {VARIABLE} names: it is data set 296 of the UCI "
        "repository (Diabetes 130-US hospitals, archive.ics.uci.edu/dataset/296), compressed with gzip; "
        "--fetch gets it from OpenML"
    ),
    RATINGS: (
        f"put {RATINGS} into the folder that --data or {VARIABLE} names: a CSV of the ratings of Wang, Lu "
        "and Zhai's hotel reviews (KDD 2010), with columns rooms and cleanliness, -1 for none, in gzip"
    ),
}
"""For each file, in one sentence, how to get it."""
LEVELS = Levels([-1, 1, 2, 3, 4, 5])
"""The ratings' levels; -1 is no rating."""


def folder(given: Path | None) -> Path | None:
    """Where the data are, as far as anybody said."""
    if given is not None:
        if not given.is_dir():
            raise BadFile(f"--data must name a folder, which {given} is not")
        return given
    named = os.environ.get(VARIABLE, "")
    return Path(named) if named else None


def missing(names: tuple[str, ...], place: Path | None) -> list[str]:
    """Those of the files that are not there."""
    return [name for name in names if place is None or not (place / name).is_file()]


# ---------------------------------------------------------------- ratings


@cache
def ratings(place: Path, rated_only: bool = False) -> dict[str, NDArray[np.int64]]:
    """What people gave for the room (x) and for cleanliness (y).

    -1 is no rating and counts as the lowest level; ``rated_only`` leaves out whoever did not rate both.
    """
    path = place / RATINGS
    try:
        with gzip.open(path, "rt", encoding="utf-8") as text:
            rows = [(int(row["rooms"]), int(row["cleanliness"])) for row in csv.DictReader(text)]
    except (OSError, EOFError, KeyError, ValueError, TypeError) as error:
        raise BadFile(f"the ratings {path} cannot be read: {error}") from None
    x, y = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    if x.size != 243_837:
        raise BadFile(f"the ratings {path} should have 243,837 rows, not {x.size:,}")
    keep = (x > 0) & (y > 0) if rated_only else np.ones(x.size, dtype=bool)
    return {"x": x[keep], "y": y[keep]}


# ---------------------------------------------------------------- hospital

OPENML = 4541
"""The number of the hospital data at OpenML, where they have all columns and rows of UCI's."""


def fetch_hospital(place: Path) -> None:
    """Get the hospital data from OpenML into a folder, unless they are there."""
    if not missing((HOSPITAL,), place):
        return
    try:
        from sklearn.datasets import fetch_openml
    except ImportError:
        raise BadParameter(
            "fetching needs pandas and scikit-learn: install the extra 'experiments' of dpairs"
        ) from None
    try:
        frame = fetch_openml(data_id=OPENML, as_frame=True, parser="pandas", n_retries=0, cache=False).frame
    except (OSError, EOFError, ValueError) as error:  # urllib's errors are OSErrors
        raise Unavailable(f"the hospital data cannot be fetched from OpenML: {error}") from None
    text = frame.to_csv(index=False, na_rep="?")
    # The date is left out, so that the same data make the same file.
    files.write(place / HOSPITAL, gzip.compress(text.encode(), mtime=0), "the hospital data")


NUMBERS = (
    "time_in_hospital",
    "num_lab_procedures",
    "num_procedures",
    "num_medications",
    "number_outpatient",
    "number_emergency",
    "number_inpatient",
    "number_diagnoses",
)
WORDS = (
    "race",
    "gender",
    "age",
    "admission_type_id",
    "discharge_disposition_id",
    "admission_source_id",
    "A1Cresult",
    "max_glu_serum",
    "insulin",
    "metformin",
    "change",
    "diabetesMed",
    "group_1",
    "group_2",
    "group_3",
)
GROUPS = (
    ("circulatory", 390, 460),
    ("respiratory", 460, 520),
    ("digestive", 520, 580),
    ("injury", 800, 1000),
    ("musculoskeletal", 710, 740),
    ("genitourinary", 580, 630),
    ("neoplasms", 140, 240),
)
"""Groups of ICD-9 codes: from the first number up to, but without, the second."""


@cache
def hospital(place: Path) -> dict[str, NDArray[Any]]:
    """Scores in [0, 1] and labels of the test rows: logistic regression on the other rows.

    The paper does not describe its split. This one has its 693 positives: nobody who died or went to a
    hospice, complete diagnoses only, a patient's last stay, and a stratified fifth for the test.
    """
    try:
        import pandas as pd
        from sklearn.compose import make_column_transformer
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import train_test_split
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler
    except ImportError:
        raise BadParameter(
            "the hospital data need pandas and scikit-learn: install the extra 'experiments' of dpairs"
        ) from None
    path = place / HOSPITAL
    try:
        with gzip.open(path, "rt", encoding="utf-8") as text:
            # "None" is a value of some columns, and "?" a missing one.
            frame = pd.read_csv(text, keep_default_na=False, low_memory=False)
        frame = frame[~frame["discharge_disposition_id"].isin([11, 13, 14, 19, 20, 21])]
        frame = frame[(frame[["diag_1", "diag_2", "diag_3"]] != "?").all(axis=1)]
        frame = frame.sort_values("encounter_id").drop_duplicates("patient_nbr", keep="last")
        for number in (1, 2, 3):
            frame[f"group_{number}"] = [diagnosis_group(code) for code in frame[f"diag_{number}"]]
        label = (frame["readmitted"] == "<30").to_numpy().astype(np.int64)
    except (OSError, EOFError, KeyError, ValueError) as error:
        raise BadFile(f"the hospital data {path} cannot be read: {error}") from None
    train, test = train_test_split(np.arange(label.size), test_size=0.2, stratify=label, random_state=0)
    sizes = label.size, test.size, int(label[test].sum())
    if sizes != (68_888, 13_778, 693):
        raise BadFile(
            f"the hospital data {path} should leave 68,888 rows, 13,778 of them for the test, "
            f"693 of those positive, not {sizes[0]:,}, {sizes[1]:,} and {sizes[2]:,}"
        )
    columns = make_column_transformer(
        (StandardScaler(), list(NUMBERS)), (OneHotEncoder(handle_unknown="ignore"), list(WORDS))
    )
    # To its optimum: where a solver stops before it, processors disagree from the sixth digit on.
    logistic = LogisticRegression(class_weight="balanced", solver="newton-cholesky", tol=1e-10)
    model = make_pipeline(columns, logistic)
    model.fit(frame.iloc[train], label[train])
    return {"score": model.predict_proba(frame.iloc[test])[:, 1], "label": label[test]}


def diagnosis_group(code: str) -> str:
    """The usual groups of ICD-9 codes in studies of these data.

    >>> diagnosis_group("250.83"), diagnosis_group("786"), diagnosis_group("V45")
    ('diabetes', 'respiratory', 'other')
    """
    if code[:1] in "EV":
        return "other"
    number = float(code)
    if int(number) == 250:
        return "diabetes"
    special = {785: "circulatory", 786: "respiratory", 787: "digestive", 788: "genitourinary"}
    within = [name for name, low, high in GROUPS if low <= number < high]
    return special.get(int(number), within[0] if within else "other")
