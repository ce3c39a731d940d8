"""The one exception that a user's mistake raises, and the one warning."""

from collections.abc import Callable
from typing import Any


class UserError(Exception):
    """A mistake that the user can put right, told in three parts.

    ``got`` says what was found, ``expected`` what was wanted, ``do`` the next step. It is raised before any
    download, epoch or write. The command line prints it without a traceback and exits with code 2.
    """

    def __init__(self, got: str, expected: str, do: str) -> None:
        super().__init__(got, expected, do)
        self.got = got
        self.expected = expected
        self.do = do

    def __str__(self) -> str:
        return f"got:      {self.got}\nexpected: {self.expected}\ndo:       {self.do}"


class Note(UserWarning):
    """What a user should know of what is done. The command line tells each once, without where it was raised."""


def together(*steps: Callable[[], Any]) -> list[Any]:
    """What the steps give, every one of them tried, so that one mistake does not hide the next.

    Errors: that of a step; of several steps, one with the parts of all.
    """
    results = []
    faults: list[UserError] = []
    for step in steps:
        try:
            results.append(step())
        except UserError as fault:
            faults.append(fault)
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise UserError(
            got="; ".join(fault.got for fault in faults),
            expected="; ".join(dict.fromkeys(fault.expected for fault in faults)),
            do="; ".join(dict.fromkeys(fault.do for fault in faults)),
        )
    return results
