#!/usr/bin/env python3
"""Draws docs/reviews.svg from its table in docs/results.md:

    docs/draw.py docs/results.md > docs/reviews.svg

Accuracy over reviews per second, on a logarithmic axis. Rows without an accuracy are left out.
"""

import html
import math
import re
import sys

WIDTH, HEIGHT = 860, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 24, 56
PEER = "fastText with bigrams"
COLOURS = {"sentiment": "#b5361c", "Epsilon": "#b5361c", "EAM": "#1c6ab5", "TransEvolve": "#2f7d32"}
OTHERS = "#555555"
LETTER = 7.3  # the mean width of a letter, rounded up


def rows_of(text):
    """(name, reviews per second, accuracy in per cent) of each row of the table that has all three."""
    table = text.split("| model | reviews/s | accuracy |", 1)[1].split("\n\n", 1)[0]
    for line in table.splitlines()[2:]:
        name, speed, accuracy = [cell.strip() for cell in line.split("|")[1:4]]
        if accuracy:
            name = re.sub(r"[`]|, trained as published| \(.*\)", "", name)
            yield name, float(speed.replace(",", "")), float(accuracy.rstrip(" %"))


def peer_of(text):
    """The accuracy of the peer, in per cent; the lowest of a range."""
    return float(re.search(rf"\| {PEER} \| ([0-9.]+) (to [0-9.]+ )?%", text)[1])


def scales_of(rows):
    """Two functions: where a speed and an accuracy lie, and their ticks."""
    exponents = [math.log10(speed) for _, speed, _ in rows]
    decades = [10**n for n in range(math.floor(min(exponents)), math.ceil(max(exponents)) + 1)]
    lowest = math.floor(min(row[2] for row in rows)) - 1
    highest = math.ceil(max(row[2] for row in rows)) + 1

    def across(speed):
        fraction = math.log(speed / decades[0]) / math.log(decades[-1] / decades[0])
        return LEFT + fraction * (WIDTH - LEFT - RIGHT)

    def down(accuracy):
        return HEIGHT - BOTTOM - (accuracy - lowest) / (highest - lowest) * (HEIGHT - TOP - BOTTOM)

    return across, down, decades, range(lowest, highest + 1)


def text(x, y, words, anchor="middle", colour="#333333", more=""):
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{colour}"{more}>'
        f"{html.escape(words)}</text>"
    )


def line(x1, y1, x2, y2, style):
    return f'<path d="M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}" {style}/>'


def axes(across, down, decades, percentages, peer):
    grid = 'stroke="#dddddd"'
    for speed in decades:
        yield line(across(speed), TOP, across(speed), HEIGHT - BOTTOM, grid)
        yield text(across(speed), HEIGHT - BOTTOM + 18, f"{speed:,}")
    for percentage in percentages:
        yield line(LEFT, down(percentage), WIDTH - RIGHT, down(percentage), grid)
        yield text(LEFT - 8, down(percentage) + 4, f"{percentage} %", "end")
    middle = (TOP + HEIGHT - BOTTOM) / 2
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "film reviews per second over HTTP, two cores (logarithmic)")
    yield text(14, middle, "accuracy, IMDB test set", more=f' transform="rotate(-90 14 {middle:.0f})"')
    yield line(LEFT, down(peer), WIDTH - RIGHT, down(peer), 'stroke="#888888" stroke-dasharray="6 4"')
    yield text(LEFT + 8, down(peer) - 6, PEER, "start", "#666666")


def overlap(a, b):
    """Whether two boxes (left, top, right, bottom) share a point."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def places(x, y, words):
    """Positions for the words at a point, best first: (x, y, anchor, box)."""
    width = LETTER * len(words)
    sides = [("end", x - 10, x - 10 - width), ("start", x + 10, x + 10)]
    for shift in (0, -14, 14, -28, 28, -42, 42):
        for anchor, at, left in sides if x > WIDTH * 0.6 else reversed(sides):
            box = (left, y + shift - 7, left + width, y + shift + 7)
            if LEFT < left and left + width < WIDTH - RIGHT:
                yield at, y + 4 + shift, anchor, box


def points(rows, across, down):
    at = [(across(speed), down(accuracy), name) for name, speed, accuracy in rows]
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y, _ in at]
    for x, y, name in at:
        colour = next((c for word, c in COLOURS.items() if name.startswith(word)), OTHERS)
        yield f'<circle cx="{x:.0f}" cy="{y:.0f}" r="5" fill="{colour}"/>'
        found = list(places(x, y, name))
        free = [place for place in found if not any(overlap(place[3], box) for box in taken)]
        left, base, anchor, box = (free or found)[0]
        taken.append(box)
        if base != y + 4:  # moved away from its point: draw a line to it
            yield line(x, y, left + (3 if anchor == "end" else -3), base - 4, f'stroke="{colour}"')
        yield text(left, base, name, anchor, colour)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    rows = list(rows_of(page))
    across, down, decades, percentages = scales_of(rows)
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">'
    )
    print(f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#ffffff"/>')
    for part in [*axes(across, down, decades, percentages, peer_of(page)), *points(rows, across, down)]:
        print(part)
    print("</svg>")


if __name__ == "__main__":
    main()
