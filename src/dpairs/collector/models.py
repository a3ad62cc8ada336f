"""The shapes of requests and answers: what the API's description is made of."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1, max_length=100)]
WORDS = r"^[^\x00]*$"
"""Not every database keeps a NUL."""
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
People = Annotated[int, Field(ge=1, le=10**12)]


class Strict(BaseModel):
    """A request: fields that are not known are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class PlanRequest(Strict):
    """What is to be planned: two of epsilon, people and error; the third is solved for."""

    statistic: Name
    options: dict[Literal["ties", "labels", "variant"], Name] = Field(default_factory=dict)
    domain: list[dict[str, Any]] = Field(min_length=1, max_length=4)
    """Domains as a study has them, one for each column."""
    epsilon: Positive | None = None
    people: People | dict[Name, People] | None = None
    error: Positive | None = None
    rounds: Literal[1, 2] = 2
    peers: bool = False
    guess: float | None = None
    """AUC: the value that is guessed."""
    curves: bool = False
    """Whether to compute errors over people and epsilon, too."""


class Planned(BaseModel):
    """All options, the best first."""

    statistic: str
    solved_for: str
    people_like: str
    error_without_privacy: float
    why: str
    options: list[dict[str, Any]]
    studies: dict[str, dict[str, Any]]
    """Each protocol's study, ready to be created."""
    curves: dict[str, Any] | None = None


Text = Annotated[str, Field(max_length=300, pattern=WORDS)]
Long = Annotated[str, Field(max_length=2000, pattern=WORDS)]


class Asked(Strict):
    """One question in the participant's words."""

    question: Text = ""
    unit: Text = ""
    """What a number counts: kilograms, euros a month."""
    low: Text = ""
    """What the lowest answer means."""
    high: Text = ""
    """What the highest answer means."""
    answers: dict[Text, Text] = Field(default_factory=dict, max_length=1000)
    """What each value of a list is called, by the value as text."""


class StudyWords(Strict):
    """What the analyst calls things: the participant's page shows these, and none of the field's words."""

    organisation: Text = ""
    purpose: Long = ""
    contact: Text = ""
    group_question: Text = ""
    groups: dict[Name, Text] = Field(default_factory=dict, max_length=100)
    """What each public group is called, by its name in the study."""
    columns: dict[Name, Asked] = Field(default_factory=dict, max_length=10)
    """Each question, by its column."""


class NewStudy(Strict):
    """A study to begin: a study's JSON, as the planner or `dpairs study create` gives it."""

    title: Annotated[str, Field(min_length=1, max_length=200, pattern=WORDS)]
    question: Annotated[str, Field(max_length=2000, pattern=WORDS)] = ""
    enrolment: Literal["open", "invited"] = "open"
    people: People | None = None
    """How many people are expected."""
    words: StudyWords = Field(default_factory=StudyWords)
    study: dict[str, Any]


class PublicStudy(BaseModel):
    """What anybody may know of a study before taking part."""

    id: str
    title: str
    question: str
    state: str
    step: str
    enrolment: str
    round: int
    rounds: int
    protocol: str
    statistic: str
    strata: list[str]
    columns: list[str]
    """What a participant's device asks for; it does not leave the device."""
    study: dict[str, Any]
    """The study of the current round: all that a device needs."""
    words: StudyWords
    link: str
    """What people are given: it works from outside if the collector knows its own address."""
    claim: dict[str, Any]
    promise: str
    """The privacy claim as a sentence."""


class Summary(BaseModel):
    """A study in the analyst's list."""

    id: str
    title: str
    state: str
    step: str
    statistic: str
    protocol: str
    epsilon: float
    rounds: int
    enrolled: int
    reports: int
    created: int


class UnreadableStudy(BaseModel):
    """A stored study that is not served, because something of it cannot be read."""

    id: str
    title: str
    reason: str


class Stage(BaseModel):
    """One round: how many are enrolled for it and how many answered, by stratum or level."""

    number: int
    study: str
    reports: dict[str, int]
    asked: dict[str, int]
    """How many of those enrolled are asked in this round."""
    history: list[tuple[int, int, float | None, float | None, float | None]]
    """Reports, time, value, and the ends of its 95% interval, as the reports grew."""


