#!/bin/sh
# check-completion.sh BUILD TOP - completion offers commands, options and the names of a running daemon's models, in every
# shell that is here.
set -eu
build=$(realpath "$1")
top=$(realpath "$2")
scratch=$(mktemp -d)
daemon=
trap 'kill $daemon 2>/dev/null || :; rm -rf "$scratch"' EXIT
PATH=$build:$PATH
candidates=$top/clients/shell_completion
failed=0

"$build/sluiced" --config "$top/conf/run.yaml" --store "$top/models" --listen 127.0.0.1:0 --admin-listen "" --log-level error \
    --port-file "$scratch/port" &
daemon=$!
tries=0
until [ -s "$scratch/port" ]; do
    tries=$((tries + 1))
    [ $tries -le 300 ] || { echo "sluiced did not start" >&2; exit 1; }
    sleep 0.1
done
SLUICE_URL=http://127.0.0.1:$(cat "$scratch/port")
export PATH SLUICE_URL

for script in sluice.bash _sluice sluice.fish; do
    sed "s#@libexecdir@/sluice#$candidates#" "$candidates/$script.in" >"$scratch/$script"
done
cat >"$scratch/try.bash" <<'END'
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_sluice "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
printf '%s\n' "${COMPREPLY[@]}"
END

# expect WORD LINE...: completing the line offers the word
expect() {
    word=$1
    shift
    bash "$scratch/try.bash" "$scratch/sluice.bash" "$@" | grep -qxF -- "$word" ||
        { echo "bash: '$*' does not offer $word" >&2; failed=1; }
    command -v fish >/dev/null || return 0
    line=$(echo "$*" | sed 's/ = /=/')
    fish --no-config -c "source $scratch/sluice.fish; complete -C '$line'" | cut -f1 | sed 's/^--model=\(.\)/\1/' |
        grep -qxF -- "$word" || { echo "fish: '$line' does not offer $word" >&2; failed=1; }
}

expect bench sluicectl be
expect models sluicectl mo
expect sentiment sluicectl bench --model se
expect shakespeare sluicectl bench --model = sh
expect shakespeare sluicectl models sh
expect --model= sluicectl bench --mo
expect --no-stream sluicectl bench --no
expect train sluice tr
expect --learning-rate= sluice train --learning
expect --max-queue-size= sluiced --max-q
if command -v zsh >/dev/null; then
    zsh -n "$scratch/_sluice" || failed=1
fi
command -v fish >/dev/null || echo "not checked, for want of the shell: fish"
command -v zsh >/dev/null || echo "not checked, for want of the shell: zsh"
exit $failed
