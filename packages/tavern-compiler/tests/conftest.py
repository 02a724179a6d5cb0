import json
from collections.abc import Callable

import pytest

from tavern_format import Preset, parse_preset

PresetOf = Callable[..., Preset]


@pytest.fixture
def preset_of() -> PresetOf:
    """Make a preset of the prompts in its order; a budget that nothing exceeds."""

    def make(*order: str, **settings: object) -> Preset:
        lines = [{"identifier": name, "enabled": True} for name in order]
        document = {
            "openai_max_context": 100_000,
            "new_chat_prompt": "",
            **settings,
            "prompts": [],
            "prompt_order": [{"character_id": 100001, "order": lines}],
        }
        return parse_preset(json.dumps(document).encode()).value

    return make