class SiteProgress(BaseModel):
    """What a site has done so far, as the analyst may know it."""

    name: str
    fingerprint: str
    """Of the key that it enrolled with."""
    records: dict[str, int] | None
    """How many records it has of each class, unless that is hidden or it has not answered."""
    rounds: list[Literal["answered", "waiting", "dropped out", "not asked"]]
    """Whether it answered each round that has begun."""
    refused: int
    """How often it sent another answer than its first, which was refused."""


class Progress(BaseModel):
    """A study as its analyst watches it."""

    study: PublicStudy
    expected: int | None
    enrolled: dict[str, int]
    stages: list[Stage]
    pairs: dict[str, int] | None
    """How the pairs stand, and whose turn it is."""
    sites: list[SiteProgress] | None
    """How the sites stand, by name, in a study of sites."""
    estimate: dict[str, Any] | None
    why_not: str | None
    """Why there is no estimate yet."""
    next_step: str | None
    learns: list[tuple[str, str]]
    """Who learns what."""


class Enrol(Strict):
    """Somebody wants to take part."""

    request: Annotated[str, Field(pattern="^[0-9a-f]{32,64}$")]
    """A random name that the device made up: the same request again gets the same answer."""
    stratum: Name | None = None
    code: Annotated[str, Field(max_length=100)] | None = None
    key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    """Pairs: the device's public key (X25519)."""


class Enrolled(BaseModel):
    """Which participant the device is from now on."""

    index: int
    stratum: str
    secret: str
    asked_now: bool
    """Whether this participant is asked in the current round, or pair."""


class EnrolSite(Strict):
    """A site wants to take part, under a name that no other site of the study has."""

    request: Annotated[str, Field(pattern="^[0-9a-f]{32,64}$")]
    name: Name
    key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """Its public key (Ed25519): its answers are signed with it."""
    code: Annotated[str, Field(max_length=100)] | None = None


class SiteSecret(BaseModel):
    """Which site the sender is from now on."""

    index: int
    secret: str


class NewAnswer(Strict):
    """A site's answer to a round, for all its records."""

    answer: Annotated[str, Field(max_length=2**20)]
    """The answer's JSON, as text: exactly these bytes are signed."""
    signature: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]


class Receipt(BaseModel):
    """What came of a report."""

    outcome: Literal["counted", "again"]


class BatchReceipt(BaseModel):
    """What came of a batch."""

    counted: int
    again: int
    different: int
    """Reports that contradict one that was counted before; they were not counted."""


class NewGateway(Strict):
    """Indices for a gateway, which reports for many people."""

    request: Annotated[str, Field(pattern="^[0-9a-f]{32,64}$")]
    people: dict[Name, Annotated[int, Field(ge=2, le=10**9)]] = Field(min_length=1)


class Gateway(BaseModel):
    """A gateway's secret and first index, by stratum."""

    people: dict[str, dict[str, Any]]


class NewInvitations(Strict):
    """How many single-use codes to make, and for which class."""

    count: Annotated[int, Field(ge=1, le=10_000)]
    stratum: Name | None = None


class Invitations(BaseModel):
    """New codes: they are shown once."""

    codes: list[str]


class Advance(Strict):
    """The step that the analyst saw: a second click does nothing."""

    seen: Name


class MyPair(BaseModel):
    """A pair that this participant is in."""

    number: int
    round: int
    role: Literal["garbler", "evaluator"]
    partner: int
    key: str
    """The partner's public key."""
    state: str
    people: dict[str, int]
    """How many people were matched: with it, anybody can recompute who meets whom."""


class MyPairs(BaseModel):
    """All pairs of a participant."""

    pairs: list[MyPair]


class Delivered(BaseModel):
    """How the pair stands after a message."""

    state: str


class Health(BaseModel):
    """Said by a collector that answers (/healthz) or can count reports (/readyz)."""

    status: Literal["ok"]
    version: str
