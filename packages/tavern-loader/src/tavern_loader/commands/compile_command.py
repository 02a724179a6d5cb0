"""`tavern-loader compile`: files to prompt parts, without any store or host."""

import argparse
from datetime import datetime

from attrs import evolve

from tavern_loader.adapters.tokens import estimate_tokens
from tavern_loader.commands.command import Command, Outcome, add_json
from tavern_loader.commands.files import STDIN, is_file, read_source, read_text
from tavern_loader.commands.showing import document_text, terminal_width
from tavern_loader.document import json_document
from tavern_loader.messages_json import message_document
from tavern_loader.messages_text import message_report
from tavern_loader.report import DEFAULT_WIDTH, MIN_WIDTH, text_report
from tavern_loader.samples import DEFAULT_SAMPLE, SAMPLES, sample_request
from tavern_loader.service.compile_files import compile_files
from tavern_loader.service.project_files import project_files
from tavern_loader.service.reading import SourceFile
from tavern_loader.service.resources import CompileRequest
from tavern_matcher import MatchProfile

FILE_OPTIONS = ("card", "world", "preset", "chat")
RULES = (MatchProfile.SAFE.value, MatchProfile.ST_1_19.value)
COUNTED_WITH = "an estimate: 0.3 for a character of ASCII, 0.6 for another"


def _run(options: argparse.Namespace) -> Outcome:
    if options.list_samples:
        return "".join(f"{name:<10}{sample.title}\n" for name, sample in SAMPLES.items())
    request, title = _request(options)
    if options.messages:
        return _messages(options, request, title)
    done = compile_files(request)
    if options.json:
        return document_text(json_document(done))
    return text_report(done, options.width or terminal_width(), title=title)


def _messages(options: argparse.Namespace, request: CompileRequest, title: str) -> str:
    now = options.time or datetime.now().astimezone()
    done = project_files(request, count_tokens=estimate_tokens, now=now)
    if options.json:
        return document_text(message_document(done, counted_with=COUNTED_WITH))
    width = options.width or terminal_width()
    return message_report(done, width, title=title, counted_with=COUNTED_WITH)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--card", metavar="FILE", help="character card: PNG, CHARX, JSON, YAML")
    add("--world", metavar="FILE", action="append", help="world book; may be given again")
    add("--no-card-book", action="store_true", help="leave the book inside the card alone")
    add("--preset", metavar="FILE", help="chat-completion preset")
    add("--chat", metavar="FILE", help="chat, JSON Lines")
    add("--input", metavar="TEXT", help="the message about to be sent")
    add("--user", metavar="NAME", help="the user's name; else as in the chat")
    add("--persona", metavar="TEXT|FILE", help="the user's description, or a text file with it")
    add("--seed", metavar="TEXT", help="another text gives other draws of chances and groups")
    add("--messages", action="store_true", help="show SillyTavern's messages in place of parts")
    add("--rules", choices=RULES, help="safe (the default), or st-1.19 with SillyTavern's faults")
    add("--no-scripts", action="store_true", help="with --messages: run no regex scripts")
    moment = "with --messages: the time for macros, as 2024-12-24T18:05; else now"
    add("--time", metavar="WHEN", type=_time, help=moment)
    add("--sample", metavar="NAME", choices=SAMPLES, help="use a sample set: %(choices)s")
    add("--list-samples", action="store_true", help="list the sample sets and stop")
    add_json(parser)
    wide = f"line width; else the terminal's, or {DEFAULT_WIDTH}"
    add("--width", metavar="CELLS", type=_width, help=wide)


COMMANDS = (
    Command(
        name="compile",
        help="show the prompt parts, the reason for every world book entry, and all remarks",
        description="Compile files to ordered prompt parts, or to SillyTavern's messages. Without a"
        " file, a sample set is used. One of the files may be - for standard input.",
        add_options=_add_options,
        run=_run,
    ),
)


def _width(text: str) -> int:
    """Read a width for argparse."""
    if not text.isascii() or not text.isdecimal() or int(text) < MIN_WIDTH:
        raise argparse.ArgumentTypeError(f"a whole number from {MIN_WIDTH} on is needed")
    return int(text)


def _time(text: str) -> datetime:
    """Read a moment for argparse; without an offset it is in the zone of the machine."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError) as error:
        message = "a date and time like 2024-12-24T18:05 is needed"
        raise argparse.ArgumentTypeError(message) from error


def _request(options: argparse.Namespace) -> tuple[CompileRequest, str]:
    """Build the request, and the headline that says what was used."""
    paths = [options.card, *(options.world or ()), options.preset, options.chat, options.persona]
    given = [name for name in FILE_OPTIONS if getattr(options, name) is not None]
    if given and options.sample:
        options.usage_error(f"argument --sample: not allowed with --{given[0]}")
    alone = [name for name in ("no_scripts", "time") if getattr(options, name)]
    if alone and not options.messages:
        options.usage_error(f"argument --{alone[0].replace('_', '-')}: only with --messages")
    if paths.count(STDIN) > 1:
        options.usage_error("standard input (-) can stand for one file only")
    if given:
        request, title = _files_request(options), "Files"
    else:
        name = options.sample or DEFAULT_SAMPLE
        request, title = sample_request(name), f"Sample set {name}"
    return _with_texts(request, options), title


def _files_request(options: argparse.Namespace) -> CompileRequest:
    return CompileRequest(
        card=_optional(options.card),
        worlds=tuple(read_source(path) for path in options.world or ()),
        preset=_optional(options.preset),
        chat=_optional(options.chat),
    )


def _with_texts(request: CompileRequest, options: argparse.Namespace) -> CompileRequest:
    texts = {
        "input_text": options.input,
        "user_name": options.user,
        "seed": options.seed,
        "persona": None if options.persona is None else _persona(options.persona),
    }
    told = {name: text for name, text in texts.items() if text is not None}
    rules = MatchProfile(options.rules) if options.rules else request.settings.profile
    return evolve(
        request,
        use_card_book=not options.no_card_book,
        use_scripts=not options.no_scripts,
        settings=evolve(request.settings, profile=rules),
        **told,
    )


def _persona(value: str) -> str:
    """Take the text of a file where there is one of that name, else the value itself."""
    return read_text(value) if value == STDIN or is_file(value) else value


def _optional(path: str | None) -> SourceFile | None:
    return None if path is None else read_source(path)
