"""The sample sets that come with the package: small files to read, try and change.

Owns their table. The files are data of the package, read when asked for.
"""

from collections.abc import Mapping
from importlib.resources import files

from attrs import frozen

from tavern_loader.service.reading import SourceFile
from tavern_loader.service.resources import CompileRequest

DEFAULT_SAMPLE = "ferry"


@frozen(kw_only=True)
class Sample:
    """One set."""

    title: str
    card: str
    world: str
    preset: str | None
    chat: str
    input_text: str
    user_name: str
    persona: str


SAMPLES: Mapping[str, Sample] = {
    "ferry": Sample(
        title="A night ferry, in English: card, world book, preset and chat",
        card="ferry.card.json",
        world="ferry.world.json",
        preset="ferry.preset.json",
        chat="ferry.chat.jsonl",
        input_text="I hold the lantern over the rail. Is that the bell of the drowned chapel?",
        user_name="Ilse",
        persona="Ilse is a map maker from the coast. She cannot swim and would rather not say so.",
    ),
    "teahouse": Sample(
        title="A tea house in the mountains, in Chinese: card, world book and chat",
        card="teahouse.card.json",
        world="teahouse.world.json",
        preset=None,
        chat="teahouse.chat.jsonl",
        input_text="我把铜铃放在桌上,问她认不认识这个记号。",
        user_name="阿远",
        persona="阿远是个走山路的信差,话不多,记性很好。",
    ),
}
"""By name."""


def sample_request(name: str) -> CompileRequest:
    """Read a sample set; raises KeyError for a name that is not in SAMPLES."""
    sample = SAMPLES[name]
    return CompileRequest(
        card=_file(sample.card),
        worlds=(_file(sample.world),),
        preset=None if sample.preset is None else _file(sample.preset),
        chat=_file(sample.chat),
        input_text=sample.input_text,
        user_name=sample.user_name,
        persona=sample.persona,
    )


def _file(name: str) -> SourceFile:
    return SourceFile(name=name, data=(files("tavern_loader") / "samples" / name).read_bytes())
