"""Rows of variables, once for the chat's store and once for the user's.

Source: SillyTavern 1.19.0, public/scripts/macros/definitions/variable-macros.js.
"""

from collections.abc import Callable

from attrs import frozen

from tavern_compiler._macro_variables import Store
from tavern_compiler.macro_table import Macro, Parameter, Value, ValueType

_TEXT_OR_NUMBER = (ValueType.STRING, ValueType.NUMBER)
_NAME = Parameter("name")
_KEY = Parameter("key", types=_TEXT_OR_NUMBER)
_VALUE = Parameter("value", types=_TEXT_OR_NUMBER)

_Action = Callable[[Store, tuple[str, ...]], object]


@frozen
class _Row:
    """A pair of macros; `{}` in a name is empty or `global`."""

    name: str
    action: _Action
    parameters: tuple[Parameter, ...] = (_NAME,)
    aliases: tuple[str, ...] = ()
    returns: tuple[ValueType, ...] = (ValueType.STRING,)


def _nothing(action: Callable[[Store, tuple[str, ...]], object]) -> _Action:
    def act(store: Store, args: tuple[str, ...]) -> str:
        action(store, args)
        return ""

    return act


def _has(store: Store, args: tuple[str, ...]) -> str:
    return "true" if store.has(args[0]) else "false"


_ROWS = (
    _Row("set{}var", _nothing(lambda store, args: store.set(*args)), (_NAME, _VALUE)),
    _Row("add{}var", _nothing(lambda store, args: store.add(*args)), (_NAME, _VALUE)),
    _Row("inc{}var", lambda store, args: store.add(args[0], 1), returns=(ValueType.NUMBER,)),
    _Row("dec{}var", lambda store, args: store.add(args[0], -1), returns=(ValueType.NUMBER,)),
    _Row("get{}var", lambda store, args: store.get(args[0]), returns=_TEXT_OR_NUMBER),
    _Row("has{}var", _has, aliases=("{}varexists",)),
    _Row("delete{}var", _nothing(lambda store, args: store.delete(args[0])),
         aliases=("flush{}var",)),
    _Row("set{}varkey", _nothing(lambda store, args: store.set_key(*args)), (_NAME, _KEY, _VALUE),
         ("set{}varindex",)),
    _Row("get{}varkey", lambda store, args: store.get(*args), (_NAME, _KEY), ("get{}varindex",),
         _TEXT_OR_NUMBER),
)  # fmt: skip


def _macro(row: _Row, scope: str) -> Macro:
    return Macro(
        name=row.name.format(scope),
        value=_value(row.action, shared=bool(scope)),
        aliases=tuple(alias.format(scope) for alias in row.aliases),
        parameters=row.parameters,
        returns=row.returns,
    )


def _value(action: _Action, *, shared: bool) -> Value:
    return lambda call, _: action(call.store(shared=shared), call.args)


VARIABLES = tuple(_macro(row, scope) for scope in ("", "global") for row in _ROWS)
