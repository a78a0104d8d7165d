#!/bin/sh
# bench_capacity.sh - what one core and two cores serve: the table of docs/operations.md.
#
#     tests/bench/bench_capacity.sh TEXTS.tsv [BUILD]
#
# TEXTS.tsv has a label TAB a text on each line. The models are those in models/, through HTTP. With one core the
# daemon runs on core 0 with --threads 1, and the client on core 1. With two, both share the two cores. Each of the ten
# measurements takes SECONDS_EACH seconds, or about as long.
set -eu

texts=$1
build=${2:-build/release}
seconds=${SECONDS_EACH:-8}
. tests/support/serve.sh
scratch=$(mktemp -d)
daemon=
trap 'kill $daemon 2>/dev/null || :; wait; rm -rf "$scratch"' EXIT

# Files often have one label behind the other, so the texts are taken from all over.
awk -v each="$(($(wc -l <"$texts") / 5000 + 1))" 'NR % each == 0' "$texts" | cut -f 2 >"$scratch/whole"
cut -d ' ' -f 1-20 "$scratch/whole" >"$scratch/short"

# bench OPTION... - on $client_cores; its result as JSON
bench() { taskset -c "$client_cores" "$build/sluicectl" bench --url "http://127.0.0.1:$port" --json "$@"; }

# classify NAME FILE OPTION...
classify() {
    name=$1 file=$2
    shift 2
    bench --classify "$scratch/$file" --model sentiment --seconds "$seconds" "$@" >"$scratch/$name.$cores"
}

# stream NAME CONNECTIONS REQUESTS-PER-SECOND TOKENS
stream() {
    bench --model shakespeare --connections "$2" --requests $(($3 * seconds)) --tokens "$4" >"$scratch/$1.$cores"
}

for cores in 1 2; do
    client_cores=1 daemon_cores=0
    [ $cores = 1 ] || client_cores=0,1 daemon_cores=0,1
    taskset -cp $daemon_cores $$ >"$scratch/log" # the daemon inherits it
    serve "$build/sluiced" "$scratch/port" --store models --state "" --admin-listen "" --threads $cores
    classify short short --connections 128
    classify batches short --connections 16 --texts 32
    classify whole whole --connections 128
    stream one 1 15 100
    stream many 64 100 100
    kill $daemon
    wait $daemon
    daemon=
done

python3 - "$scratch" <<'PRINT'
import json, sys

rows = (
    ("short", "`sentiment`, 20 words, one text per request", "texts"),
    ("batches", "`sentiment`, 20 words, 32 texts per request", "texts"),
    ("whole", "`sentiment`, whole reviews, one per request", "texts"),
    ("one", "`shakespeare`, 1 stream of 100 tokens at a time", "tokens"),
    ("many", "`shakespeare`, 64 streams of 100 tokens at a time", "tokens"),
)


def cell(name, unit, cores):
    seen = json.load(open(f"{sys.argv[1]}/{name}.{cores}"))
    if seen["failed"]:
        sys.exit(f"{name}: {seen['failed']} requests failed")
    p99 = seen["latency_ms"]["p99"]
    print(f"{name}, {cores}: the client used {seen['client_cpus']:.2f} CPUs", file=sys.stderr)
    return f"{seen[unit + '_per_second']:,.0f} {unit}/s, p99 {p99:,.0f} ms"


print("| load | 1 core | 2 cores, shared with the client |\n|---|---|---|")
for name, text, unit in rows:
    print(f"| {text} | {cell(name, unit, 1)} | {cell(name, unit, 2)} |")
PRINT
