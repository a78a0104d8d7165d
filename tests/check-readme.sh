#!/bin/sh
# check-readme.sh - runs what README.md and docs/training.md tell a reader to type.
#
#     tests/check-readme.sh TOP BUILD-DIR
#
# Every command of every ```sh block runs, against a daemon of the build with the bundled models.
# Changed are only: the port, the folder of the programs, and how long training lasts.
set -eu

top=$1
build=$2
scratch=$(mktemp -d)
trap 'kill "$daemon" 2>/dev/null || :; rm -rf "$scratch"' EXIT

"$build/sluiced" --config "$top/conf/sluiced.yaml" --store "$top/models" --listen 127.0.0.1:0 \
    --port_file "$scratch/port" --log_level error &
daemon=$!
tries=0
until [ -s "$scratch/port" ]; do
    tries=$((tries + 1))
    [ "$tries" -le 300 ] || { echo "sluiced does not come up" >&2; exit 1; }
    sleep 0.1
done
port=$(cat "$scratch/port")

mkdir "$scratch/build"
ln -s "$build" "$scratch/build/release"
i=0
while [ $i -lt 400 ]; do
    echo "Once there was line $i of a text that somebody had lying about."
    i=$((i + 1))
done >"$scratch/my.txt"

# The commands: lines of sh blocks, continued lines joined, comments cut, placeholders left out.
commands() {
    awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$@" |
        sed -e ':a' -e '/\\$/N; s/\\\n//; ta' -e 's/ *#.*//' | grep -v '^make \|\[\|DIR\|^$'
}

short='--steps 2 --batch 2 --width 32 --heads 2 --depth 2 --hidden 64 --context 32'
count=0
commands "$top/README.md" "$top/docs/training.md" >"$scratch/commands"
while IFS= read -r line; do
    case $line in
    *'sluice train'*) line="$line $short" ;;
    esac
    line=$(printf '%s' "$line" | sed "s/127.0.0.1:8080/127.0.0.1:$port/g")
    echo "+ $line"
    (cd "$scratch" && sh -c "$line") >"$scratch/out" 2>&1 </dev/null ||
        { cat "$scratch/out"; echo "failed: $line" >&2; exit 1; }
    ! grep -q '"error"' "$scratch/out" || { cat "$scratch/out"; exit 1; }
    count=$((count + 1))
done <"$scratch/commands"
[ "$count" -ge 5 ] || { echo "only $count commands found in README.md" >&2; exit 1; }
echo "$count commands"
