"""YAML cards of text-generation-webui, through PyYAML (the `yaml` extra).

Reads YAML as the 1.2 core schema does (`yes` and dates stay texts), refuses repeated keys, aliases
and tags: none of them belongs in a card, and aliases can blow a small file up without bound.
"""

import re
from typing import Any

from tavern_format import _json_text as json_text
from tavern_format._json_text import JsonObject
from tavern_format.errors import LimitExceededError, MalformedResourceError
from tavern_format.limits import Limits

_CORE_TAGS = (
    ("tag:yaml.org,2002:null", r"~|null|Null|NULL|", "~nN\0"),
    ("tag:yaml.org,2002:bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("tag:yaml.org,2002:int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?",
        "-+.0123456789",
    ),
)


def load_yaml(data: bytes, limits: Limits) -> JsonObject:
    """Parse one YAML document that is a mapping.

    Raises MalformedResourceError (YAML_SYNTAX, YAML_ALIAS, YAML_KEY_REPEATED, YAML_SHAPE,
    YAML_UNAVAILABLE where PyYAML is not installed) and LimitExceededError.
    """
    try:
        import yaml  # noqa: PLC0415 - the extra may be missing
    except ModuleNotFoundError:
        message = "YAML cards need PyYAML: pip install 'tavern-format[yaml]'"
        raise MalformedResourceError("YAML_UNAVAILABLE", message) from None
    text = json_text.decode(data, lambda _: None)
    try:
        _check(yaml, text, limits)
        document = _construct(yaml, text)
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        offset = None if mark is None else len(text[: mark.index].encode("utf-8", "replace"))
        message = f"not YAML: {getattr(fault, 'problem', None) or 'unreadable'}"
        raise MalformedResourceError("YAML_SYNTAX", message, offset_bytes=offset) from None
    if not isinstance(document, dict):
        message = "the YAML document is no mapping"
        raise MalformedResourceError("YAML_SHAPE", message, path="")
    return document


def _check(yaml: Any, text: str, limits: Limits) -> None:  # noqa: ANN401
    """Look at the events first: nothing is built before nesting and aliases are known."""
    depth = deepest = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            offset = len(text[: event.start_mark.index].encode("utf-8", "replace"))
            message = "aliases are not read in cards"
            raise MalformedResourceError("YAML_ALIAS", message, offset_bytes=offset)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        deepest = max(deepest, depth)
        if deepest > min(limits.json_depth_levels, _DEEPEST_LEVELS):
            raise LimitExceededError(
                limit="json_depth_levels",
                actual=deepest,
                maximum=min(limits.json_depth_levels, _DEEPEST_LEVELS),
                unit="levels",
            )


_DEEPEST_LEVELS = 100
"""PyYAML recurses several frames per level."""


def _construct(yaml: Any, text: str) -> Any:  # noqa: ANN401
    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """YAML 1.2 core schema, one value per key."""

        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML's protocol

        def construct_mapping(self, node: Any, deep: bool = False) -> JsonObject:  # noqa: ANN401, ARG002, FBT001, FBT002
            done: JsonObject = {}
            for key_node, value_node in node.value:
                key = str(self.construct_object(key_node, deep=True))
                if key in done:
                    offset = len(text[: key_node.start_mark.index].encode("utf-8", "replace"))
                    message = "a key occurs twice"
                    raise MalformedResourceError("YAML_KEY_REPEATED", message, offset_bytes=offset)
                done[key] = self.construct_object(value_node, deep=True)
            return done

    def construct_map(loader: Any, node: Any) -> JsonObject:  # noqa: ANN401
        return loader.construct_mapping(node)  # type: ignore[no-any-return]

    Loader.add_constructor("tag:yaml.org,2002:map", construct_map)
    for tag, pattern, first in _CORE_TAGS:
        letters = [letter if letter != "\0" else "" for letter in first]
        Loader.add_implicit_resolver(tag, re.compile(f"^(?:{pattern})$"), letters)
    return yaml.load(text, Loader=Loader)
