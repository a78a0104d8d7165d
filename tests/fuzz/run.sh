#!/usr/bin/env bash
# run.sh BUILD SECONDS [TARGET...] - searches with each fuzz target in turn, for SECONDS each.
#
# Starts from tests/corpus and from what earlier runs found. New inputs go to BUILD/corpus, inputs that
# break a promise to BUILD/findings, and what the fuzzer says to BUILD/TARGET.log. Exit status: 1 if there
# was a finding. A finding that is mended joins tests/corpus, so that every build replays it.
set -euo pipefail
build=$1 seconds=$2
shift 2
corpus=$(cd "$(dirname "${BASH_SOURCE[0]}")/../corpus" && pwd)
[ $# -gt 0 ] || set -- "$build"/tests/fuzz_*
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1

# search TARGET: 0 if nothing was found.
search() {
    local name=${1##*/fuzz_}
    mkdir -p "$build/corpus/$name" "$build/findings"
    "$build/tests/fuzz_$name" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$build/findings/$name-" "$build/corpus/$name" "$corpus/$name" >"$build/$name.log" 2>&1
}

failed=0
for target; do
    name=${target##*/fuzz_}
    if search "$target"; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log")
        echo "$name: nothing in ${runs:-0} runs"
    else
        echo "$name: FAILED, see $build/$name.log"
        sed -n '/SUMMARY\|ERROR:\|Test unit written/p' "$build/$name.log" | sed 's/^/    /'
        failed=1
    fi
done
exit $failed
