"""From SillyTavern files to ordered prompt parts: the one package that reads and prints.

A name is loaded when it is asked for: the process that a host waits for needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tavern_loader._version import __version__

if TYPE_CHECKING:
    from tavern_loader.document import json_document
    from tavern_loader.errors import InputError, LoaderError
    from tavern_loader.messages_json import message_document
    from tavern_loader.messages_text import message_report
    from tavern_loader.report import text_report
    from tavern_loader.samples import SAMPLES, Sample, sample_request
    from tavern_loader.service.compile_files import Compilation, compile_files
    from tavern_loader.service.groundwork import UsedFile
    from tavern_loader.service.project_files import MessageList, project_files
    from tavern_loader.service.reading import SourceFile
    from tavern_loader.service.resources import CompileRequest, Remark

__all__ = [
    "SAMPLES",
    "Compilation",
    "CompileRequest",
    "InputError",
    "LoaderError",
    "MessageList",
    "Remark",
    "Sample",
    "SourceFile",
    "UsedFile",
    "__version__",
    "compile_files",
    "json_document",
    "message_document",
    "message_report",
    "project_files",
    "sample_request",
    "text_report",
]

_NAMES = {
    "document": ("json_document",),
    "errors": ("InputError", "LoaderError"),
    "messages_json": ("message_document",),
    "messages_text": ("message_report",),
    "report": ("text_report",),
    "samples": ("SAMPLES", "Sample", "sample_request"),
    "service.compile_files": ("Compilation", "compile_files"),
    "service.groundwork": ("UsedFile",),
    "service.project_files": ("MessageList", "project_files"),
    "service.reading": ("SourceFile",),
    "service.resources": ("CompileRequest", "Remark"),
}
"""The public names of each module, as a type checker sees them above."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a public name. Raises AttributeError for any other."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
