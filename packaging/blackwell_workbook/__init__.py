"""The Blackwell workbook, built: `blackwell-workbook FOLDER` writes it into a folder."""
