"""The function for each message of a host; what it asks of the host when it introduces itself.

Owns the table of methods. What is said of sessions and steps is read in `session_messages` and
`step_messages`. Must not know the link, nor what a service does.

Source: the plugin contract, section E; the messages are those of DESIGN.md.
"""

from collections.abc import Mapping
from functools import partial

from attrs import define

from tavern_loader._version import __version__
from tavern_loader.domain.names import PROFILE_ORDER, PROFILE_SECTION
from tavern_loader.errors import LoaderError, ParametersError
from tavern_loader.ports import Cancellation, JsonObject
from tavern_loader.service import roleplay, rp_command, session_state, tracing
from tavern_loader.service.host_parts import Handler, HostParts
from tavern_loader.service.parameters import Parameters
from tavern_loader.service.session_messages import SESSION_MESSAGES
from tavern_loader.service.step_messages import STEP_MESSAGES

PROTOCOL = 1
EVENT_TYPES = tuple(
    dict.fromkeys((*session_state.EVENT_TYPES, *tracing.EVENT_TYPES, *roleplay.EVENT_TYPES))
)
"""Events that the host is asked to forward."""
REPLAYED_TYPES = tuple(dict.fromkeys((*session_state.REPLAYED_TYPES, *roleplay.EVENT_TYPES)))
"""Those of them that rebuild a session."""


@define(kw_only=True)
class HostService(HostParts):
    """All that a host can ask of one installation."""

    history_messages: int
    """As many messages of a session's history are asked for."""

    @property
    def methods(self) -> Mapping[str, Handler]:
        """The function for each method."""
        messages = {**SESSION_MESSAGES, **STEP_MESSAGES}
        return {
            "initialize": self._initialize,
            **{name: partial(function, self) for name, function in messages.items()},
            "tool": self._tool,
            "command": self._command,
            "shutdown": self._shutdown,
        }

    def _initialize(self, params: JsonObject, _: Cancellation) -> JsonObject:
        if Parameters(params).whole("protocol") != PROTOCOL:
            message = f"this version speaks protocol {PROTOCOL}"
            raise LoaderError("PROTOCOL_UNSUPPORTED", message)
        return {
            "protocol": PROTOCOL,
            "version": __version__,
            "events": list(EVENT_TYPES),
            "replay": list(REPLAYED_TYPES),
            "historyMessages": self.history_messages,
            "sections": [
                {"name": PROFILE_SECTION, "order": PROFILE_ORDER},
                {"name": roleplay.SECTION_NAME, "order": roleplay.SECTION_ORDER},
            ],
            "commands": [
                {"name": rp_command.COMMAND_NAME, "description": rp_command.COMMAND_DESCRIPTION}
            ],
        }

    def _tool(self, params: JsonObject, _: Cancellation) -> JsonObject:
        read = Parameters(params)
        verdict = self.roleplay.on_tool(read.session(), read.text("name"), params.get("arguments"))
        answer = {"deny": verdict.deny, "cancel": verdict.cancel}
        return {name: text for name, text in answer.items() if text is not None}

    def _command(self, params: JsonObject, _: Cancellation) -> JsonObject:
        read = Parameters(params)
        name = read.text("name")
        if name != rp_command.COMMAND_NAME:
            raise ParametersError("/name: there is no such command")
        session_id = self.facts(read).id
        return {"text": self.roleplay.on_command(session_id, read.text_or_none("arguments") or "")}

    def _shutdown(self, _: JsonObject, __: Cancellation) -> None:
        self.close()
