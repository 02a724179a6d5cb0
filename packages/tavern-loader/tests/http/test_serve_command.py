"""`tavern-loader serve` as a process of its own."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tavern_loader.adapters.stored_bytes import TRACE_RECORDS
from tavern_loader.cli import main
from tests.trace_scenario import VECTORS, case

API = "/pmp-dsh-tavern/api"


@contextmanager
def serving(home: Path, *options: str) -> Iterator[int]:
    command = [sys.executable, "-m", "tavern_loader", "serve", "--port", "0", *options]
    with subprocess.Popen(
        [*command, "--dsh-home", str(home)], stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr is not None
        line = server.stderr.readline()
        assert line.startswith("tavern-loader: serving http://127.0.0.1:")
        try:
            yield int(line.rsplit(":", 1)[1].split("/")[0])
        finally:
            server.terminate()
            server.wait(timeout=20)
            assert server.stderr.read() == ""


def test_it_serves_the_stores_of_a_home_and_ends_when_told(tmp_path: Path) -> None:
    with serving(tmp_path) as port, closing(HTTPConnection("127.0.0.1", port)) as connection:
        own = f"http://127.0.0.1:{port}"
        headers = {"Origin": own, "Content-Type": "application/json"}
        body = json.dumps({"name": "Ilse"})
        connection.request("POST", f"{API}/v1/users", body=body, headers=headers)
        answer = connection.getresponse()
        user = json.loads(answer.read())["user"]
        assert answer.status == 201
    kept = tmp_path / "pmp-dsh-tavern" / "users" / f"{user['id']}.json"
    assert json.loads(kept.read_bytes()) == user


def test_what_clients_do_wrong_is_not_printed(tmp_path: Path) -> None:
    # `serving` looks at standard error at its end.
    upgrade = b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"
    with serving(tmp_path) as port:
        for wrong in (b"NONSENSE\r\n\r\n", upgrade):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
                client.sendall(wrong)
                assert client.recv(1024).startswith(b"HTTP/1.1 4")


def test_a_record_is_proven_by_the_log_that_its_session_has_left(tmp_path: Path) -> None:
    stores = tmp_path / "pmp-dsh-tavern"
    stores.mkdir()
    (stores / TRACE_RECORDS).write_bytes((VECTORS / TRACE_RECORDS).read_bytes())
    log = case("session_demo")
    folder = tmp_path / "sessions" / "of-a-day" / "session-demo"
    folder.mkdir(parents=True)
    rows = (json.dumps(row) for row in (log["meta"], *log["events"]))
    (folder / "session.jsonl").write_text("\n".join(rows), encoding="utf-8")
    target = f"{API}/v3/sessions/session-demo/assemblies"
    with serving(tmp_path) as port, closing(HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("GET", target)
        index = json.loads(connection.getresponse().read())["records"]
        connection.request("GET", f"{target}/{index[0]['id']}")
        record = json.loads(connection.getresponse().read())["record"]
    assert record["contentStatus"] == "available"


def test_further_hosts_can_be_named(tmp_path: Path) -> None:
    with serving(tmp_path, "--allow-host", "Tea.local") as port:
        for host, status in (("tea.local", 200), ("cup.local", 403)):
            with closing(HTTPConnection("127.0.0.1", port)) as connection:
                connection.request("GET", f"{API}/v1/users", headers={"Host": host})
                assert connection.getresponse().status == status


def test_an_address_in_use_is_said_in_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--dsh-home", str(tmp_path), "--port", port]) == 1
    [line] = capfd.readouterr().err.splitlines()
    assert line.startswith("tavern-loader: error: ADDRESS_UNUSABLE: 127.0.0.1 port")


@pytest.mark.parametrize("port", ["70000", "-1", "x", "1.5", ""])
def test_a_port_that_is_none_is_a_wrong_argument(port: str) -> None:
    with pytest.raises(SystemExit) as raised:
        main(["serve", "--port", port])
    assert raised.value.code == 2
