#!/bin/sh
# check-pictures.sh TOP - the pictures in docs/ show what their tables say. If not, it says how to mend them.
set -eu
cd "$1/docs"
python3 draw.py results.md | cmp - reviews.svg || {
    echo "mend it: docs/draw.py docs/results.md > docs/reviews.svg" >&2
    exit 1
}
python3 draw_skipping.py experiments.md | cmp - skipping.svg || {
    echo "mend it: docs/draw_skipping.py docs/experiments.md > docs/skipping.svg" >&2
    exit 1
}
