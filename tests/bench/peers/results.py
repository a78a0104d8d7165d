"""results.py - the measured rows: a JSON file that is complete after each row.

{"machine": {...}, "sections": {"forward": {"title": ..., "unit": "ms", "better": "lower", "rows": [
    {"case": "8 x 256", "date": ..., "load": ..., "results": [
        {"who": "Sluice", "how": "fp32", "value": 41.2, "best of": 5, ...},
        {"who": "OpenVINO", "how": "fp32", "version": ..., "value": 70.1, "against": "Sluice fp32", "ratio": 1.7}
"""

import json
import os


class Results:
    def __init__(self, path, machine):
        self.path, self.data = path, {"machine": machine, "sections": {}}
        if path.exists():
            old = json.loads(path.read_text("utf-8"))
            if old["machine"] == machine:
                self.data = old
            else:
                print(f"{path} is of another machine; it becomes {path.name}.old")
                path.rename(path.with_name(path.name + ".old"))

    def section(self, name, **about):
        section = self.data["sections"].setdefault(name, {"rows": []})
        section.update(about)
        return section

    def has(self, name, case):
        section = self.data["sections"].get(name, {"rows": []})
        return any(row["case"] == case for row in section["rows"])

    def add(self, name, row):
        rows = self.data["sections"][name]["rows"]
        rows[:] = [old for old in rows if old["case"] != row["case"]] + [row]
        self.save()

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(self.path.name + ".new")
        new.write_text(json.dumps(self.data, indent=1, ensure_ascii=False) + "\n", "utf-8")
        os.replace(new, self.path)


def add_ratios(results, better):
    """To each peer's result: how many times as fast ours is, the one named in "against", or else the best one."""
    values = {f"{r['who']} {r['how']}": r["value"] for r in results if r.get("value")}
    for r in results:
        ours = values.get(r.get("against"))
        if ours and r.get("value"):
            ratio = r["value"] / ours if better == "lower" else ours / r["value"]
            r["ratio"] = float(f"{ratio:.4g}")
    return results
