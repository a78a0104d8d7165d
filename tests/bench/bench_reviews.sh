#!/bin/sh
# bench_reviews.sh - texts per second through POST /predict, of every published size beside the Transformer.
#
#     tests/bench/bench_reviews.sh TEXTS.tsv [STORE [BUILD]]
#
# TEXTS.tsv has a label TAB a text on each line. 128 connections send one text at a time, for SECONDS_EACH
# seconds. Sizes are made on the spot with one step of training, so they classify at random; only Epsilon's
# speed depends on what it has learnt (untrained it seldom halts early). Every classifier in STORE is measured
# too, and takes the place of a size of its name. The ratio is to `encoder-12`, Epsilon's baseline, served in
# the same run by the same daemon.
set -eu

texts=$1
store=${2:-}
build=${3:-build/release}
scratch=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null || :; rm -rf "$scratch"' EXIT
mkdir "$scratch/store"
[ -z "$store" ] || cp -r "$store"/* "$scratch/store"

# Files often have one label behind the other, so the texts are taken from all over.
awk -v each="$(($(wc -l < "$texts") / 5000 + 1))" 'NR % each == 0' "$texts" > "$scratch/some.tsv"
cut -f 2 "$scratch/some.tsv" > "$scratch/texts.txt"
"$build/sluice" vocab wordpiece --vocab-size 30522 --output "$scratch/pieces.txt" --text 2 "$texts" > "$scratch/log" 2>&1

pieces="--tokenizer wordpiece --vocab-file $scratch/pieces.txt --context-length 512"
large="--width 128 --depth 3 --heads 4 --ffn-width 1024 --activation relu --final-norm false"
words="--tokenizer words --vocab-size 20002 --context-length 512"
while read -r name architecture options; do
    [ -d "$scratch/store/$name" ] && continue
    # shellcheck disable=SC2086 # lists of words, on purpose
    "$build/sluice" train "$architecture" $options --data "$scratch/some.tsv" --label 1 --text 2 \
        --validation-fraction 0.01 --batch-size 8 --steps 1 --evaluate-every 0 --run-dir "$scratch/run-$name" \
        --output "$scratch/store/$name/1" > "$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
done <<SIZES
encoder-12 encoder $pieces
epsilon-micro epsilon $pieces
eam-transformer encoder --tokenizer words --vocab-size 10000 --context-length 256 $large
eam eam --tokenizer words --vocab-size 10000 --context-length 256
transevolve-random-1 transevolve $words --blocks 1 --feed-forward random
transevolve-random-2 transevolve $words --blocks 2 --feed-forward random
transevolve-full-1 transevolve $words --blocks 1 --feed-forward full
transevolve-full-2 transevolve $words --blocks 2 --feed-forward full
SIZES

"$build/sluiced" --listen 127.0.0.1:0 --store "$scratch/store" --port-file "$scratch/port" --log-level error &
daemon=$!
tries=0
while [ ! -s "$scratch/port" ]; do
    tries=$((tries + 1))
    [ "$tries" -le 300 ] || { echo "sluiced does not come up" >&2; exit 1; }
    sleep 0.1
done

# measure MODEL: one line of the table
measure() {
    "$build/sluicectl" bench --url "http://127.0.0.1:$(cat "$scratch/port")" --classify "$scratch/texts.txt" \
        --model "$1" --connections 128 --seconds "${SECONDS_EACH:-8}" --json > "$scratch/result"
    python3 - "$1" "$scratch/result" "$scratch/peer" <<'PRINT'
import json, os, sys

name, path, peer = sys.argv[1:]
seen = json.load(open(path))
if not os.path.exists(peer):
    json.dump(seen, open(peer, "w"))
ratio = seen["texts_per_second"] / json.load(open(peer))["texts_per_second"]
print(
    f"{name:22} {seen['texts_per_second']:7.0f} texts/s {seen['tokens_per_second']:9.0f} tokens/s"
    f"  p99 {seen['latency_ms']['p99']:6.0f} ms  saved {100 * seen['layer_ops_skipped']:4.1f} %"
    f"  failed {seen['failed']}  x {ratio:.2f}"
)
PRINT
}

measure encoder-12
for model in "$scratch"/store/*; do
    name=$(basename "$model")
    grep -q '"labels"' "$model"/1/config.json || continue # a language model
    [ "$name" = encoder-12 ] || measure "$name"
done
