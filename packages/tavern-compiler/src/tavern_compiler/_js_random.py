"""The hash and the generator behind `{{pick}}`.

Owns SillyTavern's 53-bit string hash and the seeded ARC4 generator. Draws nothing from outside.

Source: SillyTavern 1.19.0, public/scripts/utils.js (getStringHash), and npm seedrandom 3.0.5.
"""

_MASK_32 = 0xFFFFFFFF
_WIDTH = 256
_CHUNKS = 6
_SIGNIFICANT = 2.0**52
_OVERFLOW = 2.0**53


def string_hash(text: str) -> int:
    """Hash the UTF-16 units of a text to 53 bits."""
    units = text.encode("utf-16-le", "surrogatepass")
    first, second = 0xDEADBEEF, 0x41C6CE57
    for at in range(0, len(units), 2):
        unit = units[at] | units[at + 1] << 8
        first = (first ^ unit) * 2654435761 & _MASK_32
        second = (second ^ unit) * 1597334677 & _MASK_32
    first = _mixed(first, second)
    second = _mixed(second, first)
    return (second & 0x1FFFFF) << 32 | first


def _mixed(one: int, other: int) -> int:
    left = (one ^ one >> 16) * 2246822507
    right = (other ^ other >> 13) * 3266489909
    return (left ^ right) & _MASK_32


class SeededRandom:
    """The stream of one seed; the same seed always gives the same numbers."""

    def __init__(self, seed: str) -> None:
        """Mix the seed into the state and drop the first outputs."""
        key = _key(seed)
        state = list(range(_WIDTH))
        other = 0
        for at in range(_WIDTH):
            other = (other + key[at % len(key)] + state[at]) % _WIDTH
            state[at], state[other] = state[other], state[at]
        self._state = state
        self._at = 0
        self._other = 0
        for _ in range(_WIDTH):
            self._byte()

    @classmethod
    def of_number(cls, seed: int) -> "SeededRandom":
        """Seed with a number: its digits, ended by NUL."""
        return cls(f"{seed}\0")

    def _byte(self) -> int:
        state = self._state
        self._at = (self._at + 1) % _WIDTH
        moved = state[self._at]
        self._other = (self._other + moved) % _WIDTH
        state[self._at], state[self._other] = state[self._other], moved
        return state[(state[self._at] + moved) % _WIDTH]

    def random(self) -> float:
        """Draw the next number, at least 0 and below 1."""
        number = 0.0
        for _ in range(_CHUNKS):
            number = number * _WIDTH + self._byte()
        scale = float(_WIDTH**_CHUNKS)
        low = 0
        while number < _SIGNIFICANT:
            number = (number + low) * _WIDTH
            scale *= _WIDTH
            low = self._byte()
        while number >= _OVERFLOW:
            number /= 2
            scale /= 2
            low >>= 1
        return (number + low) / scale


def _key(seed: str) -> list[int]:
    units = seed.encode("utf-16-le", "surrogatepass")
    key: list[int] = []
    smear = 0
    for at in range(len(units) // 2):
        unit = units[2 * at] | units[2 * at + 1] << 8
        slot = at % _WIDTH
        if slot < len(key):
            smear ^= key[slot] * 19
            key[slot] = (smear + unit) % _WIDTH
        else:
            key.append((smear + unit) % _WIDTH)
    return key or [0]
