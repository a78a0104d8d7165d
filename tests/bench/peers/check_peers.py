#!/usr/bin/env python3
"""check_peers.py - tests of bench-peers itself: turns, results and pages, without any peer."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

import report
import results
import run
import sparse
import turns
from contender import Contender

# A contender that is ready at once, then answers each turn with the next of its arguments.
FAKE = """
import json, sys
print(json.dumps({"version": "1.2"}), flush=True)
for value in sys.argv[1:]:
    input()
    if value == "fail":
        sys.exit("out of luck")
    print(json.dumps({"value": float(value)}), flush=True)
"""


def fake(who, how, *values, against=""):
    return Contender(who, how, [sys.executable, "-c", FAKE, *values], against)


def measured(values):
    """A section of one case."""
    found = [{"who": who, "how": how, "value": value, "against": against} for who, how, value, against in values]
    row = {
        "case": "8 x 256",
        "date": "2026-01-02 03:04 UTC",
        "load": 0.1,
        "results": results.add_ratios(found, "lower"),
    }
    about = {"title": "Forward", "about": "About.", "unit": "ms", "better": "lower", "plot": "bars"}
    return {**about, "rows": [row]}


class Turns(unittest.TestCase):
    def measure(self, contenders, count=3):
        with tempfile.TemporaryDirectory() as logs:
            try:
                ready, refused = turns.open_all(contenders, Path(logs))
                return turns.measure(ready, count, 0.0) + refused
            finally:
                for contender in contenders:
                    contender.close()

    def test_the_best_turn_counts(self):
        (found,) = self.measure([fake("A", "fp32", "3", "1", "2")])
        self.assertEqual((found["value"], found["turns"], found["version"]), (1, [3, 1, 2], "1.2"))

    def test_who_fails_is_left_out_with_the_reason(self):
        ours, theirs = self.measure([fake("A", "fp32", "3", "1", "2"), fake("B", "fp32", "1", "fail")])
        self.assertEqual(ours["value"], 1)
        self.assertIsNone(theirs["value"])
        self.assertIn("out of luck", theirs["why"])

    def test_who_does_not_start_is_left_out(self):
        broken = Contender("C", "int8", [sys.executable, "-c", "import sys; sys.exit('no such precision')"])
        (found,) = self.measure([broken])
        self.assertIn("no such precision", found["why"])


class Results(unittest.TestCase):
    def test_ratios_say_how_many_times_as_fast_ours_is(self):
        values = {"who": "A", "how": "x", "value": 10}, {"who": "B", "how": "x", "value": 15, "against": "A x"}
        self.assertEqual(results.add_ratios([dict(v) for v in values], "lower")[1]["ratio"], 1.5)
        self.assertAlmostEqual(results.add_ratios([dict(v) for v in values], "higher")[1]["ratio"], 0.6667)

    def test_rows_survive_and_another_machine_begins_anew(self):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "peers.json"
            first = results.Results(path, {"model": 1})
            first.section("s", title="S")
            first.add("s", {"case": "a", "results": []})
            self.assertTrue(results.Results(path, {"model": 1}).has("s", "a"))
            self.assertFalse(results.Results(path, {"model": 1}).has("s", "b"))
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertFalse(results.Results(path, {"model": 2}).has("s", "a"))


class Report(unittest.TestCase):
    section = measured([("Sluice", "fp32", 8.0, ""), ("Peer", "fp32", 12.0, "Sluice fp32")])

    def test_the_table_has_times_and_ratios(self):
        self.assertEqual(report.table(self.section)[1:], [["Sluice fp32", "8.00"], ["Peer fp32", "12.0 (1.50)"]])
        self.assertIn("12.0 (1.50)", report.text(self.section))

    def test_who_was_not_measured_is_named(self):
        section = measured([("Sluice", "fp32", 8.0, ""), ("Peer", "int8", None, "Sluice int8")])
        section["rows"][0]["results"][1]["why"] = "differs"
        self.assertEqual(report.reasons(section), ["Peer int8: not measured (8 x 256): differs"])
        self.assertEqual(len(report.table(section)), 2)

    def test_numbers_keep_what_matters(self):
        self.assertEqual(
            [report.number(x) for x in (0.1234, 12.34, 123.4, 12345.0)], ["0.12", "12.3", "123", "12,340"]
        )

    def test_the_page_has_the_machine_the_date_and_a_picture(self):
        machine = {"processor": "P", "model": "6/1/2", "processors": 2, "memory_gib": 4, "threads": 2, "system": "D"}
        data = {"machine": {**machine, "kernel": "6", "flags": ["avx2"]}, "sections": {"forward": self.section}}
        words, pictures = report.page({"m": json.loads(json.dumps(data))})
        for wanted in ("2026-01-02", "avx2", "| Peer fp32 | 12.0 (1.50) |", "(benchmarks/m-forward.svg)"):
            self.assertIn(wanted, words)
        self.assertIn("Peer fp32", pictures["m-forward.svg"])

    def test_lines_are_drawn_for_sections_with_an_axis(self):
        section = measured([("alpha", "0.1", 2.5, ""), ("alpha", "1", 1.0, "")])
        section.update(plot="linear", axes=["x", "y"])
        for result, x in zip(section["rows"][0]["results"], (0.1, 1)):
            result["x"] = x
        self.assertIn("<path", report.picture(section))


class Sections(unittest.TestCase):
    def test_a_busy_machine_gives_no_ratio(self):
        line = {"alpha": 0.1, "ratio": 2.0, "dense_ms": 10.0}
        found = sparse.checked([dict(line), {**line, "dense_ms": 13.0}])
        self.assertEqual([result["value"] for result in found], [2.0, None])

    def test_each_says_what_it_is(self):
        for name, section in run.SECTIONS.items():
            for field in ("TITLE", "ABOUT", "UNIT", "BETTER", "CASES"):
                self.assertTrue(hasattr(section, field), f"{name} has no {field}")
            self.assertIn(section.BETTER, ("lower", "higher"))
            self.assertRegex(report.HOW, rf"one section:.*\b{name}\b")


if __name__ == "__main__":
    unittest.main()
