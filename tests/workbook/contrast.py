"""Contrast of colours by WCAG 2.2: relative luminance and its ratio."""

import re

TEXT, OBJECT = 4.5, 3.0  # 1.4.3 for text, 1.4.11 for what a reader has to tell apart
# Grounds on which figures are shown, by theme: GitHub's and the site's.
GROUNDS = {"light": ("#ffffff", "#f6f8fa"), "dark": ("#0d1117", "#161b22", "#1c1d1f", "#1e2129")}


def rgb(colour):
    """(red, green, blue) from 0 to 1 of #rgb or #rrggbb."""
    digits = colour.lstrip("#")
    if not re.fullmatch(r"[0-9a-fA-F]{3}|[0-9a-fA-F]{6}", digits):
        raise ValueError(f"{colour} is no #rgb or #rrggbb")
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    return tuple(int(digits[at:at + 2], 16) / 255 for at in (0, 2, 4))


def luminance(colour):
    """The relative luminance of a colour."""
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
             for part in rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def ratio(one, other):
    """The contrast of two colours, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)
