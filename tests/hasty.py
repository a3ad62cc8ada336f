"""Servers that end when they are told to: uvicorn looks every tenth of a second, and tests start hundreds."""

import asyncio
from typing import Any

import uvicorn.server


class Hasty:
    """asyncio, with a tenth of each pause."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    @staticmethod
    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds / 10)


uvicorn.server.asyncio = Hasty()  # type: ignore[assignment, attr-defined]
