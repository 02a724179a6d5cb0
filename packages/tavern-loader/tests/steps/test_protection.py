"""No text of ours makes the host throw, and none is changed by it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tavern_loader.domain.protection import VARIABLES, protect
from tests.step_scene import TemplateError, interpolate

PIECES = some.sampled_from(
    [
        "{",
        "}",
        "{{",
        "}}",
        "{{{",
        "}}}",
        "x",
        " ",
        "::",
        "tavern_lb",
        "model",
        "{{model}}",
        "\n",
        "é",
    ]
)
TEXTS = some.lists(PIECES, max_size=30).map("".join)
KNOWN = {"model": "m"}


@settings(max_examples=1000)
@given(TEXTS)
def test_every_text_reaches_the_model_as_it_is(text: str) -> None:
    assert interpolate(protect(text), {**KNOWN, **VARIABLES}) == text


@given(some.text())
def test_so_does_every_other_text(text: str) -> None:
    assert interpolate(protect(text), VARIABLES) == text


@pytest.mark.parametrize("text", ["{{ x }}", "{{a::b}}", "{{}}", "{{{x}}}", "{{nobody}}"])
def test_the_host_throws_at_texts_that_are_not_protected(text: str) -> None:
    with pytest.raises(TemplateError):
        interpolate(text, KNOWN)


@pytest.mark.parametrize("text", ["", "{{", "}}", "a }} b", "{ {x} }", "no braces"])
def test_the_host_leaves_some_texts_alone(text: str) -> None:
    assert interpolate(text, KNOWN) == text
