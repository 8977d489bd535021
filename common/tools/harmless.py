"""Texts of strangers, made fit for terminals, files and pages."""


def harmless(text):
    """`text` with escapes in place of what a terminal would obey (`\\x1b`), of bytes that are no text, and of
    marks that turn the direction of writing. Line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else " " if one.isspace()
                   else one.encode("unicode_escape", "surrogatepass").decode() for one in text)
