"""The picture of a character: the PNG it comes in, or the main icon of its archive.

Knows where each carrier keeps the picture, nothing of the card's texts.
"""

from collections.abc import Mapping, Sequence

from tavern_format._json_text import JsonObject
from tavern_format.card import Asset, CardCarrier, CharacterCard
from tavern_format.charx import resolve_asset
from tavern_format.png_chunks import PNG_SIGNATURE


def picture_of(card: CharacterCard) -> bytes | None:
    """Give the PNG that shows the character; None where there is none.

    That is the PNG the card came in, of a CHARX its main icon, else the PNG in front of it, of a
    BYAF the first picture of its character.
    """
    if card.carrier is CardCarrier.PNG:
        return card.picture or None
    path = icon_path(card.assets, card.files)
    candidates = (card.files[path] if path is not None else b"", card.picture)
    return next((found for found in candidates if found.startswith(PNG_SIGNATURE)), None)


def icon_path(assets: Sequence[Asset], files: Mapping[str, bytes]) -> str | None:
    """Find the file of the main icon: the asset named `main`, else the first icon."""
    icons = [asset for asset in assets if asset.type == "icon"]
    for asset in sorted(icons, key=lambda asset: asset.name != "main"):
        path = resolve_asset(asset.uri, files)
        if path is not None:
            return path
    return None


ICON_FILE = "assets/icon/image/main.png"
"""Where a picture goes in an archive, as RisuAI and SillyTavern lay it out."""


def with_icon(document: JsonObject) -> JsonObject:
    """Point the main icon at `ICON_FILE`; another icon keeps its place behind it."""
    data = document["data"]
    assets = data.get("assets")
    others = [
        asset
        for asset in (assets if isinstance(assets, list) else [])
        if not (
            isinstance(asset, dict) and asset.get("type") == "icon" and asset.get("name") == "main"
        )
    ]
    icon = {"type": "icon", "uri": f"embeded://{ICON_FILE}", "name": "main", "ext": "png"}
    return {**document, "data": {**data, "assets": [icon, *others]}}
