"""A line of ``tektite doctor``."""

from __future__ import annotations

from dataclasses import dataclass

OK, OFF, FAILED = "ok", "off", "FAILED"


@dataclass
class Line:
    subject: str
    state: str
    text: str
    cure: str = ""
