"""The host's web server, spoken to as its own page does."""

import json
from collections.abc import Mapping
from contextlib import closing
from http.client import HTTPConnection
from typing import Any

from attrs import frozen

from tests.dsh._host import Driven

API = "/pmp-dsh-tavern/api"


@frozen
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str]:
        """Status and code, in whichever shape the family has."""
        told = self.json["error"]
        return self.status, told["code"] if isinstance(told, dict) else self.json["code"]


@frozen
class Web:
    """A client of the host's web server."""

    port: int

    @classmethod
    def of(cls, host: Driven) -> "Web":
        """Find the server of a running host."""
        return cls(host.do("port"))

    @property
    def own(self) -> str:
        """The authority of the server."""
        return f"127.0.0.1:{self.port}"

    def get(self, target: str) -> Reply:
        """Read."""
        return self.send("GET", target)

    def post(self, target: str, content: object) -> Reply:
        """Make or change."""
        return self.send("POST", target, json.dumps(content).encode())

    def send(self, method: str, target: str, data: bytes | None = None, **headers: str) -> Reply:
        """Send one request; `headers` replace those of the page, with _ for -."""
        own = {"origin": f"http://{self.own}", "content-type": "application/json"}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request(method, API + target, body=data, headers={**own, **given})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
