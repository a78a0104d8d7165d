"""plot.py - the pictures of docs/benchmarks.md, in the style of docs/draw.py."""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "docs"))
from draw import line, text  # noqa: E402

WIDTH, GRID = 860, 'stroke="#dddddd"'
COLOURS = {
    "Sluice": "#b5361c",
    "OpenVINO": "#1c6ab5",
    "ONNX Runtime": "#2f7d32",
    "PyTorch": "#7d4fa8",
    "llama.cpp": "#a87d1c",
    "oneDNN": "#1c6ab5",
    "fastText": "#555555",
}
SERIES = ("#b5361c", "#1c6ab5", "#2f7d32", "#7d4fa8", "#a87d1c", "#0d8a8a", "#555555", "#c2569b", "#8a6d4f")


def picture(height, parts):
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">'
    )
    back = f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#ffffff"/>'
    return "\n".join([head, back, *parts, "</svg>"]) + "\n"


# ---- bars: speeds, a group for each case, relative to the fastest of the group


def bars(section, name_of, number):
    left, right, bar, y, parts = 260, 90, 15, 14, []
    for row in section["rows"]:
        found = [r for r in row["results"] if r.get("value")]
        speeds = [1 / r["value"] if section["better"] == "lower" else r["value"] for r in found]
        parts.append(text(16, y + 14, row["case"], "start", "#000000", ' font-weight="bold"'))
        y += 22
        for result, speed in zip(found, speeds):
            length = (WIDTH - left - right) * speed / max(speeds)
            colour = COLOURS.get(result["who"], "#555555")
            parts.append(text(left - 8, y + 11, name_of(result), "end"))
            parts.append(f'<rect x="{left}" y="{y}" width="{length:.0f}" height="{bar - 3}" fill="{colour}"/>')
            parts.append(text(left + length + 6, y + 11, number(result["value"]), "start"))
            y += bar
        y += 10
    direction = "longer is faster"
    parts.append(text((left + WIDTH - right) / 2, y + 12, f"speed; {direction}; the numbers are {section['unit']}"))
    return picture(y + 26, parts)


# ---- lines: a series for each case


def logarithmic(values):
    decades = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
    return [10.0**n for n in decades]


def scale(ticks, begin, end, log):
    of = math.log10 if log else float
    low, high = of(ticks[0]), of(ticks[-1])
    return lambda value: begin + (of(value) - low) / (high - low) * (end - begin)


def linear(values):
    low, high = 0.0, max(values)
    step = next(s for s in (0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100) if (high - low) / s <= 8)
    return [low + i * step for i in range(math.ceil((high - low) / step) + 1)]


def spread(ys, least=15):
    """Moves labels apart, in their order from the top."""
    out = []
    for y in ys:
        out.append(max(y, out[-1] + least) if out else y)
    return out


def axes(x_ticks, y_ticks, across, down, box):
    left, right, top, bottom = box
    for x in x_ticks:
        yield line(across(x), top, across(x), bottom, GRID)
        yield text(across(x), bottom + 18, f"{x:,.10g}")
    for y in y_ticks:
        yield line(left, down(y), right, down(y), GRID)
        yield text(left - 8, down(y) + 4, f"{y:,.10g}", "end")


def lines(section, labels):
    """labels: of the axes."""
    log, height = section["plot"] == "loglog", 420
    series = {
        row["case"]: [(r["x"], r["value"]) for r in row["results"] if "x" in r and r["value"]]
        for row in section["rows"]
    }
    xs = sorted({x for points in series.values() for x, _ in points})
    ys = [y for points in series.values() for _, y in points]
    box = left, right, top, bottom = 70, WIDTH - 190, 24, height - 56
    y_ticks = logarithmic(ys) if log else linear(ys)
    across, down = scale(xs, left, right, log), scale(y_ticks, bottom, top, log)
    parts = list(axes(xs, y_ticks, across, down, box))
    ends = sorted(series.items(), key=lambda item: down(item[1][-1][1]))
    for (case, _), y in zip(ends, spread([down(points[-1][1]) for _, points in ends])):
        colour = SERIES[list(series).index(case) % len(SERIES)]
        x_end, y_end = series[case][-1]
        parts.append(line(across(x_end), down(y_end), right + 12, y, f'stroke="{colour}" stroke-dasharray="2 2"'))
        parts.append(text(right + 16, y + 4, case, "start", colour))
    for index, points in enumerate(series.values()):
        colour = SERIES[index % len(SERIES)]
        path = "L".join(f"{across(x):.1f} {down(y):.1f}" for x, y in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
    middle = (top + bottom) / 2
    parts.append(text((left + right) / 2, height - 14, labels[0]))
    parts.append(text(14, middle, labels[1], more=f' transform="rotate(-90 14 {middle:.0f})"'))
    return picture(height, parts)
