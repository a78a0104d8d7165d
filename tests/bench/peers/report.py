#!/usr/bin/env python3
"""report.py - what bench-peers has measured, as tables and pictures.

report.py build/bench/peers.json     prints the tables
report.py page [DIRECTORY]           writes benchmarks.md and its pictures, of docs/benchmarks/*.json, to
                                     DIRECTORY (docs)
"""

import json
import sys
import textwrap
from pathlib import Path

import plot

TOP = Path(__file__).resolve().parents[3]
HOW = """# Benchmarks

Sluice beside other software, in one run on one machine. [results.md](results.md) has what Sluice is measured on alone.

All have the same number of threads and take turns, so that other work on the machine slows all of them; a
number is the best of its turns. The peers' weights are converted from ours. Before anything is timed, outputs are
compared, and software that computes something else is left out. In brackets: how many times as fast Sluice is, in the same
precision unless the text says otherwise; below 1, the other one is faster. Machines differ, and this one may have had
other work: compare numbers of one table only.

    make bench-peers                  # everything; build/bench/peers.json is complete after each row
    make bench-peers ONLY=forward     # one section: forward, train, sparse, completions, classify, encoders, encoders_http, decoders, length, products
    make pretrained                   # all-MiniLM-L6-v2, for encoders and encoders_http

A section that has no table below has not been measured on that machine. The first run installs the peers from PyPI into
`build/bench/venv`, in the versions of `tests/bench/peers/requirements.txt`, which takes some gigabytes. To show the
numbers here, copy `build/bench/peers.json` to `docs/benchmarks/NAME.json` and run `tests/bench/peers/report.py page`.
"""


def number(value):
    """Three digits that matter, as people write them."""
    if value >= 1000:
        return f"{float(f'{value:.4g}'):,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def key_of(result):
    return f"{result['who']} {result['how']}".strip()


def name_of(result):
    version = f" {result['version']}" if result.get("version") and result.get("against") else ""
    return f"{result['who']}{version} {result['how']}".strip()


def names_of(section):
    """All that were measured, in the order of the rows."""
    names = {}
    for row in section["rows"]:
        for result in row["results"]:
            if result.get("value") or key_of(result) not in names:
                names[key_of(result)] = name_of(result)
    return names


def cell(result):
    if not result or not result.get("value"):
        return ""
    ratio = f" ({result['ratio']:.2f})" if result.get("ratio") else ""
    return number(result["value"]) + ratio


def table(section):
    """A line of cells for each contender, below one of the cases."""
    rows = section["rows"]
    found = [{key_of(r): r for r in row["results"]} for row in rows]
    lines = [["", *(row["case"] for row in rows)]]
    for key, name in names_of(section).items():
        cells = [cell(results.get(key)) for results in found]
        if any(cells):
            lines.append([name, *cells])
    return lines


def reasons(section):
    """Who could not be timed, and why."""
    out = {}
    for row in section["rows"]:
        for result in row["results"]:
            if not result.get("value"):
                out.setdefault((name_of(result), result.get("why", "")), []).append(row["case"])
    return [f"{name}: not measured ({', '.join(cases)}): {why}" for (name, why), cases in out.items()]


def explain(section):
    return f"{section['unit']}; {section['better']} is better"


def text(section):
    """For a terminal."""
    if not section["rows"]:
        return f"{section['title']}: nothing measured"
    lines = table(section)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    out = [f"{section['title']} ({explain(section)}; in brackets: how many times as fast Sluice is)"]
    for line in lines:
        cells = [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:]))]
        out.append("  ".join(cells).rstrip())
    return "\n".join(out + reasons(section))


# ---- docs/benchmarks.md


def markdown_table(section):
    lines = table(section)
    rows = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([rows[0], "|---" * len(lines[0]) + "|", *rows[1:]])


def dates(section):
    days = sorted({row["date"].split()[0] for row in section["rows"]})
    return days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"


def markdown_section(name, machine, section):
    """name: of its picture."""
    out = [f"### {section['title']}: {machine}", textwrap.fill(section["about"], 120)]
    loads = [row["load"] for row in section["rows"]]
    out.append(f"Numbers are {explain(section)}. {dates(section)}, load before a row at most {max(loads):g}.")
    out.append(markdown_table(section))
    out += reasons(section)
    if section.get("plot"):
        out.append(f"![{section['title']}](benchmarks/{name}.svg)")
    return "\n\n".join(out)


def markdown_machine(title, data):
    m = data["machine"]
    about = (
        f"{m['processor']} (model {m['model']}), {m['processors']} processors, {m['memory_gib']} GiB, {m['threads']} "
        f"threads each. {m['system']}, Linux {m['kernel']}. Instruction sets: "
        f"{', '.join(m['flags'])}."
    )
    if m.get("isa"):
        about += f" Sluice is held to SLUICE_ISA={m['isa']}; the others use what they find."
    return f"## {title}\n\n{textwrap.fill(about, 120)}"


def picture(section):
    if section["plot"] == "bars":
        return plot.bars(section, name_of, number)
    return plot.lines(section, section["axes"])


def page(files):
    """The text of the page, and its pictures by name. files: data by name of the machine."""
    out, pictures = [HOW], {}
    for machine, data in files.items():
        out.append(markdown_machine(data.get("name", machine), data))
        for name, section in data["sections"].items():
            if not section["rows"]:
                continue
            out.append(markdown_section(f"{machine}-{name}", data.get("name", machine), section))
            if section.get("plot"):
                pictures[f"{machine}-{name}.svg"] = picture(section)
    return "\n\n".join(part.strip() for part in out) + "\n", pictures


def write_page(directory):
    files = sorted((TOP / "docs/benchmarks").glob("*.json"))
    words, pictures = page({file.stem: json.loads(file.read_text("utf-8")) for file in files})
    (directory / "benchmarks").mkdir(parents=True, exist_ok=True)
    (directory / "benchmarks.md").write_text(words, "utf-8")
    for name, drawn in pictures.items():
        (directory / "benchmarks" / name).write_text(drawn, "utf-8")


def main():
    if sys.argv[1:2] == ["page"]:
        write_page(Path(sys.argv[2]) if len(sys.argv) > 2 else TOP / "docs")
    elif len(sys.argv) == 2:
        data = json.loads(Path(sys.argv[1]).read_text("utf-8"))
        print("\n\n".join(text(section) for section in data["sections"].values()))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
