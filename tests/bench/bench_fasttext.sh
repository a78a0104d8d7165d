#!/bin/sh
# bench_fasttext.sh - a classifier beside fastText, on the same labelled texts.
#
#     tests/bench/bench_fasttext.sh TRAIN.tsv TEST.tsv LABELS.tsv MODEL-DIR [BUILD]
#
# TRAIN.tsv and TEST.tsv have a label, a tab and a text on each line. LABELS.tsv maps their labels to the
# model's (LABEL TAB MODEL'S LABEL); `-` if they are the same. fastText (Debian package `fasttext`) is trained on
# TRAIN.tsv with FASTTEXT_OPTIONS. Its texts are shuffled, because it does not shuffle itself, lower-cased, and
# their punctuation is split off. Both classify TEST.tsv with one thread. Times are CPU seconds, which hardly
# change when the machine is busy, and include loading the model.
set -eu

train=$1
test=$2
labels=$3
model=$4
build=${5:-build/release}
options=${FASTTEXT_OPTIONS:--wordNgrams 2 -lr 0.5 -epoch 25 -dim 100 -minCount 2}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

prepare() {
    tr '[:upper:]' '[:lower:]' <"$1" | sed 's/[[:punct:]]/ & /g; s/^ *\([^\t]*\)\t/__label__\1 /'
}

# cpu COMMAND...: runs it, output to $scratch/out, CPU seconds to $scratch/cpu
cpu() {
    python3 - "$scratch" "$@" <<'RUN'
import resource, subprocess, sys

scratch, command = sys.argv[1], sys.argv[2:]
with open(scratch + "/out", "w") as out:
    subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{used.ru_utime + used.ru_stime:.1f}", file=open(scratch + "/cpu", "w"))
RUN
}

megabytes() { du -cb "$@" | awk 'END { printf "%.1f", $1 / 1e6 }'; }

row() { printf '%-10s %8s %% %10s MB %14s s %12s s\n' "$@"; }

prepare "$train" | shuf --random-source="$train" >"$scratch/train.txt"
prepare "$test" >"$scratch/test.txt"
printf '%-10s %10s %13s %16s %14s\n' '' accuracy 'model size' 'to classify' 'to train'
# shellcheck disable=SC2086 # a list of options
cpu fasttext supervised -input "$scratch/train.txt" -output "$scratch/model" $options
trained=$(cat "$scratch/cpu")
cpu fasttext test "$scratch/model.bin" "$scratch/test.txt"
row fastText "$(awk '$1 == "P@1" { printf "%.2f", 100 * $2 }' "$scratch/out")" \
    "$(megabytes "$scratch/model.bin")" "$(cat "$scratch/cpu")" "$trained"
[ "$labels" = - ] && labels= || labels=$(realpath "$labels")
cpu "$build/sluice" eval "$model" --data "$test" --label 1 --text 2 ${labels:+--labels "$labels"} --threads 1 --json
row "$(basename "$(dirname "$model")")" \
    "$(python3 -c 'import json, sys; print("%.2f" % (100 * json.load(sys.stdin)["accuracy"]))' <"$scratch/out")" \
    "$(megabytes "$model"/*)" "$(cat "$scratch/cpu")" -
