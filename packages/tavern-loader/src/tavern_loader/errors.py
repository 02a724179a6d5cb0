"""The one error tree of the package. No message holds text from a resource."""


class LoaderError(Exception):
    """The work cannot be done; `code` says why."""

    def __init__(self, code: str, message: str) -> None:
        """Keep the stable upper-snake code beside the message."""
        super().__init__(message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        """Give code and message on one line."""
        return f"{self.code}: {self.message}"


class InputError(LoaderError):
    """A file that was given cannot be used."""

    def __init__(self, code: str, message: str, *, file: str) -> None:
        """Keep the name of the file."""
        super().__init__(code, message)
        self.file = file

    def __str__(self) -> str:
        """Give file, code and message on one line."""
        return f"{self.file}: {self.code}: {self.message}"
