#!/bin/sh
# run.sh - the programs' words, compared with what is kept here: each *.txt is a case.
#
#     tests/cli/run.sh [--update] [BUILD]      build/release, where nothing is said
#
# A case begins with a comment and a line "$ COMMAND". What follows is what the command says: lines of
# standard output, lines of standard error behind "! ", and its exit code. What differs from build to
# build or system to system is written as <VERSION>, <TEMP>, <SHA256> and <ENOENT>. --update writes
# what is said now: read the difference before you commit it.
set -eu
update=
[ "${1:-}" != --update ] || { update=1; shift; }
here=$(cd "$(dirname "$0")" && pwd)
top=$(realpath "$here/../..")
build=$(realpath "${1:-$top/build/release}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PATH="$build:$PATH" LC_ALL=C COLUMNS=79 TERM=dumb
unset SLUICE_URL SLUICE_CONFIG SLUICE_ISA SLUICE_MODELS || :
version=$(sluice --version | sed 's/[^0-9]*\([0-9][0-9.]*[0-9]\).*/\1/; s/[.]/[.]/g')

# What the case's command says now, below the lines that make the case.
say() {
    sed '/^\$ /q' "$1"
    command=$(sed -n 's/^\$ //p' "$1")
    code=0
    (cd "$scratch/work" && sh -c "$command") >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
    cat "$scratch/out"
    sed 's/^/! /' "$scratch/err"
    echo "exit code $code"
}

failures=0
for file in "$here"/*/*.txt; do
    rm -rf "$scratch/work"
    mkdir "$scratch/work"
    ln -s "$top/models" "$top/conf" "$scratch/work"
    say "$file" | sed "s/$version/<VERSION>/g; s|$scratch/work|<TEMP>|g; s/[0-9a-f]\{64\}/<SHA256>/g
        s/No such file or directory/<ENOENT>/g" >"$scratch/now"
    if [ "$update" ]; then
        cmp -s "$scratch/now" "$file" || { cp "$scratch/now" "$file"; echo "updated: ${file#"$top/"}"; }
    elif ! diff -u --label "${file#"$top/"}" --label now "$file" "$scratch/now"; then
        failures=$((failures + 1))
    fi
done
[ "$failures" -eq 0 ] && exit
echo "$failures cases differ. If that is meant: tests/cli/run.sh --update" >&2
exit 1
