"""How many tokens a text has, roughly: enough to share out a budget.

Owns two ratios. No tokenizer of a model is at hand, so none is asked.

Source: DeepSeek's API documentation, "Token & Token Usage": 0.3 tokens for a character of English,
0.6 for one of Chinese.
"""

from math import ceil

TOKENS_PER_ASCII_CHAR = 0.3
TOKENS_PER_OTHER_CHAR = 0.6


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text; one of a single character has at least one.

    >>> estimate_tokens("A bell?")
    3
    """
    if text.isascii():
        return ceil(len(text) * TOKENS_PER_ASCII_CHAR)
    ascii_chars = len(text.encode("ascii", "ignore"))
    others = len(text) - ascii_chars
    return ceil(ascii_chars * TOKENS_PER_ASCII_CHAR + others * TOKENS_PER_OTHER_CHAR)
