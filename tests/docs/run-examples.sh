#!/bin/sh
# run-examples.sh - runs what README.md, docs/training.md and docs/api.md tell a reader to type, and the
# clients in examples/.
#
#     tests/docs/run-examples.sh TOP BUILD-DIR
#
# Every command of every ```sh block runs, and every ```python and ```mjs block as a program,
# against a daemon of the build with the bundled models, other small models. Changed are only the
# port, the folder of the programs, and how long training and measuring last. A ```text block shows
# lines of the response to the command before it, a ```json block one line, broken for readers.
# `...` stands for digits, <ID> for letters and digits, <OTHER FIELDS> for some; the model's dtype is the machine's. At
# the end every endpoint must have been used. SLUICE_PROXY may be a command that puts a proxy before both listeners: it
# gets a file for its ports and their URLs.
set -eu

top=$(realpath "$1")
build=$(realpath "$2")
scratch=$(mktemp -d)
daemon=
proxy=
trap 'kill $daemon $proxy 2>/dev/null && wait; rm -rf "$scratch"' EXIT # a job of the daemon may still write
short='--steps 2 --batch-size 2 --width 32 --heads 2 --depth 2 --ffn-width 64 --context-length 32'

mkdir "$scratch/build" "$scratch/store"
ln -s "$build" "$scratch/build/release"
ln -s store "$scratch/models"
ln -s "$top"/models/* "$scratch/store"
mkdir "$scratch/store/ranker" "$scratch/store/tagger" "$scratch/store/filler" "$scratch/store/nli" "$scratch/store/smollm2"
cp -r "$top/tests/golden/pretrained/bert_ranker" "$scratch/store/ranker/1"
cp -r "$top/tests/golden/pretrained/bert_tagger" "$scratch/store/tagger/1"
cp -r "$top/tests/golden/pretrained/bert_masked" "$scratch/store/filler/1"
cp -r "$top/tests/golden/pretrained/bert_nli" "$scratch/store/nli/1"
cp -r "$top/tests/golden/pretrained/llama_chat" "$scratch/store/smollm2/1"
cp -r "$top/tests/golden/pretrained/bert" "$scratch/all-MiniLM-L6-v2"
i=0
while [ $i -lt 400 ]; do
    echo "Once there was line $i of a text that somebody had lying about." >>"$scratch/my.txt"
    printf 'positive\tWhat a lovely day, number %s.\nnegative\tFine. It rained %s times.\n' $i $i >>"$scratch/reviews.tsv"
    i=$((i + 1))
done
"$build/sluice" train tsa --data "$scratch/reviews.tsv" --label 1 --text 2 --output "$scratch/store/mood/1" \
    --run-dir "$scratch/run" $short >/dev/null

cp "$scratch/reviews.tsv" "$scratch/more.tsv"
"$build/sluiced" --config "$top/conf/run.yaml" --store "$scratch/store" --log-level error \
    --state "$scratch/state" \
    --listen 127.0.0.1:0 --admin-listen 'auto 127.0.0.1:0' --port-file "$scratch/port" &
daemon=$!
tries=0
until [ -s "$scratch/port" ]; do
    tries=$((tries + 1))
    [ "$tries" -le 300 ] || { echo "sluiced did not start" >&2; exit 1; }
    sleep 0.1
done
port=$(sed -n 1p "$scratch/port")
admin_port=$(sed -n 2p "$scratch/port")
if [ "${SLUICE_PROXY:-}" ]; then
    # shellcheck disable=SC2086 # a command with arguments
    $SLUICE_PROXY "$scratch/proxy.ports" "http://127.0.0.1:$port" "http://127.0.0.1:$admin_port" &
    proxy=$!
    tries=0
    until [ -s "$scratch/proxy.ports" ]; do
        tries=$((tries + 1))
        [ "$tries" -le 100 ] || { echo "the proxy did not start: $SLUICE_PROXY" >&2; exit 1; }
        sleep 0.1
    done
    port=$(sed -n 1p "$scratch/proxy.ports")
    admin_port=$(sed -n 2p "$scratch/proxy.ports")
fi
export SLUICE_URL="http://127.0.0.1:$port" SLUICE_ADMIN_URL="http://127.0.0.1:$admin_port"

# The commands: lines of sh blocks, without comments and placeholders. A line goes on after a
# backslash, and inside of quotes. A program goes into a file, and a command runs it; lines of
# answers stand behind "= ".
commands() {
    awk -v scratch="$scratch/" '
        /^```sh$/ { inside = 1; next }
        /^```(python|mjs)$/ {
            programs++
            file = "program" programs "." substr($0, 4)
            print (/python/ ? "python3 " : "node ") file
            next
        }
        /^```json$/ { json = 1; next }
        /^```text$/ { answered = 1; next }
        /^```/ {
            if (json) { print "= " joined; joined = "" }
            inside = answered = json = 0
            file = ""
        }
        file { print >(scratch file) }
        answered { print "= " $0 }
        json { sub(/^ +/, ""); joined = joined $0 }
        inside {
            sub(/ +#.*/, "")
            goes_on = sub(/\\$/, "")
            line = line $0
            if (!goes_on && gsub(/\047/, "&", line) % 2 == 0) { print line; line = "" }
        }' "$@" | grep -v '^make\b\|^sluice .*\[\|DIR\|^$'
}

