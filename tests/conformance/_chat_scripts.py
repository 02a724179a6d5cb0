"""Regex scripts of the `chat_completion` cases: placement, depth window, plain replacements."""

import json
from collections.abc import Callable
from typing import Any

import regex

from tavern_compiler import Rewrite
from tavern_format import (
    JsRegexSource,
    Placement,
    RegexScript,
    Translation,
    parse_regex_scripts,
    parse_script_regex,
    translate,
)

_Replace = Callable[[str], str]


def rewrite_with(scripts: list[Any]) -> Rewrite:
    """Make the function that runs the scripts for the prompt, one after the other."""
    parsed = parse_regex_scripts(json.dumps(scripts).encode()).value.scripts if scripts else ()
    replacers = [(script, _replacer(script)) for script in parsed]

    def rewrite(text: str, place: Placement, depth: int | None) -> str:
        for script, replace in replacers:
            if (
                script.prompt_only
                and not script.disabled
                and place in script.placement
                and _in_window(script, depth)
            ):
                text = replace(text)
        return text

    return rewrite


def _in_window(script: RegexScript, depth: int | None) -> bool:
    if depth is None:
        return True
    too_new = script.min_depth is not None and script.min_depth >= -1 and depth < script.min_depth
    too_old = script.max_depth is not None and script.max_depth >= 0 and depth > script.max_depth
    return not too_new and not too_old


def _replacer(script: RegexScript) -> _Replace:
    source = parse_script_regex(script.find_regex)
    if not isinstance(source, JsRegexSource):
        return lambda text: text
    translation = translate(source)
    if not isinstance(translation, Translation):
        return lambda text: text
    flags = sum(getattr(regex, name) for name in translation.flags)
    pattern = regex.compile(translation.pattern, flags)
    count = 0 if translation.global_ else 1
    return lambda text: pattern.sub(lambda _: script.replace_string, text, count=count)
