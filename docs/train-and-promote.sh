#!/bin/sh
# train-and-promote.sh - trains a model in a daemon with curl alone, while trainer and daemon are killed; promotes it, and
# rolls it back. Clients of the model are served all the time.
#
#     docs/train-and-promote.sh [BUILD]
#
# BUILD is build/release by default. The script starts a daemon of its own, with a store and a state directory in a
# temporary folder, and takes half a minute.
#
# A supervisor holds the listening socket, as systemd does with sluiced.socket. So clients that connect while
# no daemon runs wait for the next one. A request that the daemon was answering when it was killed is lost: the client
# sends it again (curl --retry).
set -eu

build=$(realpath "${1:-build/release}")
folder=$(mktemp -d)
mkdir "$folder/store"
trap 'touch "$folder/stop"; kill -KILL $supervisor $(cat "$folder/pid") 2>/dev/null || :; wait; rm -rf "$folder"' EXIT

say() { printf '\n%s\n' "$*"; }
fail() { echo "$*" >&2; exit 1; }
# The value of the first member of this name in JSON on standard input.
member() { grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }
# The first id of a kind.
id() { grep -o "$1-[0-9a-f]*" | head -n 1; }
# Administration, through the admin listener's socket.
admin() {
    path=$1
    shift
    curl -s --retry 30 --retry-delay 1 --retry-all-errors --unix-socket "$folder/sluiced.sock" "http://localhost$path" "$@"
}

# What systemd does: listens, starts the daemon, and starts it again when it is killed.
cat >"$folder/supervise.py" <<'PYTHON'
import os, socket, sys
folder, command = sys.argv[1], sys.argv[2:]
listener = socket.create_server(("127.0.0.1", 0), backlog=128)
os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
with open(folder + "/port", "w") as file:
    print(listener.getsockname()[1], file=file)
killed = True
while killed and not os.path.exists(folder + "/stop"):
    pid = os.fork()
    if pid == 0:
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="inference")
        os.execv(command[0], command)
    with open(folder + "/pid", "w") as file:
        print(pid, file=file)
    killed = os.WIFSIGNALED(os.waitpid(pid, 0)[1])
PYTHON
python3 "$folder/supervise.py" "$folder" "$build/sluiced" --store "$folder/store" --state "$folder/state" \
    --log-level error &
supervisor=$!
until [ -s "$folder/port" ]; do sleep 0.1; done
url=http://127.0.0.1:$(cat "$folder/port")

# Labelled reviews: the second file says the opposite, so that its model answers otherwise.
for i in $(seq 100); do
    echo '{"text":"a lovely film, I liked it","label":"positive"}'
    echo '{"text":"a dull film, it bored me","label":"negative"}'
done >"$folder/first.jsonl"
sed 's/positive/swap/; s/negative/positive/; s/swap/negative/' "$folder/first.jsonl" >"$folder/second.jsonl"

# start FILE: uploads it and starts a job, whose id is on standard output.
start() {
    file=$(admin /v1/files -F purpose=fine-tune -F "file=@$1" | id file)
    admin /v1/fine_tuning/jobs -H 'Content-Type: application/json' -d '{"model":"encoder",
        "training_file":"'"$file"'", "suffix":"opinion", "seed":1, "hyperparameters":{"n_epochs":40, "batch_size":8,
        "width":32, "depth":1, "heads":2, "ffn_width":64, "context_length":32, "learning_rate":0.005,
        "save_every":20, "evaluate_every":100}}' | id ftjob
}
# The job's events, as they come, until it has ended.
watch() { admin "/v1/fine_tuning/jobs/$1/events?stream=true" -N | grep -o '"message":"[^"]*"' | cut -d '"' -f 4; }
# wait_for JOB TEXT: until one of its events says so.
wait_for() {
    for _ in $(seq 1200); do
        admin "/v1/fine_tuning/jobs/$1/events?limit=1000" | grep -qF "$2" && return
        sleep 0.05
    done
    fail "waited in vain for: $2"
}
published() { admin "/v1/fine_tuning/jobs/$1" | member fine_tuned_model; }
digest() { admin "/v1/models/$1" | member sha256; }

ask() {
    curl -s --fail --retry 30 --retry-delay 1 --retry-all-errors "$url/models/opinion/predict" \
        -H 'Content-Type: application/json' -d '{"inputs":"a lovely film, I liked it"}'
}
# Clients ask all the time. A line for each answer, or for the lack of one.
traffic() {
    while [ ! -e "$folder/stop" ]; do
        if answer=$(ask 2>&1); then echo "$answer" | member label; else echo "failed: $answer"; fi
    done >>"$folder/traffic"
}

say 'A first version. It serves at once, because the model is new.'
job=$(start "$folder/first.jsonl")
watch "$job" | tail -n 3
first=$(published "$job")
echo "$first answers: $(ask | member label)"
traffic &
clients=$!

say 'A second version is trained without an interruption. Nothing changes for clients.'
job=$(start "$folder/second.jsonl")
watch "$job" | tail -n 3
whole=$(digest "$(published "$job")")

say 'The same again, with kill -9.'
job=$(start "$folder/second.jsonl")
wait_for "$job" 'New checkpoint saved at step 40'
daemon=$(cat "$folder/pid")
kill -KILL "$(grep -l "^PPid:.$daemon\$" /proc/[0-9]*/status | cut -d / -f 3 | head -n 1)"
echo 'the trainer was killed'
wait_for "$job" 'killed by signal 9'
wait_for "$job" 'New checkpoint saved at step 200'
kill -KILL "$daemon"
echo 'the daemon was killed'
wait_for "$job" 'The daemon has started again'
watch "$job" | grep -v -e '^Step ' -e checkpoint
second=$(published "$job")
[ "$(digest "$second")" = "$whole" ] || fail 'the bits differ from those of the uninterrupted run'
echo "$second has the bits of the uninterrupted run: $whole"
before=$(ask | member label)
echo "before promotion: $before"

say 'Promoted: the same endpoint answers otherwise.'
admin /v1/models/opinion/labels/stable -X PUT -H 'Content-Type: application/json' -d "{\"version\":${second#*@}}"
promoted=$(ask | member label)
echo "
after promotion: $promoted"

say 'Rolled back.'
admin /v1/models/opinion/rollback -X POST -H 'Content-Type: application/json' -d '{}'
after=$(ask | member label)
echo "
after the rollback: $after"

touch "$folder/stop"
wait "$clients"
say "Requests of clients meanwhile: $(wc -l <"$folder/traffic"), failed: $(grep -c '^failed' "$folder/traffic" || :)"
[ "$(grep -vcx -e positive -e negative "$folder/traffic")" -eq 0 ] || fail "$(grep -vx -e positive -e negative "$folder/traffic" | head -n 3)"
[ "$before" = "$after" ] && [ "$before" != "$promoted" ]
