"""Taking part in a collector's studies from Python: one person, a pair's partner, a gateway, an analyst.

>>> Link.parse("https://studies.example.org/take-part/" + "0" * 64 + "#code=abcd").code
'abcd'
"""

from .analyst import Analyst
from .device import Device
from .gateway import Gateway
from .link import Link
from .reporter import Joined, join
from .transport import Transport

__all__ = ["Analyst", "Device", "Gateway", "Joined", "Link", "Transport", "join"]
