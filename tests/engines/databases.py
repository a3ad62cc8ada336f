"""PostgreSQL as engines read it: a server that Java reaches too, with a collector's tables."""

import socket

import dpairs

from ..collector import postgres


class Reachable(postgres.Cluster):
    """One that listens at a port, as Java wants it."""

    def start(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        before = postgres.SETTINGS
        postgres.SETTINGS = f"{before} -c listen_addresses=127.0.0.1 -c port={self._port}"
        try:
            super().start()
        finally:
            postgres.SETTINGS = before

    def address(self, name: str) -> str:
        return f"postgresql+psycopg://postgres@127.0.0.1:{self._port}/{name}"


def collector(address: str, studies: tuple[dpairs.Study, ...]) -> str:
    """Make a collector's tables, in which these studies ask; the address as other programs want it."""
    from sqlalchemy import create_engine, insert

    from dpairs.collector import schema

    engine = create_engine(address)
    schema.metadata.create_all(engine)
    with engine.begin() as connection:
        for study in studies:
            about = dict.fromkeys(("title", "question", "epoch", "words"), "") | {"state": "open"}
            connection.execute(
                insert(schema.studies).values(id=study.id, enrolment="open", created=0, **about)
            )
            body = {"study": study.id, "number": 1, "body": study.to_json()}
            connection.execute(insert(schema.rounds).values(**body))
    engine.dispose()
    return address.replace("+psycopg", "")
