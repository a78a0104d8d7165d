#!/bin/sh
# check-words.sh TOP BUILD - what users read has the field's words: every --help, `sluice inspect`, the
# sample configuration and the documents use none of the words of words.gone. Rows that end in
# `everywhere` hold for sources, comments and tests, too.
#
#     tests/lint/check-words.sh --self-test      shows it a text with each of the words
set -eu
here=$(cd "$(dirname "$0")" && pwd)

# check NAME [FILE...] - prints the lines of a text, by default standard input, that have a word of words.gone, and what to say
# instead; exits with 1 when there is one, and with 2 when awk fails, at an invalid expression say. An option is itself and nothing longer; a word may be
# a part of a name, as price is of kl_weight.
check() {
    name=$1
    shift
    awk -v text="$name" '
        NR == FNR {
            if (/^[^#]/ && (text || /\| *everywhere$/)) { split($0, part, / *\| */); gone[part[1]] = part[2] }
            next
        }
        {
            line = " " tolower($0) " "
            for (word in gone) {
                around = word ~ /^--/ ? "[^-a-z0-9_]" : text ? "[^a-z0-9]" : "[^a-z0-9_]"
                if (line ~ around word around) {
                    printf "%s:%d: \"%s\" is gone: %s\n    %s\n", text ? text : FILENAME, FNR, word,
                        gone[word], $0
                    found = 1
                }
            }
        }
        END { exit found }' "$here/words.gone" "${@:--}"
}

if [ "$1" = --self-test ]; then
    sed -n '/^[^#]/{s/ *|.*//; s/\[-_\]/-/g; s/?//g; p}' "$here/words.gone" >"${TMPDIR:-/tmp}/words.$$"
    while read -r word; do
        code=0
        echo "with $word in it" | check self-test >/dev/null || code=$?
        [ "$code" = 1 ] || { echo "not found: $word (awk exits with $code)"; exit 1; }
    done <"${TMPDIR:-/tmp}/words.$$"
    rm "${TMPDIR:-/tmp}/words.$$"
    echo "--learning-rate, --rated, shared and generate are well" | check self-test
    exit
fi

top=$1
build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

# said NAME COMMAND... - checks what a command prints.
said() {
    name=$1
    shift
    "$@" >"$scratch/text" || { echo "failed: $*" >&2; exit 1; }
    [ -s "$scratch/text" ] || { echo "said nothing: $*" >&2; exit 1; }
    code=0
    check "$name" <"$scratch/text" || code=$?
    [ "$code" -le 1 ] || { echo "check-words.sh: awk fails on words.gone" >&2; exit 2; }
    [ "$code" = 0 ] || status=1
}

# The commands that a --help lists: its lines that begin with the program's name.
commands() {
    "$build/$1" --help | sed -n "s/^ *$1 \([a-z][a-z]*\) .*/\1/p" | sort -u
}

for program in sluice sluicectl sluiced; do
    said "$program --help" "$build/$program" --help
done
for program in sluice sluicectl; do
    [ "$(commands $program | wc -l)" -ge 5 ] || { echo "$program --help lists no commands" >&2; exit 1; }
    for command in $(commands $program); do
        said "$program $command --help" "$build/$program" "$command" --help
    done
done
for arch in $(sed -n 's/^SL_ARCH(\([a-z_0-9]*\).*/\1/p' "$top/engine/arch/archs.def"); do
    said "sluice train $arch --help" "$build/sluice" train "$arch" --help
done
for model in "$top"/models/*/*; do
    said "sluice inspect ${model#"$top/"}" "$build/sluice" inspect "$model"
done
said "sluiced --sample-config" "$build/sluiced" --sample-config
for file in "$top"/conf/*.yaml "$top"/*.md "$top"/docs/*.md "$top"/examples/README.md; do
    said "${file#"$top/"}" cat "$file"
done

# The sources: check without a name takes the rows for everywhere.
find "$top"/include "$top"/engine "$top"/server "$top"/clients "$top"/tests "$top"/conf "$top"/systemd \
    -regex '.*[.]\([ch]\|def\|sh\|py\|yaml\|service\|socket\)' >"$scratch/sources"
[ "$(wc -l <"$scratch/sources")" -ge 500 ] || { echo "hardly any source found" >&2; exit 1; }
code=0
# shellcheck disable=SC2046 # names without blanks
check '' $(cat "$scratch/sources") || code=$?
[ "$code" -le 1 ] || { echo "check-words.sh: awk fails on the sources" >&2; exit 2; }
[ "$code" = 0 ] || status=1
exit $status
