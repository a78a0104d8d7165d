"""Lines over time as SVG: several panels below each other, which share the horizontal axis."""

import html

WIDTH, PANEL, LEFT, RIGHT, TOP, BOTTOM = 860, 180, 64, 24, 30, 40
COLOURS = ["#1c6ab5", "#b5361c", "#2f7d32"]


def nice(value):
    """The smallest of 1, 2 or 5 times a power of ten that is at least the value."""
    power = 1e-6
    while True:
        for step in (1, 2, 5):
            if step * power >= value:
                return step * power
        power *= 10


def text(x, y, words, anchor="start", colour="#333333"):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{colour}">{html.escape(words)}</text>'


def panel(top, title, times, series):
    highest = nice(max([1e-6] + [value for _, values in series for value in values]))
    longest = max(times + [1e-6])

    def across(time):
        return LEFT + time / longest * (WIDTH - LEFT - RIGHT)

    def down(value):
        return top + PANEL - BOTTOM - value / highest * (PANEL - TOP - BOTTOM)

    yield text(LEFT, top + TOP - 12, title)
    for part in range(5):
        value = highest * part / 4
        yield f'<path d="M{LEFT} {down(value):.0f}H{WIDTH - RIGHT}" stroke="#dddddd"/>'
        yield text(LEFT - 8, down(value) + 4, f"{value:g}", "end")
    for i, (name, values) in enumerate(series):
        points = " ".join(f"{across(t):.1f},{down(v):.1f}" for t, v in zip(times, values))
        yield f'<polyline points="{points}" fill="none" stroke="{COLOURS[i]}" stroke-width="1.5"/>'
        yield text(WIDTH - RIGHT - 60 * (len(series) - i), top + TOP - 12, name, colour=COLOURS[i])
    for part in range(5):
        yield text(across(longest * part / 4), top + PANEL - BOTTOM + 18, f"{longest * part / 4:.3g}", "middle")


def draw(times, unit, panels):
    """The picture of panels: each a title and a list of (name, values)."""
    height = PANEL * len(panels) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#ffffff"/>',
    ]
    for i, (title, series) in enumerate(panels):
        parts += panel(i * PANEL, title, times, series)
    parts.append(text(WIDTH / 2, height - 10, unit, "middle"))
    return "\n".join(parts + ["</svg>", ""])
