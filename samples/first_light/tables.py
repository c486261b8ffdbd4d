"""Prints a table: with rich on a terminal, as aligned text into a file or a pipe."""

import sys


def print_table(title, columns, rows, notes=()):
    """Prints a table. `columns` are headings; one that starts with '>' is aligned to the right. Cells are text."""
    headings = [column.lstrip(">") for column in columns]
    right = [column.startswith(">") for column in columns]
    if sys.stdout.isatty():
        _print_rich(title, headings, right, rows)
    else:
        _print_plain(title, headings, right, rows)
    for line in notes:
        print(line)


def _print_plain(title, headings, right, rows):
    widths = [max(len(line[i]) for line in [headings, *rows]) for i in range(len(headings))]

    def line(cells):
        return "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right)).rstrip()

    print(title)
    print(line(headings))
    print("  ".join("-" * width for width in widths))
    for row in rows:
        print(line(row))


def _print_rich(title, headings, right, rows):
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for heading, to_the_right in zip(headings, right):
        table.add_column(heading, justify="right" if to_the_right else "left")
    previous = None
    for row in rows:
        if previous is not None and row[0] != previous:
            table.add_section()
        previous = row[0]
        table.add_row(*row)
    Console().print(table)


def progress(text, log=True):
    """Prints one progress line: overwritten on a terminal; in a log it stays, or is left out if it is one of many."""
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)
    elif log:
        print(text, file=sys.stderr, flush=True)


def progress_done():
    if sys.stderr.isatty():
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
