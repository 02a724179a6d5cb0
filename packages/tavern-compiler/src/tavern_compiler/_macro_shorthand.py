"""Variables in shorthand: `{{.name}}`, `{{$name += 1}}`.

Owns the table of operators. Must not know how a text is read or where a store comes from.

Source: SillyTavern 1.19.0, public/scripts/macros/engine/MacroCstWalker.js.
"""

import math
import operator
from collections.abc import Callable, Mapping

from tavern_compiler._js_json import result_text, value_number
from tavern_compiler._js_number import to_number
from tavern_compiler._macro_variables import Store
from tavern_compiler._text import trim

Right = Callable[[], str]
"""What stands right of the operator, expanded when it is asked for."""
Operation = Callable[[Store, str, Right], str]

_FALSE = frozenset({"off", "false", "0"})


def reads_false(text: str) -> bool:
    """Tell whether a text says no: `off`, `false` or `0`, in any case, with blanks around it."""
    return trim(text).lower() in _FALSE


def _is_falsy(value: object) -> bool:
    if isinstance(value, float) and math.isnan(value):
        return True
    if isinstance(value, list | dict):
        return reads_false(result_text(value))
    return not value or reads_false(result_text(value))


def _read(store: Store, name: str, _: Right) -> str:
    return result_text(store.get(name))


def _assign(store: Store, name: str, right: Right) -> str:
    store.set(name, right())
    return ""


def _add(store: Store, name: str, right: Right) -> str:
    store.add(name, right())
    return ""


def _subtract(store: Store, name: str, right: Right) -> str:
    number = to_number(right())
    if not math.isnan(number):
        store.add(name, -number)
    return ""


def _or(store: Store, name: str, right: Right) -> str:
    value = store.get(name)
    return right() if _is_falsy(value) else result_text(value)


def _or_assign(store: Store, name: str, right: Right) -> str:
    value = store.get(name)
    if not _is_falsy(value):
        return result_text(value)
    store.set(name, right())
    return right()


def _default(store: Store, name: str, right: Right) -> str:
    return result_text(store.get(name)) if store.has(name) else right()


def _default_assign(store: Store, name: str, right: Right) -> str:
    if not store.has(name):
        store.set(name, right())
        return right()
    return result_text(store.get(name))


def _equal(store: Store, name: str, right: Right) -> str:
    return _truth(result_text(store.get(name)) == right())


def _unequal(store: Store, name: str, right: Right) -> str:
    return _truth(result_text(store.get(name)) != right())


def _comparison(holds: Callable[[float, float], bool]) -> Operation:
    # NaN on either side compares false with every operator, as it must.
    def compare(store: Store, name: str, right: Right) -> str:
        left = value_number(store.get(name))
        return _truth(holds(left, to_number(right())))

    return compare


def _truth(value: bool) -> str:  # noqa: FBT001 - the value itself is the argument
    return "true" if value else "false"


def _step(by: int) -> Operation:
    return lambda store, name, _: result_text(store.add(name, by))


OPERATIONS: Mapping[str, Operation] = {
    "": _read,
    "=": _assign,
    "+=": _add,
    "-=": _subtract,
    "++": _step(1),
    "--": _step(-1),
    "||": _or,
    "||=": _or_assign,
    "??": _default,
    "??=": _default_assign,
    "==": _equal,
    "!=": _unequal,
    ">": _comparison(operator.gt),
    ">=": _comparison(operator.ge),
    "<": _comparison(operator.lt),
    "<=": _comparison(operator.le),
}
"""By operator."""
