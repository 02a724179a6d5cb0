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


class CancelledError(LoaderError):
    """Whoever asked does not wait for the answer any more."""

    def __init__(self) -> None:
        """Take no facts: there is nobody to read them."""
        super().__init__("CANCELLED", "the call was cancelled")


class ParametersError(LoaderError):
    """A message of the link lacks a parameter or has one of the wrong kind."""

    def __init__(self, message: str) -> None:
        """Name the parameter in the message, never its value."""
        super().__init__("INVALID_PARAMETERS", message)


class HostError(LoaderError):
    """The host did not do what it was asked."""


class StoreError(LoaderError):
    """What is kept cannot be used, or something cannot be kept."""


class NotFoundError(StoreError):
    """There is no document of this id."""


class DamagedError(StoreError):
    """A file of the stores cannot be understood. It is left as it is, and a copy is kept aside."""

    def __init__(self, code: str, message: str, *, file: str, kept_as: str) -> None:
        """Keep the names of the file and of its copy, both inside the stores."""
        super().__init__(code, message)
        self.file = file
        self.kept_as = kept_as


class RevisionConflictError(StoreError):
    """Somebody else changed the document meanwhile."""


class SessionRunningError(LoaderError):
    """A change would reach a session in the middle of a turn."""

    def __init__(self, code: str, message: str, *, session_ids: tuple[str, ...]) -> None:
        """Keep the sessions that are running."""
        super().__init__(code, message)
        self.session_ids = session_ids
