#!/usr/bin/python3
"""make_site.py - the documentation as a site: a page for each Markdown file, and one for the HTTP API.

    make_site.py TOP OPENAPI OUT

Writes HTML, pictures, a style sheet, and site_files.def, the rows that put them into the daemon. Markdown is read by
Python-Markdown; headings have the anchors that they have on GitHub.
"""

import html
import json
import re
import shutil
import sys
from pathlib import Path

import markdown
from markdown.treeprocessors import Treeprocessor

# Markdown file, page, its name in the menu.
PAGES = (
    ("README.md", "index", "Start"),
    ("docs/console.md", "console", "Console"),
    ("docs/training.md", "training", "Training"),
    ("docs/pretrained.md", "pretrained", "Pretrained models"),
    ("docs/api.md", "api", "HTTP API"),
    ("docs/operations.md", "operations", "Operations"),
    ("docs/results.md", "results", "Results"),
    ("docs/benchmarks.md", "benchmarks", "Benchmarks"),
    ("docs/papers.md", "papers", "Papers"),
    ("docs/experiments.md", "experiments", "Experiments"),
    ("docs/decisions.md", "decisions", "Decisions"),
    ("ARCHITECTURE.md", "architecture", "Architecture"),
    ("CONTRIBUTING.md", "contributing", "Contributing"),
    ("CHANGELOG.md", "changelog", "Changelog"),
)
REFERENCE = ("reference", "API reference")
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png"}

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="style.css">
</head>
<body class="site">
<a class="skip" href="#main">Skip to content</a>
<header><a class="brand" href="index.html">Sluice</a><nav aria-label="Pages">{menu}</nav></header>
<div class="columns">
<nav class="contents" aria-label="On this page">{contents}</nav>
<main id="main">
{body}
</main>
</div>
</body>
</html>
"""


def slug(text, _separator="-"):
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


class Links(Treeprocessor):
    """Links between Markdown files become links between pages. What is no page stays as text."""

    def __init__(self, site, source):
        super().__init__()
        self.site, self.source = site, source

    def run(self, root):
        for element in root.iter():
            if element.tag == "a":
                self.link(element)
            elif element.tag == "table":  # wide ones scroll, also by keyboard
                element.set("tabindex", "0")

    def link(self, element):
        target = element.get("href", "")
        if re.match(r"[a-z]+:|#", target):
            return
        path, _, anchor = target.partition("#")
        page = self.site.page_of(self.source.parent / path)
        if page:
            element.set("href", page + (f"#{anchor}" if anchor else ""))
        else:
            element.tag = "span"
            del element.attrib["href"]


class Site:
    def __init__(self, top, out):
        self.top, self.out = top.resolve(), out
        self.pages = {(self.top / source).resolve(): f"{name}.html" for source, name, _ in PAGES}
        self.files = set()
        out.mkdir(parents=True, exist_ok=True)
        for old in out.iterdir():  # pages of files that there were
            if old.suffix in TYPES:
                old.unlink()

    def page_of(self, path):
        return self.pages.get(path.resolve())

    def write(self, name, text):
        (self.out / name).write_text(text, "utf-8")
        self.files.add(name)

    def picture(self, path):
        name = "-".join(path.resolve().relative_to(self.top).parts).removeprefix("docs-")
        shutil.copyfile(path, self.out / name)
        self.files.add(name)
        return name

    def wrap(self, name, title, contents, body):
        entries = [(page, text) for _, page, text in PAGES] + [REFERENCE]
        menu = "".join(
            f'<a href="{page}.html"{" aria-current=page" if page == name else ""}>{html.escape(text)}</a>' for page, text in entries
        )
        self.write(f"{name}.html", PAGE.format(title=html.escape(title), menu=menu, contents=contents, body=body))

    def markdown(self, source, name, title):
        reader = markdown.Markdown(extensions=["tables", "fenced_code", "sane_lists", "toc"], tab_length=2,
                                   extension_configs={"toc": {"slugify": slug, "toc_depth": "2-3", "title": ""}})
        path = self.top / source
        reader.treeprocessors.register(Links(self, path), "links", 0)
        body = reader.convert(path.read_text("utf-8"))
        body = re.sub(r'(<img [^>]*?src=")([^"]+)', lambda found: found[1] + self.picture(path.parent / found[2]), body)
        self.wrap(name, f"{title} - Sluice", reader.toc, body)

    def table(self):
        rows = []
        for name in sorted(self.files):
            word = "site_" + re.sub(r"\W", "_", name)
            rows.append(f'SV_FILE({word}, "{name}", "{TYPES[Path(name).suffix]}")\n')
        (self.out / "site_files.def").write_text("".join(rows), "utf-8")


# ---- the HTTP API, from its OpenAPI document ----------------------------------------------------------------------------


def type_of(schema):
    """A schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f'<a href="#{slug(name)}">{html.escape(name)}</a>'
    if "const" in schema:
        return f"<code>{html.escape(json.dumps(schema['const']))}</code>"
    if "enum" in schema:
        return " or ".join(f"<code>{html.escape(json.dumps(value))}</code>" for value in schema["enum"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(type_of(one) for one in schema[key])
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    kinds = kind if isinstance(kind, list) else [kind]
    text = " or ".join(kinds)
    bounds = [f"{word} {schema[key]}" for key, word in (("minimum", "from"), ("maximum", "to"), ("maxLength", "up to")) if key in schema]
    return html.escape(" ".join([text, *bounds]))


def members(schema):
    """A table of an object's members."""
    properties = schema.get("properties", {})
    if not properties:
        return f"<p>{type_of(schema)}</p>"
    rows = []
    for name, one in properties.items():
        need = ", required" if name in schema.get("required", []) else ""
        rows.append(f"<tr><td><code>{html.escape(name)}</code></td><td>{type_of(one)}{need}</td><td>{html.escape(one.get('description', ''))}</td></tr>")
        for inner, deeper in one.get("properties", {}).items():
            rows.append(f"<tr><td><code>{html.escape(name)}.{html.escape(inner)}</code></td><td>{type_of(deeper)}</td><td>{html.escape(deeper.get('description', ''))}</td></tr>")
    return f"<table tabindex=0><thead><tr><th>Member</th><th>Type</th><th>Meaning</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"


def operation(path, method, about):
    parts = [f'<h3 id="{slug(about["operationId"])}"><code>{method.upper()} {html.escape(path)}</code></h3>', f"<p>{html.escape(about['summary'])}</p>"]
    if about.get("description"):
        parts.append(f"<p>{html.escape(about['description'])}</p>")
    if about["parameters"]:
        rows = "".join(f"<tr><td><code>{html.escape(p['name'])}</code></td><td>{p['in']}</td><td>{html.escape(p.get('description', ''))}</td></tr>" for p in about["parameters"])
        parts.append(f"<table tabindex=0><thead><tr><th>Parameter</th><th>In</th><th>Meaning</th></tr></thead><tbody>{rows}</tbody></table>")
    for media, content in about.get("requestBody", {}).get("content", {}).items():
        parts.append(f"<p>Body, <code>{html.escape(media)}</code>: {type_of(content.get('schema', {}))}</p>")
    answers = []
    for status, response in about["responses"].items():
        shapes = [type_of(c.get("schema", {})) for c in response.get("content", {}).values()]
        text = html.escape(response.get("description", "")) or (f"error: {html.escape(response['$ref'].rpartition('/')[2])}" if "$ref" in response else "")
        answers.append(f"<li><code>{status}</code> {text} {' or '.join(dict.fromkeys(shapes))}</li>")
    parts.append(f"<details><summary>Responses</summary><ul>{''.join(answers)}</ul></details>")
    return "".join(parts)


def reference(site, document):
    tags, schemas = {}, document["components"]["schemas"]
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            tags.setdefault(about["tags"][0], []).append(operation(path, method, about))
    body = [f"<h1>API reference</h1><p>Made from <code>/openapi.json</code>; <a href=\"api.html\">HTTP API</a> explains it with examples.</p>"]
    contents = []
    for tag, operations in tags.items():
        body.append(f'<h2 id="{slug(tag)}">{html.escape(tag)}</h2>{"".join(operations)}')
        contents.append(f'<li><a href="#{slug(tag)}">{html.escape(tag)}</a></li>')
    body.append('<h2 id="objects">Objects</h2>')
    contents.append('<li><a href="#objects">Objects</a></li>')
    for name, schema in schemas.items():
        body.append(f'<h3 id="{slug(name)}">{html.escape(name)}</h3>{members(schema)}')
    name, title = REFERENCE
    site.wrap(name, f"{title} - Sluice", f"<ul>{''.join(contents)}</ul>", "\n".join(body))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    top, openapi, out = map(Path, sys.argv[1:])
    site = Site(top, out)
    for source, name, title in PAGES:
        site.markdown(source, name, title)
    reference(site, json.loads(openapi.read_text("utf-8")))
    site.write("style.css", (top / "clients/web/style.css").read_text("utf-8") + (top / "docs/site/site.css").read_text("utf-8"))
    site.table()


if __name__ == "__main__":
    main()
