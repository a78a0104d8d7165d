#!/bin/sh
# check-claims.sh TOP BUILD - README.md stays short, and what it and docs/ claim is so:
#
#     at most 111 lines besides the rows of architectures
#     each number of its comparison stands in docs/results.md
#     docs/papers.md has the results in docs/experiments/
#     its table of architectures lists what `sluice train --help` lists, for the same tasks
#     the other address that it suggests for `make run` is not taken by conf/run.yaml
#     each command of its table of guarantees runs a test, which passes
#     in all documents, each option is one of some --help; each name with an underscore is in the sources;
#     each path of a URL is in the route table; each file, linked file and heading exists
#     docs/api.md has every field of a request, every error code, and no unknown metric
set -eu
top=$(realpath "$1")
build=$(realpath "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
fail() {
    echo "$*" >&2
    failed=1
}

# The results of the papers' tables are those of the files beside it.
marker='What follows is the output of'
(cd "$top/docs" && "$build/sluice" reproduce --page experiments/*/*.json) > "$scratch/results" || fail "docs/experiments/"
sed "1,/^$marker/d" "$top/docs/papers.md" | tail -n +2 | cmp -s - "$scratch/results" ||
    fail "docs/papers.md does not end with the output of: cd docs && sluice reproduce --page experiments/*/*.json"

# Each architecture has a row of its own.
[ "$(grep -vc '^| `[a-z_]*` |.*| \(yes\|no\) |' "$top/README.md")" -le 111 ] ||
    fail "README.md has more than 111 lines besides the rows of architectures"

# section NAME: the lines of a section of README.md
section() { awk -v title="## $1" '/^## / { inside = $0 == title } inside' "$top/README.md"; }

# The other port that it suggests is free of `make run` itself.
other=$(grep -o 'SLUICE_LISTEN=[0-9.:]*' "$top/README.md" | sed 's/.*=//')
[ -n "$other" ] || fail "README.md: no SLUICE_LISTEN"
! grep -qF "$other" "$top/conf/run.yaml" || fail "README.md: conf/run.yaml listens at $other, too"

section 'Compared with fastText' | grep -o '[0-9][0-9,.]*[0-9]\( %\| MB\| s\)' >"$scratch/numbers"
[ "$(wc -l <"$scratch/numbers")" -ge 10 ] || fail "README.md: the comparison has hardly any number"
while read -r number; do
    grep -qF "$number" "$top/docs/results.md" || fail "README.md: '$number' is not in docs/results.md"
done <"$scratch/numbers"

# name, then yes or no for each task, as in the rows of README.md
listed=$(section Architectures | sed -n 's/^| `\([a-z_]*\)` |[^|]*| \([a-z]*\) | \([a-z]*\) |.*/\1 \2 \3/p')
actual=$("$build/sluice" train --help | awk '
    /rchitectures/ { inside = 1; next }
    inside && /^ *$/ { exit }
    inside && /^  [a-z]/ { name = $1; order[++count] = name; next }
    inside && /[(]completes/ { completes[name] = 1 }
    inside && /classifies/ { classifies[name] = 1 }
    END {
        for (i = 1; i <= count; i++)
            print order[i], completes[order[i]] ? "yes" : "no", classifies[order[i]] ? "yes" : "no"
    }')
[ "$listed" = "$actual" ] ||
    fail "README.md: its architectures differ from those of sluice train --help:" "$listed" / "$actual"

for folder in $(cd "$top/engine/arch" && ls -d */); do
    grep -q "^| \`$folder\` |" "$top/ARCHITECTURE.md" ||
        fail "ARCHITECTURE.md: no row for engine/arch/$folder"
done

guarantees=$(section Guarantees | sed -n "s/.*| \`\(test_[a-z_]* --filter\) '\(.*\)'\` |/\1 \2/p")
[ "$(echo "$guarantees" | wc -l)" -ge 4 ] || fail "README.md: guarantees without a command"
echo "$guarantees" | while read -r test option filter; do
    "$build/tests/$test" "$option" "$filter" --color=never >"$scratch/run" 2>&1 &&
        grep -q 'Passing: [1-9]' "$scratch/run" ||
        { cat "$scratch/run" >&2; echo "README.md: not so: $test $option $filter" >&2; exit 1; }
done || failed=1

# Options: those of every --help; the others are of Criterion, chown and tests/cli/run.sh
programs() {
    for command in $("$build/sluice" --help | sed -n 's/^  sluice \([a-z-]*\).*/\1/p'); do
        "$build/sluice" $command --help
    done
    echo "$actual" | while read -r name _; do "$build/sluice" train "$name" --help; done
    for command in $("$build/sluicectl" --help | sed -n 's/^  sluicectl \([a-z-]*\).*/\1/p'); do
        "$build/sluicectl" $command --help
    done
    "$build/sluiced" --help
    echo ' --filter --update --reference'
}
programs | grep -o -- '--[a-z][a-z0-9-]*' | sort -u >"$scratch/options"
grep -oh -- '[ `(]--[a-z][a-z0-9-]*' "$top"/*.md "$top"/docs/*.md | tr -d ' `(' | sort -u |
    comm -23 - "$scratch/options" >"$scratch/unknown"
[ ! -s "$scratch/unknown" ] || fail "unknown options in the documents:" "$(cat "$scratch/unknown")"

# The HTTP API: fields that are accepted, codes, metrics
need_in_api() {
    while read -r name; do
        grep -q "[\`.\"]$name[\`.\"]" "$top/docs/api.md" || echo "docs/api.md: no $1 '$name'"
    done <"$scratch/names" >"$scratch/missing"
    [ ! -s "$scratch/missing" ] || fail "$(cat "$scratch/missing")"
}
grep -oh '^ *SV_[A-Z]*_*FIELD("[a-z_]*"' "$top"/server/json/*.[ch] "$top"/server/params/*.[ch] | grep -v UNSUPPORTED | cut -d '"' -f 2 | sort -u \
    >"$scratch/names"
need_in_api field
tr -d '\n' <"$top/server/core/request_error.def" | grep -o 'SV_ERROR([^)]*)' | grep -v 499 | cut -d '"' -f 4,6 |
    tr '"' '\n' | sort -u >"$scratch/names"
need_in_api 'error code'
grep -o '`sluice_[a-z_]*`' "$top/docs/api.md" | tr -d '`' | while read -r name; do
    grep -q "\"$name\"" "$top/server/core/metrics.def" || { echo "docs/api.md: no such metric: $name" >&2; exit 1; }
done || failed=1

# In `code` of all documents: names with an underscore (options, fields, metrics, programs), endpoints, files
grep -oh '`[^`]*`' "$top"/*.md "$top"/docs/*.md | tr -d '`' | sed 's/^[A-Z]* //; s/ .*//' | sort -u >"$scratch/code"
grep -xE '[a-z][a-z0-9]*(_[a-z0-9]+)+' "$scratch/code" >"$scratch/names"
{
    grep -rhoE '["'"'"'][a-z][a-z0-9_]*["'"'"']|[a-z][a-z0-9_]*[?]?:|[(,] ?[a-z][a-z0-9_]*' "$top"/engine "$top"/server "$top"/clients --include='*.[ch]' \
        --include='*.def' | grep -oE '[a-z][a-z0-9]*(_[a-z0-9]+)+'
    find "$top/tests" -name '*.c' | sed 's,.*/,,; s/\.c$//'
    echo huggingface_hub
    echo memeql_sec
} | sort -u | comm -23 "$scratch/names" - >"$scratch/unknown"
[ ! -s "$scratch/unknown" ] || fail "unknown names in the documents:" "$(cat "$scratch/unknown")"
tr -d '\n' <"$top/server/api/endpoint_table.def" | grep -oE 'SV_[A-Z_]*\([a-z_]*, *"[A-Z]*", *"[^"]*' |
    sed 's/.*"//' >"$scratch/routes"
[ "$(wc -l <"$scratch/routes")" -ge 40 ] || fail "server/api/endpoint_table.def: hardly any route found"
sed 's,{[a-z]*},[^/]*,g' "$scratch/routes" >"$scratch/patterns"
grep '^/[a-z0-9]' "$scratch/code" | grep -v '^/\(etc\|var\|run\|usr\)/' | grep -vxf "$scratch/patterns" |
    while read -r path; do
        grep -qF "$path/" "$scratch/routes" || { echo "no such endpoint: $path" >&2; exit 1; }
    done || failed=1
grep -E '^(base|core|json|http|serve|engine|server|clients|tests|docs|conf|include|systemd|examples)/[^*]*$' \
    "$scratch/code" | grep -v NAME | while read -r file; do
    ls -d "$top/$file" "$top/engine/$file"* "$top/server/$file"* 2>/dev/null | grep -q . ||
        { echo "no such file: $file" >&2; exit 1; }
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
