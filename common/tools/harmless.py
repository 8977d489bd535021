"""Texts of strangers, made fit for terminals, files and pages."""


def harmless(text):
    """`text` with escapes in place of what a terminal would obey (`\\x1b`), of bytes that are no
    text, and of marks that turn the direction of writing. Line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in "\n\t" else " " if one.isspace() else _escape(one)
                   for one in text)


def _escape(one):
    if "\udc80" <= one <= "\udcff":  # a byte, as os.fsdecode() gives it
        return f"\\x{ord(one) & 0xff:02x}"
    return one.encode("unicode_escape", "surrogatepass").decode()
