#!/bin/sh
# bench_eam.sh - training steps of EAM beside those of the Transformer of its paper, taking turns.
#
#     tests/bench/bench_eam.sh [path to sluice [labelled texts.tsv]]
#
# One thread, the paper's recipe: width 128, texts of at most 256 words, 64 a step. Without labelled
# texts (label TAB text) it makes up some, 240 words each. One line for each level of instructions:
# seconds of the steps and their ratio (the paper: 4.38, of 5 epochs).
set -eu

sluice=${1:-${SLUICE:-build/release/sluice}}
rounds=${ROUNDS:-3}
steps=${STEPS:-30}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
data=${2:-$scratch/made-up.tsv}
[ $# -ge 2 ] || awk 'BEGIN { srand(1); for (i = 0; i < 8192; i++) { printf "%d\t", i % 2
    for (w = 0; w < 240; w++) printf "w%d ", int(10000 * rand() ^ 3); print "" } }' > "$data"

# seconds_of ARCHITECTURE [SIZES...]: of all steps, without reading and measuring
seconds_of() {
    rm -rf "$scratch/run"
    "$sluice" train "$@" --data "$data" --label 1 --text 2 --tokenizer words --vocab-size 10000 \
        --context-length 256 --steps "$steps" --batch-size 64 --micro-batch-size 16 --learning-rate 1e-3 --lr-schedule constant \
        --beta2 0.999 --weight-decay 0 --evaluate-every 0 --threads 1 --isa "$isa" --run-dir "$scratch/run" \
        --json | sed -n 's/^{"event":"saved".*"seconds":\([0-9.]*\).*/\1/p'
}

for isa in ${LEVELS:-avx2 avx512 amx}; do
    grep -q "${isa%x*}" /proc/cpuinfo || continue
    for _ in $(seq "$rounds"); do
        eam=$(seconds_of eam)
        transformer=$(seconds_of encoder --width 128 --depth 3 --heads 4 --ffn-width 1024 \
            --activation relu --final-norm false)
        echo "$eam $transformer"
    done | awk -v isa="$isa" '
        { eam += $1; transformer += $2; ratios = ratios sprintf(" %.2f", $2 / $1) }
        END { printf "%-6s  EAM %.2f s  Transformer %.2f s  ratio %.2f  (each time:%s)\n", isa,
              eam / NR, transformer / NR, transformer / eam, ratios }'
done
