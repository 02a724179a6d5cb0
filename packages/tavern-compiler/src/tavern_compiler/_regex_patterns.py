"""Find patterns of regex scripts, compiled once under the bound that keys of world books have.

Must not know what is done with a match.

Source: SillyTavern 1.19.0, public/scripts/utils.js (regexFromString).
"""

from attrs import define, field

from tavern_format import NotRegex, classify_script
from tavern_matcher import BoundedPattern, RegexFault, RegexLimits, compile_bounded

_MAX_PATTERNS = 512


@define
class Patterns:
    """Patterns that were compiled already, so many at most: scripts run on many texts."""

    limits: RegexLimits
    _known: dict[str, BoundedPattern | RegexFault] = field(factory=dict, init=False)

    def compiled(self, find: str) -> BoundedPattern | RegexFault:
        """Read and compile the find pattern of a script."""
        found = self._known.get(find)
        if found is None:
            found = self._compile(find)
            if len(self._known) >= _MAX_PATTERNS:
                self._known.clear()
            self._known[find] = found
        return found

    def _compile(self, find: str) -> BoundedPattern | RegexFault:
        source = classify_script(find)
        if isinstance(source, NotRegex):
            return RegexFault(code=source.code, reason=source.reason, invalid=True)
        return compile_bounded(source, self.limits)
