"""From SillyTavern files to ordered prompt parts: the one package that reads and prints."""

from tavern_loader._version import __version__
from tavern_loader.document import json_document
from tavern_loader.errors import InputError, LoaderError
from tavern_loader.message_document import message_document
from tavern_loader.message_report import message_report
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
