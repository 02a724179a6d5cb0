"""Words, texts and keys of random cases: few enough that keys are found, odd enough to hurt."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from attrs import field, frozen

_DATA: Mapping[str, tuple[str, ...]] = {
    name: tuple(values)
    for name, values in json.loads(
        (Path(__file__).parent / "words.json").read_text(encoding="utf-8")
    ).items()
}
"""In `patterns`, `W` is a word; a pattern may also be one that JavaScript takes for plain text."""
_CASES = (str, str, str.upper, str.title)
_OTHER_CASES = (str.upper, str.lower, str.title, str.swapcase)


@frozen
class Lexicon:
    """Makes the words, texts and keys of one case from a few words of its own."""

    random: Random
    words: tuple[str, ...] = field(init=False)

    @words.default
    def _choose(self) -> tuple[str, ...]:
        return tuple(self.random.sample(_DATA["words"], self.random.choice((3, 6, 10))))

    def word(self) -> str:
        """Take a word."""
        return self.random.choice(
            _DATA["rare_words"] if self.random.random() < _RARE else self.words
        )

    def text(self, most: int) -> str:
        """Join some words."""
        parts = [
            self.random.choice(_CASES)(self.word()) + self.random.choice(_DATA["separators"])
            for _ in range(self.random.randint(0, most))
        ]
        return "".join(parts)

    def group(self) -> str:
        """Make the `group` of an entry: a name, or several."""
        names = [
            self.random.choice(_DATA["groups"]) for _ in range(self.random.choice((1, 1, 1, 2, 3)))
        ]
        return self.random.choice((",", ", ", " ,", ",,")).join(names)

    def key(self) -> object:
        """Make a key: mostly a word as it stands."""
        kind = self.random.choices(list(_KINDS), list(_KINDS.values()))[0]
        return kind(self)

    def keys(self) -> list[object]:
        """Make one to three keys."""
        return [self.key() for _ in range(self.random.randint(1, 3))]

    def _word_of_other_case(self) -> str:
        return self.random.choice(_OTHER_CASES)(self.word())

    def _padded(self) -> str:
        return self.random.choice(_DATA["spaces"]) + self.word() + self.random.choice(("", " "))

    def _phrase(self) -> str:
        return self.word() + self.random.choice(_DATA["separators"]) + self.word()

    def _part(self) -> str:
        """Cut a word: a substring is found where a whole word is not."""
        whole = self.word()
        cut = self.random.randint(1, max(1, len(whole) - 1))
        return self.random.choice((whole[:cut], whole[-cut:]))

    def _pattern(self) -> str:
        pieces = self.random.choice(_DATA["patterns"]).replace("\\W", "\0").split("W")
        pattern = pieces[0] + "".join(self._escaped() + piece for piece in pieces[1:])
        return self.random.choice(("", "", "", " ")) + pattern.replace("\0", "\\W")

    def _escaped(self) -> str:
        word = self.word()
        return "".join("\\" + char if char in ".+*?()[]{}|^$/\\" else char for char in word)

    def _macro(self) -> str:
        return self.random.choice(("", "", self.word())) + self.random.choice(_DATA["macros"])

    def _blank(self) -> str:
        return self.random.choice(("", "", *_DATA["spaces"]))

    def _no_text(self) -> object:
        return self.random.choice((None, 0, 5, True, False))


_RARE = 0.02
_KINDS: Mapping[Callable[[Lexicon], object], float] = {
    Lexicon.word: 50,
    Lexicon._word_of_other_case: 10,
    Lexicon._padded: 5,
    Lexicon._phrase: 8,
    Lexicon._part: 6,
    Lexicon._pattern: 12,
    Lexicon._macro: 4,
    Lexicon._blank: 2,
    Lexicon._no_text: 0.3,
}
"""Kinds of keys, and how often they come in a hundred."""
