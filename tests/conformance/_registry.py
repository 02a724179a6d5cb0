"""Which adapter compares which area, and which files are no plain list of cases.

An area is a folder and a file, `formats/card_json`; cases of `public_reports` say their area
themselves. A new area is one row here, or a pattern for many of one kind; one without a row is
reported as "no adapter" and does not count.
"""

from collections.abc import Mapping

from tests.conformance import (
    chat_completion,
    dsh_matcher,
    formats_archive,
    formats_book,
    formats_card,
    formats_chat,
    formats_conversion,
    formats_e2e,
    formats_png,
    formats_preset,
    formats_small,
    formats_text,
    macro_primitives,
    macro_table,
    macros,
    public_matching,
    public_projection,
    public_reports,
    trace,
    world_info,
)
from tests.conformance._cases import (
    Loader,
    by_own_area,
    keyed_values,
    named_vectors,
    numbered_pairs,
)
from tests.conformance._runner import Adapter

LOADERS: Mapping[str, Loader] = {
    "chat_completion/chat_completion": chat_completion.load,
    "chat_completion/prompt_order": chat_completion.load,
    "dsh_tavern/matcher_vectors": named_vectors,
    "formats/node_base64": numbered_pairs,
    "formats/oai_settings_map": keyed_values,
    "formats/wi_template": keyed_values,
    "macros/macro_registry": macro_table.load,
    "macros/macros": macros.load,
    "macros/primitives": macro_primitives.load,
    "public_reports/cases": by_own_area,
    **trace.LOADERS,
}

ADAPTERS: Mapping[str, Adapter] = {
    "chat_completion/chat_completion": chat_completion.check,
    "chat_completion/prompt_order": chat_completion.check,
    "dsh_tavern/matcher_vectors": dsh_matcher.check,
    "formats/card_json": formats_card.check,
    "formats/card_yaml": formats_card.check,
    "formats/card_png": formats_png.check_card,
    "formats/issues_cards": formats_png.check_issue,
    "formats/png_write": formats_png.check_writing,
    "formats/png_naidata": formats_png.check_naidata,
    "formats/node_base64": formats_png.check_base64,
    "formats/charx": formats_archive.check_charx,
    "formats/byaf": formats_archive.check_byaf,
    "formats/wi_import": formats_book.check_import,
    "formats/issues_wi": formats_book.check_import,
    "formats/wi_add_missing": formats_book.check_added_fields,
    "formats/wi_template": formats_book.check_template,
    "formats/charbook_to_wi": formats_conversion.check_from_book,
    "formats/wi_to_charbook": formats_conversion.check_to_book,
    "formats/wi_roundtrip": formats_conversion.check_round_trip,
    "formats/lorebook_convert": formats_conversion.check_foreign,
    "formats/wi_decorators": formats_text.check_decorators,
    "formats/wi_keys": formats_text.check_keys,
    "formats/wi_regex_parse": formats_text.check_regex,
    "formats/oai_migrate": formats_preset.check_migration,
    "formats/oai_prompts": formats_preset.check_prompts,
    "formats/pm_import": formats_preset.check_export,
    "formats/oai_settings_map": formats_preset.check_settings,
    "formats/master_import": formats_preset.check_master,
    "formats/preset_save": formats_preset.check_saving,
    "formats/chat_jsonl": formats_chat.check_jsonl,
    "formats/chat_import": formats_chat.check_import,
    "formats/regex_migrate": formats_small.check_regex,
    "formats/persona_restore": formats_small.check_personas,
    "formats/qr_migrate": formats_small.check_quick_replies,
    "formats/group": formats_small.check_group,
    "formats/e2e": formats_e2e.check,
    "macros/macro_registry": macro_table.check,
    "macros/macros": macros.check,
    "macros/primitives": macro_primitives.check,
    "public_reports/card": public_reports.check_card,
    "public_reports/card-png": public_reports.check_png,
    "public_reports/world-book": public_reports.check_book,
    "public_reports/macro": macros.check_report,
    "public_reports/preset": public_projection.check,
    "oracle/found": world_info.check,
    "public_reports/wi-*": public_matching.check,
    "world_info/*": world_info.check,
    **dict.fromkeys(trace.LOADERS, trace.check),
}
