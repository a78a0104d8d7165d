#!/usr/bin/env python3
"""Draws docs/skipping.svg from the tables of Tiny-Shakespeare in docs/experiments.md:

    docs/draw_skipping.py docs/experiments.md > docs/skipping.svg

Validation loss over the fraction of layer operations that are skipped. Losses above HIGHEST are left out.
"""

import sys

sys.dont_write_bytecode = True
from draw import BOTTOM, HEIGHT, LEFT, LETTER, RIGHT, TOP, WIDTH, line, text  # noqa: E402

SERIES = {  # the beginning of a model's name in the first table: its name in the picture, colour
    "`vanilla`": ("vanilla", "#555555"),
    "TSA, compute weight 0.05": ("tsa, the paper's loss", "#1c6ab5"),
    "TSA with binarized gates": ("tsa, binarized gates", "#b5361c"),
    "`vanilla`, averaged": ("vanilla, averaged weights", "#999999"),
    "TSA from E": ("tsa, distilled (bundled)", "#7a1fa2"),
}
EARLY_EXIT = ("early_exit", "#2f7d32")
HIGHEST, LOWEST = 1.53, 1.40


def table_after(page, heading):
    """The cells of each row of the table that begins with this heading."""
    rows = page.split(heading, 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]


def number(cell):
    return float(cell.rstrip(" %"))


def points_of(page):
    """{(name, colour): [(skipped in per cent, loss)]}, in the order of the page."""
    found, key = {}, None
    for model, _, loss, _, skipped in table_after(page, "| model | gates | loss | paper | layer ops skipped |"):
        if model:
            key = next((SERIES[start] for start in SERIES if model.startswith(start)), None)
        if key:
            found.setdefault(key, []).append((number(skipped), number(loss)))
    for _, loss, skipped, *_ in table_after(page, "| threshold | loss | skipped |"):
        found.setdefault(EARLY_EXIT, []).append((number(skipped), number(loss)))
    return {key: [p for p in sorted(points) if p[1] <= HIGHEST] for key, points in found.items()}


def across(skipped):
    return LEFT + skipped / 60 * (WIDTH - LEFT - RIGHT)


def down(loss):
    return HEIGHT - BOTTOM - (loss - LOWEST) / (HIGHEST - LOWEST) * (HEIGHT - TOP - BOTTOM)


def axes():
    grid = 'stroke="#dddddd"'
    for skipped in range(0, 61, 10):
        yield line(across(skipped), TOP, across(skipped), HEIGHT - BOTTOM, grid)
        yield text(across(skipped), HEIGHT - BOTTOM + 18, f"{skipped} %")
    for hundredths in range(140, 154, 2):
        yield line(LEFT, down(hundredths / 100), WIDTH - RIGHT, down(hundredths / 100), grid)
        yield text(LEFT - 8, down(hundredths / 100) + 4, f"{hundredths / 100:.2f}", "end")
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "token-layer operations skipped, Tiny-Shakespeare")
    yield text(14, middle, "validation loss (nats per character)", more=f' transform="rotate(-90 14 {middle:.0f})"')


def curve(name, colour, points):
    path = "L".join(f"{across(x):.0f} {down(y):.0f}" for x, y in points)
    yield f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for x, y in points:
        yield f'<circle cx="{across(x):.0f}" cy="{down(y):.0f}" r="4" fill="{colour}"/>'
    x, y = across(points[-1][0]), down(points[-1][1])
    if x + 10 + LETTER * len(name) < WIDTH and len(points) > 1:
        yield text(x + 10, y + 4, name, "start", colour)
    else:  # above the last point
        yield text(x, y - 10, name, "start" if len(points) == 1 else "end", colour)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        series = points_of(file.read())
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">'
    )
    print(f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#ffffff"/>')
    for part in axes():
        print(part)
    for (name, colour), points in series.items():
        for part in curve(name, colour, points):
            print(part)
    print("</svg>")


if __name__ == "__main__":
    main()
