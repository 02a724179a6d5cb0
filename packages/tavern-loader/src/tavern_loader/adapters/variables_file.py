"""The file of the variables that all chats share."""

from threading import RLock

from tavern_loader.adapters.json_file import MIB, JsonFile, Storage, state_rules
from tavern_loader.domain.documents import check_schema
from tavern_loader.service.shared_variables import EMPTY, SCHEMA_VERSION, SharedVariables

FILE_NAME = "loader-variables.json"


def shared_variables_in(storage: Storage) -> SharedVariables:
    """Open the shared variables of an installation."""
    rules = state_rules(
        "SHARED_VARIABLES",
        MIB,
        4 * MIB,
        lambda document: check_schema(document, SCHEMA_VERSION),
    )
    return SharedVariables(file=JsonFile(storage, FILE_NAME, rules, EMPTY), lock=RLock())
