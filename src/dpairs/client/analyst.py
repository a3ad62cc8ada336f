"""The analyst's requests to a collector."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from ..errors import BadFile, BadParameter
from ..estimate import Estimate
from ..randomness import secret_bytes
from ..release import Release
from ..sites import SiteTally
from ..study import Study
from ..tally import Tally, counted_in
from .transport import Transport

API = "/api/v1"
PLACE = re.compile(r"[0-9]{1,4}\.[0-9]{1,16}")


class Analyst:
    """An analyst of one collector."""

    def __init__(self, base: str, token: str, *, transport: Transport | None = None) -> None:
        self._line = transport or Transport(base)
        self.token = token

    def __repr__(self) -> str:
        return f"Analyst({self._line.base!r})"

    def _ask(self, method: str, path: str, content: Mapping[str, Any] | None = None) -> Any:
        return self._line.json(method, API + path, content, self.token)

    def begin(
        self,
        study: Study,
        title: str,
        question: str = "",
        *,
        enrolment: str = "open",
        people: int | None = None,
        words: Mapping[str, Any] | None = None,
    ) -> str:
        """Begin a study; the link for its participants, where they reach the collector.

        ``words`` is what its participants read: organisation, purpose, contact, groups and questions.
        """
        request = {
            "title": title,
            "question": question,
            "enrolment": enrolment,
            "people": people,
            "words": dict(words or {}),
            "study": json.loads(study.to_json()),
        }
        link = str(self._ask("POST", "/studies", request)["link"])
        # A collector that does not know where people reach it gives a path only.
        return link if link.startswith(("http://", "https://")) else f"{self._line.base}{link}"

    def studies(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self._ask("GET", "/studies")
        return listed

    def progress(self, study: str) -> dict[str, Any]:
        answer: dict[str, Any] = self._ask("GET", f"/studies/{study}/progress")
        return answer

    def estimate(self, study: str) -> Estimate:
        """The estimate, computed here from the tally."""
        return self._counted(study, None).estimate()

    def estimate_json(self, study: str) -> dict[str, Any]:
        """The collector's estimate, as `Estimate.to_json` gives it."""
        answer: dict[str, Any] = self._ask("GET", f"/studies/{study}/estimate")
        return answer

    def tally(self, study: str, number: int | None = None) -> Tally:
        """The tally of a round, by default the current one."""
        counted = self._counted(study, number)
        if not isinstance(counted, Tally):
            raise BadParameter("sites answer this study: see Analyst.answers")
        return counted

    def answers(self, study: str, number: int | None = None) -> SiteTally:
        """The answers of sites to a round, by default the current one."""
        counted = self._counted(study, number)
        if not isinstance(counted, SiteTally):
            raise BadParameter("people answer this study, not sites: see Analyst.tally")
        return counted

    def _counted(self, study: str, number: int | None) -> Tally | Release | SiteTally:
        query = "" if number is None else f"?round={number}"
        path = f"{API}/studies/{study}/tally{query}"
        body = self._line.bytes("GET", path, token=self.token)
        asked = self._round(study, json.loads(body)["study"])
        if asked.protocol.round > 1:
            # An estimate of a later round needs what the earlier one showed.
            before = self._counted(study, asked.protocol.round - 1)
            made = before.study.next(before)
            asked = made if made == asked else asked
        return counted_in(asked).from_json(body, asked)

    def reports(self, study: str, number: int | None = None, *, cells: bool = False) -> bytes:
        """The reports of a round, by default the current one, as a Parquet file: of symbols, or of cells."""
        query = f"?form={'cells' if cells else 'reports'}"
        if number is not None:
            query += f"&round={number}"
        return self._line.bytes("GET", f"{API}/studies/{study}/reports{query}", token=self.token)

    def save_reports(
        self, study: str, folder: str | os.PathLike[str], number: int | None = None
    ) -> list[str]:
        """Save a round's reports as several files; call it again after an error, and it continues.

        ``folder`` may be an address (``s3://bucket/folder``).
        """
        try:
            from ..engines import places
        except ModuleNotFoundError as error:  # other uses of a client do not need pyarrow
            raise BadParameter(str(error)) from None
        place: tuple[int, int] | None = (0, -1)
        paths: list[str] = []
        query = "" if number is None else f"&round={number}"
        while place is not None:
            begins = "first" if place[1] < 0 else f"{place[1]}"
            name = f"reports-{study[:16]}-{number or 'now'}-{place[0]}.{begins}"
            path, note = (places.join(folder, f"{name}.{ending}") for ending in ("parquet", "next"))
            if places.exists(note):
                following = places.read(note).decode()
            else:
                where = f"{API}/studies/{study}/reports?after={place[0]}.{place[1]}{query}"
                body, headers = self._line.answer("GET", where, token=self.token)
                following = headers.get("x-next", "")
                _next_place(place, following)
                places.write(path, body)
                places.write(note, following.encode())  # written last: without it the part is not there
            paths.append(path)
            place = _next_place(place, following)
        return paths

    def _round(self, study: str, wanted: str) -> Study:
        now = Study.from_json(json.dumps(self._ask("GET", f"/studies/{study}")["study"]))
        if now.id == wanted:
            return now
        body = self._ask("GET", f"/studies/{study}/rounds/1")
        return Study.from_json(json.dumps(body))

    def advance(self, study: str) -> str:
        """Take the next step; returns the step that the study is then at."""
        seen = self._ask("GET", f"/studies/{study}")["step"]
        return str(self._ask("POST", f"/studies/{study}/advance", {"seen": seen})["step"])

    def close(self, study: str) -> None:
        self._ask("POST", f"/studies/{study}/close")

    def delete(self, study: str) -> None:
        self._ask("DELETE", f"/studies/{study}")

    def invite(self, study: str, count: int, stratum: str | None = None) -> list[str]:
        request: dict[str, Any] = {"count": count}
        if stratum is not None:
            request["stratum"] = stratum
        codes: list[str] = self._ask("POST", f"/studies/{study}/invitations", request)["codes"]
        return codes

    def gateway(self, study: str, people: Mapping[str, int]) -> dict[str, dict[str, Any]]:
        """Indices and secrets for a gateway."""
        request = {"request": secret_bytes(16).hex(), "people": dict(people)}
        answer = self._ask("POST", f"/studies/{study}/gateways", request)
        indices: dict[str, dict[str, Any]] = answer["people"]
        return indices


def _next_place(place: tuple[int, int], following: str) -> tuple[int, int] | None:
    """Where the next part begins: further on, or the parts would never end; nothing after the last."""
    if not following:
        return None
    if not PLACE.fullmatch(following):
        raise BadFile("the collector names no place where the next reports begin")
    stratum, _, index = following.partition(".")
    if (int(stratum), int(index)) <= place:
        raise BadFile("the collector gives the same reports again")
    return int(stratum), int(index)
