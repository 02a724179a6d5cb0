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

_HOMES = {
    "SAMPLES": "samples",
    "Compilation": "service.compile_files",
    "CompileRequest": "service.resources",
    "InputError": "errors",
    "LoaderError": "errors",
    "MessageList": "service.project_files",
    "Remark": "service.resources",
    "Sample": "samples",
    "SourceFile": "service.reading",
    "UsedFile": "service.groundwork",
    "compile_files": "service.compile_files",
    "json_document": "document",
    "message_document": "messages_json",
    "message_report": "messages_text",
    "project_files": "service.project_files",
    "sample_request": "samples",
    "text_report": "report",
}
"""The module of each public name, as a type checker sees it above."""


def __getattr__(name: str) -> object:
    """Load a public name. Raises AttributeError for any other."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
