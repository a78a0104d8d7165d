#!/usr/bin/env python3
"""Draws docs/few_labels.svg from the table "Your own texts" in docs/results.md:

    docs/draw_few_labels.py docs/results.md > docs/few_labels.svg

A panel for each set: accuracy over the number of labelled texts, for Sluice and the best of the others.
"""

import math
import re
import sys

sys.dont_write_bytecode = True
from draw import text  # noqa: E402

PANEL, HEIGHT, GAP = 212, 300, 8
LEFT, RIGHT, TOP, BOTTOM = 44, 14, 44, 62
OURS, PEER, GRID = "#b5361c", "#555555", "#dddddd"
STANDARD = "sluice train --data --quick"


def number(cell):
    """The accuracy of a cell in per cent; None: it is empty."""
    found = re.match(r"\**([0-9.]+)", cell)
    return float(found[1]) if found else None


def sets_of(page):
    """{set: [(labels, ours, best of the others or None)]}, in the order of the table."""
    table = page.split("\n## Your own texts\n", 1)[1].split("\n| data | labels |", 1)[1].split("\n\n", 1)[0]
    head, _, *rows = ("| data | labels |" + table).splitlines()
    names = [cell.strip(" `") for cell in head.split("|")[1:-1]]
    ours = names.index(STANDARD)
    others = [i for i in range(ours + 1, len(names)) if not names[i].startswith("calibration")]
    found = {}
    for row in rows:
        cells = [cell.strip() for cell in row.split("|")[1:-1]]
        peers = [value for value in (number(cells[i]) for i in others) if value is not None]
        point = (int(cells[1].replace(",", "")), number(cells[ours]), max(peers, default=None))
        found.setdefault(cells[0].strip("`"), []).append(point)
    return found


def path(points, colour, dashes=""):
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    yield f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
    for x, y in points:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'


def panel(x0, name, points):
    sizes = [size for size, _, _ in points]
    values = [value for point in points for value in point[1:] if value is not None]
    low, high = 5 * math.floor(min(values) / 5), 5 * math.ceil(max(values) / 5)
    first, last = math.log(sizes[0]), math.log(max(sizes[-1], sizes[0] + 1))
    across = lambda size: x0 + LEFT + (math.log(size) - first) / (last - first) * (PANEL - LEFT - RIGHT)
    down = lambda value: HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)
    yield text(x0 + LEFT, TOP - 14, name, anchor="start", more=' font-weight="bold"')
    for value in range(low, high + 1, 5 if high - low <= 30 else 10):
        yield f'<path d="M{x0 + LEFT} {down(value):.0f}H{x0 + PANEL - RIGHT}" stroke="{GRID}"/>'
        yield text(x0 + LEFT - 6, down(value) + 4, f"{value} %", anchor="end")
    for size in sizes:
        yield text(across(size), HEIGHT - BOTTOM + 18, f"{size // 1000}k" if size >= 1000 else str(size))
    yield from path([(across(size), down(peer)) for size, _, peer in points if peer is not None], PEER, ' stroke-dasharray="5 4"')
    yield from path([(across(size), down(ours)) for size, ours, _ in points], OURS)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        sets = sets_of(file.read())
    width = len(sets) * (PANEL + GAP)
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}" '
        f'viewBox="0 0 {width} {HEIGHT}" font-family="sans-serif" font-size="12">'
    )
    print(f'<rect width="{width}" height="{HEIGHT}" rx="6" fill="#ffffff"/>')
    for i, (name, points) in enumerate(sets.items()):
        for part in panel(i * (PANEL + GAP), name, points):
            print(part)
    print(text(width / 2, HEIGHT - 28, "labelled texts (logarithmic); accuracy on the test set"))
    for x, colour, words, dashes in ((0.3, OURS, STANDARD, ""), (0.58, PEER, "the best of the others", ' stroke-dasharray="5 4"')):
        print(f'<path d="M{width * x:.0f} {HEIGHT - 12}h28" stroke="{colour}" stroke-width="2"{dashes}/>')
        print(text(width * x + 36, HEIGHT - 8, words, anchor="start"))
    print("</svg>")


if __name__ == "__main__":
    main()