# A line that is shown must be one that was answered; else the documents are to be changed.
expect() {
    pattern=$(printf '%s' "$1" | sed 's/[].[*^$\\]/\\&/g; s/\\\.\\\.\\\./[0-9.]*/g
        s/<ID>/[0-9A-Za-z]*/g
        s/<OTHER FIELDS>/.*/g
        s/"model_dtype":"bfloat16"/"model_dtype":"[a-z0-9]*"/')
    grep -qx -e "$pattern" "$scratch/out" && return
    echo "the document shows:  $1" >&2
    echo "what answered says:  $(cat "$scratch/out")" >&2
    exit 1
}

count=0
# docs/api.md names no model where there is one for the request.
printf '```sh\nbuild/release/sluicectl unload minilm\n```\n' >"$scratch/between.md"
commands "$top/README.md" "$scratch/between.md" "$top/docs/training.md" "$top/docs/api.md" >"$scratch/commands"
sed -i "s/127.0.0.1:8080/127.0.0.1:$port/g; s/127.0.0.1:8081/127.0.0.1:$admin_port/g" "$scratch"/program*
while IFS= read -r line; do
    case $line in
    '= '*) expect "${line#= }" && continue ;;
    *'sluice train --data'*) line="$line --overwrite" ;;
    *'sluice train'*) line="$(printf '%s' "$line" | sed 's/ --epochs [0-9]*//') $short --overwrite" ;;
    *'sluicectl bench'*) line="$line --seconds 0.2" ;;
    esac
    line=$(printf '%s' "$line" | sed "s/127.0.0.1:8080/127.0.0.1:$port/g; s/127.0.0.1:8081/127.0.0.1:$admin_port/g")
    echo "+ $line"
    (cd "$scratch" && sh -c "$line") >"$scratch/out" 2>"$scratch/err" </dev/null ||
        { cat "$scratch/out" "$scratch/err"; echo "failed: $line" >&2; exit 1; }
    ! grep -q '"error":[{"]' "$scratch/out" || { cat "$scratch/out"; exit 1; }
    count=$((count + 1))
done <"$scratch/commands"
[ "$count" -ge 5 ] || { echo "only $count commands found in README.md" >&2; exit 1; }
echo "$count commands"

# /metrics does not count itself.
curl -s "$SLUICE_URL/metrics" >"$scratch/metrics"
curl -s "$SLUICE_URL/" | sed 's/},{/}\n{/g' |
    sed -n 's/.*"method":"\([A-Z]*\)","path":"\([^"]*\)".*/\1 \2/p' |
    grep -v '^GET /metrics$' >"$scratch/endpoints"
[ -s "$scratch/endpoints" ] || { echo "GET / lists no endpoints" >&2; exit 1; }
while read -r method path; do
    grep -qF "http_requests_total{handler=\"$path\",method=\"$method\",status=\"200\"}" \
        "$scratch/metrics" || { echo "no example uses $method $path" >&2; exit 1; }
done <"$scratch/endpoints"
echo "$(wc -l <"$scratch/endpoints") endpoints"

# example RESPONSE COMMAND... - a client of examples/ must succeed and print a match for RESPONSE.
example() {
    want=$1
    shift
    "$@" "$SLUICE_URL" >"$scratch/out" 2>&1 || { cat "$scratch/out"; echo "failed: $*" >&2; exit 1; }
    grep -q "$want" "$scratch/out" || { cat "$scratch/out"; echo "$*: no '$want'" >&2; exit 1; }
}
example '"text_completion"' sh "$top/examples/requests.sh"
example '"label":"positive"' sh "$top/examples/requests.sh"
example "'label': 'positive'" python3 "$top/examples/client.py"
echo "2 clients of examples/"
