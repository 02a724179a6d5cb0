"""Names by which hosts, clients and other plugins know this one.

Source: the plugin contract, section 0.
"""

PROFILE_SECTION = "pmp-dsh-tavern:profile"
"""The section in whose place the parts stand."""
PROFILE_ORDER = 10
PART_PREFIX = "pmp-dsh-tavern:part:"
"""Every section of a compiled profile begins with it."""
LORE_CONTEXT = "pmp-dsh-tavern:lore"
"""The runtime context that late lore stands in."""
