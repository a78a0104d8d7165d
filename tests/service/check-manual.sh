#!/bin/sh
# check-manual.sh PAGES BIN-DIR - every program and every command has a manual page, and none gives a warning. 77: the pages
# were not built, or nothing here can check them.
set -eu
pages=$1
bin=$2
[ -f "$pages/sluiced.8" ] || { echo "skipped: no manual pages (help2man was missing)" >&2; exit 77; }
command -v man >/dev/null || command -v mandoc >/dev/null || { echo "skipped: neither man nor mandoc" >&2; exit 77; }
failed=0
fail() {
    echo "$*" >&2
    failed=1
}

for page in sluiced.8 sluice.1 sluicectl.1; do
    [ -f "$pages/$page" ] || fail "missing: $page"
done
for program in sluice sluicectl; do
    for command in $("$bin/$program" --help | sed -n "s/^  $program \([a-z-]*\).*/\1/p"); do
        [ -f "$pages/$program-$command.1" ] || fail "missing: $program-$command.1"
    done
done
"$bin/sluiced" --help | grep -o '^ *--[a-z-]*' | tr -d ' ' | while read -r option; do
    escaped=$(printf %s "$option" | sed 's/-/\\-/g')
    grep -qF -- "$escaped" "$pages/sluiced.8" || { echo "sluiced.8 lacks $option" >&2; exit 1; }
done || failed=1
for page in "$pages"/*; do
    if command -v man >/dev/null; then
        complaints=$(LC_ALL=C.UTF-8 man --warnings -l "$page" 2>&1 >/dev/null) || :
        [ -z "$complaints" ] || fail "$complaints"
    fi
    if command -v mandoc >/dev/null; then
        complaints=$(mandoc -T lint -W warning "$page") || fail "$complaints"
    fi
done
exit $failed
