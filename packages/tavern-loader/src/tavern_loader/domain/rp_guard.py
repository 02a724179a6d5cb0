"""Which tool calls a locked session may make.

Owns the table of tools, the containment of reads in the workspace, and the names of secret files.
Must not know a file system: real paths come from a callable. Not a sandbox: it judges calls, not
what a program does.

Source: the plugin contract, section E2, with two repairs: paths are compared after links are
resolved, and a tool that is not in the table needs the user's leave.
"""

import re
from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from typing import Any

from attrs import field, frozen

RealPath = Callable[[str, str], tuple[str, ...] | None]
"""From a folder and a path to the components of the real path, links resolved, in the case the file
system compares them in; None where there is no such thing."""

REFUSAL = (
    "Role-play mode is on in this conversation. Changing files, running programs, fetching pages,"
    " and reading secret files or files outside the workspace are refused until the user switches"
    " it off with /rp off."
)
"""Told to the model for every refused call, and the default of the policy section."""


class Rule(StrEnum):
    """How a tool is judged."""

    ALLOW = "allow"
    REFUSE = "refuse"
    READ = "read"
    """A file inside the workspace that is not secret."""
    LIST = "list"
    """A folder inside the workspace."""


class Why(StrEnum):
    """Why a call was refused."""

    TOOL = "tool"
    """The tool changes things or reaches out."""
    UNKNOWN_TOOL = "unknown-tool"
    """Neither the table nor the user's list names it."""
    SANDBOX = "sandbox"
    """The call asks for a weaker sandbox."""
    OUTSIDE = "outside"
    """The path leads out of the workspace, or nowhere."""
    SECRET = "secret"  # noqa: S105 - a reason, not a secret
    """The file is known for holding secrets."""


TOOLS: Mapping[str, Rule] = {
    # Change files.
    "write": Rule.REFUSE,
    "edit": Rule.REFUSE,
    "str_replace_editor": Rule.REFUSE,
    # Run programs: the host's read-only sandbox leaves the network open.
    "bash": Rule.REFUSE,
    "pwsh": Rule.REFUSE,
    "run_code": Rule.REFUSE,
    # Takes a script, and what the host runs it in is no wall.
    "workflow": Rule.REFUSE,
    "web_fetch": Rule.REFUSE,
    # Would print what stands in secret files.
    "grep": Rule.REFUSE,
    "read": Rule.READ,
    "read_image": Rule.READ,
    "glob": Rule.LIST,
    "web_search": Rule.ALLOW,
    # A child inherits the lock.
    "subagent": Rule.ALLOW,
    "subagent_fork": Rule.ALLOW,
    "send_message": Rule.ALLOW,
    "list_agents": Rule.ALLOW,
    "interrupt_agent": Rule.ALLOW,
    "report": Rule.ALLOW,
    "ralph": Rule.ALLOW,
    # Programs cannot be started, those that run may be watched and ended.
    "job_output": Rule.ALLOW,
    "job_list": Rule.ALLOW,
    "job_kill": Rule.ALLOW,
    # State of the session, and questions to the user.
    "skill": Rule.ALLOW,
    "ask_user_question": Rule.ALLOW,
    "todo_write": Rule.ALLOW,
    "get_goal": Rule.ALLOW,
    "create_goal": Rule.ALLOW,
    "update_goal": Rule.ALLOW,
    "exit_plan_mode": Rule.ALLOW,
}
PATH_ARGUMENTS: Mapping[str, str] = {"read": "file_path", "read_image": "file_path", "glob": "path"}

_SECRET = re.compile(
    r"\.env(\..*)?"
    r"|\.credentials\.ya?ml|credentials\.json|secrets\.json|\.netrc"
    r"|id_(rsa|dsa|ecdsa|ed25519)"
    r"|.*\.(pem|key|p12|pfx)",
    re.DOTALL,
)


@frozen(kw_only=True)
class Guard:
    """What a verdict depends on beside the call."""

    workspace: str | None
    """Folder of the session; None: nothing can be inside it."""
    real_path: RealPath = field(repr=False)
    allowed_tools: Collection[str] = ()
    """Names the user added; one that ends with * stands for all that begin so. They never free a
    tool of the table."""

    def refuses(self, tool: str, arguments: object) -> Why | None:
        """Judge a call; None lets it pass."""
        given = arguments if isinstance(arguments, Mapping) else {}
        if _is_truthy(given.get("sandbox_permissions")):
            return Why.SANDBOX
        rule = TOOLS.get(tool)
        if rule is None:
            return None if _is_named(tool, self.allowed_tools) else Why.UNKNOWN_TOOL
        if rule in (Rule.ALLOW, Rule.REFUSE):
            return Why.TOOL if rule is Rule.REFUSE else None
        return self._refuses_path(rule, given.get(PATH_ARGUMENTS[tool]))

    def _refuses_path(self, rule: Rule, path: Any) -> Why | None:  # noqa: ANN401 - from the model
        if rule is Rule.LIST and path in (None, ""):
            return Why.OUTSIDE if self.workspace is None else None
        if not isinstance(path, str) or not path.strip() or self.workspace is None:
            return Why.OUTSIDE
        root = self.real_path(self.workspace, "")
        target = self.real_path(self.workspace, path)
        if not root or not target or target[: len(root)] != root:
            return Why.OUTSIDE
        # Both what is asked for and what a link makes of it.
        names = (re.split(r"[\\/]", path)[-1], target[-1])
        is_secret = rule is Rule.READ and any(is_secret_name(name) for name in names)
        return Why.SECRET if is_secret else None


def is_secret_name(name: str) -> bool:
    """Whether a file of this name is known for holding secrets.

    >>> is_secret_name("server.KEY"), is_secret_name(".env.local"), is_secret_name("keys.txt")
    (True, True, False)
    """
    # Windows takes "x.pem." and "x.pem::$DATA" for x.pem.
    plain = name.split(":", maxsplit=1)[0].rstrip(". ")
    return any(_SECRET.fullmatch(form.casefold()) is not None for form in (name, plain))


def _is_named(tool: str, names: Collection[str]) -> bool:
    return any(tool.startswith(name[:-1]) if name.endswith("*") else tool == name for name in names)


def _is_truthy(value: object) -> bool:
    """Whether JavaScript, which would act on the value, takes it for true."""
    return isinstance(value, (list, dict, tuple)) or bool(value)
