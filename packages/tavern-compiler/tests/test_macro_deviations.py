"""Where macros differ from SillyTavern on purpose: rows of COMPATIBILITY.md."""

from datetime import UTC, datetime

from tavern_compiler import (
    HostFacts,
    InstructTexts,
    MacroChat,
    MacroContext,
    MacroProfile,
    MacroSettings,
    expand_macros,
)

CHRISTMAS = datetime(2024, 12, 24, 18, 5, tzinfo=UTC)


def test_months_and_days_have_english_names() -> None:
    context = MacroContext(now=CHRISTMAS)
    text = "{{date}}|{{weekday}}|{{datetimeformat::MMM ddd A}}|{{time}}"
    for profile in (MacroProfile.NEW, MacroProfile.LEGACY):
        settings = MacroSettings(profile=profile)
        own = text.replace("format::", "format ") if profile is MacroProfile.LEGACY else text
        shown = expand_macros(own, context, settings).text
        assert shown == "December 24, 2024|Tuesday|Dec Tue PM|6:05 PM"


def test_examples_in_instruct_mode_have_plain_headings() -> None:
    host = HostFacts(
        text_completion=True,
        instruct=InstructTexts(user_prefix="IN:", assistant_prefix="OUT:"),
        example_separator="***",
    )
    context = MacroContext(message_examples="<START>\nBo: hi\nAda: ho", host=host)
    assert expand_macros("{{mesExamples}}", context).text == "<START>\nBo: hi\nAda: ho\n"


def test_banned_gives_nothing_and_bans_nothing() -> None:
    found = expand_macros('a{{banned "shivers"}}b', MacroContext())
    assert (found.text, found.diagnostics) == ("ab", ())


def test_a_kept_hash_stands_for_the_chats_name() -> None:
    text = "{{pick::a::b::c::d::e::f::g::h::i::j::k::l::m::n::o::p}}"
    kept = MacroContext(chat=MacroChat(id="one", id_hash=7))
    other = MacroContext(chat=MacroChat(id="two", id_hash=7))
    assert expand_macros(text, kept).text == expand_macros(text, other).text
    assert (
        expand_macros(text, kept).text
        != expand_macros(text, MacroContext(chat=MacroChat(id="one"))).text
    )
