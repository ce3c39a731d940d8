"""The one exception that a user's mistake raises."""


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
