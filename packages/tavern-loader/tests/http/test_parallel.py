"""Many clients at once: one revision has one winner, and nothing is lost."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.http_scene import CARD, PRESET, Client, HttpScene, Reply


def together(number: int, act: object) -> list[Reply]:
    with ThreadPoolExecutor(number) as threads:
        return list(threads.map(act, range(number)))  # type: ignore[arg-type] # a callable


def test_of_parallel_writes_on_one_revision_one_wins(client: Client) -> None:
    preset_id = client.post("/v1/import", {"content": PRESET.decode()}).json["preset"]["id"]
    target = f"/v1/presets/{preset_id}"
    seen = client.get(target).headers["etag"]

    def write(number: int) -> Reply:
        return client.put(target, {"name": f"n{number}"}, headers={"if-match": seen})

    replies = together(12, write)
    assert Counter(reply.status for reply in replies) == {200: 1, 412: 11}
    [winner] = [reply for reply in replies if reply.status == 200]
    now = client.get(target)
    assert now.json["preset"]["name"] == winner.json["preset"]["name"]
    assert now.headers["etag"] == winner.headers["etag"]


def test_of_parallel_deletions_one_wins(client: Client) -> None:
    user_id = client.post("/v1/users", {"name": "Ilse"}).json["user"]["id"]
    replies = together(12, lambda _: client.delete(f"/v1/users/{user_id}"))
    assert Counter(reply.status for reply in replies) == {200: 1, 404: 11}


def test_parallel_imports_are_all_kept(client: Client) -> None:
    replies = together(12, lambda _: client.send("POST", "/v1/characters/import", data=CARD))
    ids = {reply.json["character"]["id"] for reply in replies}
    listed = [one["id"] for one in client.get("/v1/characters").json["characters"]]
    assert len(ids) == 12
    assert sorted(ids) == sorted(listed)


def test_parallel_bindings_of_different_sessions_are_all_kept(client: Client) -> None:
    user_id = client.post("/v1/users", {"name": "Ilse"}).json["user"]["id"]

    def bind(number: int) -> Reply:
        body = {"sessionId": f"s-{number}", "userId": user_id}
        return client.post("/v1/user-selection", body)

    assert {reply.status for reply in together(12, bind)} == {200}
    for number in range(12):
        found = client.get(f"/v1/user-selection?sessionId=s-{number}").json
        assert found["selection"] == {"userId": user_id}


@pytest.mark.parametrize("rounds", [3])
def test_different_fields_of_one_session_do_not_undo_each_other(
    scene: HttpScene, rounds: int
) -> None:
    client = scene.client
    user_id = client.post("/v1/users", {"name": "Ilse"}).json["user"]["id"]
    book_id = client.post("/v1/world-books", {"name": "B"}).json["worldBook"]["id"]
    preset_id = client.post("/v1/presets", {"name": "P"}).json["preset"]["id"]
    bodies = (
        ("/v1/user-selection", {"userId": user_id}),
        ("/v1/world-book-selection", {"worldBookIds": [book_id]}),
        ("/v1/select", {"id": preset_id}),
    )
    for number in range(rounds):
        session = f"s-{number}"

        def bind(which: int, session: str = session) -> Reply:
            target, body = bodies[which]
            return client.post(target, {**body, "sessionId": session})

        together(3, bind)
        selection = scene.services.library.selection(session)
        assert (selection.user_id, selection.world_book_ids, selection.preset_id) == (
            user_id,
            (book_id,),
            preset_id,
        )
