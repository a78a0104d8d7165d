#!/bin/sh
# check-pictures.sh TOP - pictures in docs/ show what their tables say, and benchmarks.md what was measured.
# If not, it says how to mend them.
set -eu
cd "$1/docs"
python3 draw.py results.md | cmp - reviews.svg || {
    echo "mend it: docs/draw.py docs/results.md > docs/reviews.svg" >&2
    exit 1
}
python3 draw_few_labels.py results.md | cmp - few_labels.svg || {
    echo "mend it: docs/draw_few_labels.py docs/results.md > docs/few_labels.svg" >&2
    exit 1
}
python3 draw_skipping.py experiments.md | cmp - skipping.svg || {
    echo "mend it: docs/draw_skipping.py docs/experiments.md > docs/skipping.svg" >&2
    exit 1
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python3 -B ../tests/bench/peers/report.py page "$scratch"
for file in "$scratch"/*.md "$scratch"/benchmarks/*; do
    cmp "$file" "${file#"$scratch"/}" || { echo "mend it: tests/bench/peers/report.py page" >&2 && exit 1; }
done
