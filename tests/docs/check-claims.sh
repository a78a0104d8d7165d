#!/bin/sh
# check-claims.sh TOP BUILD - README.md stays short, and what it claims is so:
#
#     at most 120 lines, and every linked file and heading exists, in docs/ too
#     each number of its comparison stands in docs/results.md
#     its table of architectures lists what `sluice train --help` lists, for the same tasks
#     each command of its table of guarantees runs a test, which passes
set -eu
top=$(realpath "$1")
build=$(realpath "$2")
failed=0
fail() {
    echo "$*" >&2
    failed=1
}

[ "$(wc -l <"$top/README.md")" -le 120 ] || fail "README.md has more than 120 lines"

# section NAME: the lines of a section of README.md
section() { awk -v title="## $1" '/^## / { inside = $0 == title } inside' "$top/README.md"; }

section 'Compared with fastText' | grep -o '[0-9][0-9,.]*[0-9]\( %\| MB\| s\)' >"${TMPDIR:-/tmp}/claims.$$"
[ "$(wc -l <"${TMPDIR:-/tmp}/claims.$$")" -ge 10 ] || fail "README.md: the comparison has hardly any number"
while read -r number; do
    grep -qF "$number" "$top/docs/results.md" || fail "README.md: '$number' is not in docs/results.md"
done <"${TMPDIR:-/tmp}/claims.$$"
rm "${TMPDIR:-/tmp}/claims.$$"

# name, then yes or no for each task, as in the rows of README.md
listed=$(section Architectures | sed -n 's/^| `\([a-z_]*\)` |[^|]*| \([a-z]*\) | \([a-z]*\) |.*/\1 \2 \3/p')
actual=$("$build/sluice" train --help | awk '
    /rchitectures/ { inside = 1; next }
    inside && /^ *$/ { exit }
    inside && /^  [a-z]/ { name = $1; order[++count] = name }
    inside && /completes/ { completes[name] = 1 }
    inside && /classifies/ { classifies[name] = 1 }
    END {
        for (i = 1; i <= count; i++)
            print order[i], completes[order[i]] ? "yes" : "no", classifies[order[i]] ? "yes" : "no"
    }')
[ "$listed" = "$actual" ] ||
    fail "README.md: its architectures differ from those of sluice train --help:" "$listed" / "$actual"

guarantees=$(section Guarantees | sed -n "s/.*| \`\(test_[a-z_]* --filter\) '\(.*\)'\` |/\1 \2/p")
[ "$(echo "$guarantees" | wc -l)" -ge 4 ] || fail "README.md: guarantees without a command"
echo "$guarantees" | while read -r test option filter; do
    "$build/tests/$test" "$option" "$filter" 2>&1 | grep -q 'Tested: .*[1-9]\S* | Passing: .*Failing: .*0.* | Crashing: .*0' ||
        { echo "README.md: not so: $test $option $filter" >&2; exit 1; }
done || failed=1

# Links: [text](file#heading), relative to the file that has them
anchors() { sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9_ -]//g; s/ /-/g'; }
for page in "$top"/*.md "$top"/docs/*.md; do
    grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//' | grep -v '^https\?:' | while read -r link; do
        file=${link%%#*}
        target=$(dirname "$page")/$file
        [ -n "$file" ] || target=$page
        [ -e "$target" ] || { echo "$page: no such file: $link" >&2; exit 1; }
        case $link in
        *#*) anchors "$target" | grep -qx -e "${link#*#}" ||
            { echo "$page: no such heading: $link" >&2; exit 1; } ;;
        esac
    done || failed=1
done
exit $failed
