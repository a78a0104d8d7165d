#!/bin/sh
# train-and-promote.sh - trains a model in a running daemon with curl alone, promotes it, and rolls
# it back.
#
#     docs/train-and-promote.sh [URL] [ADMIN-URL]
#
# By default those of `make run`. The daemon needs the option `state`. It makes two versions of a model
# named `opinion` from a few generated reviews, which takes seconds.
set -eu

url=${1:-http://127.0.0.1:8080}
admin=${2:-http://127.0.0.1:8081}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The value of the first member of this name in JSON on standard input.
member() { grep -o "\"$1\":\"[^\"]*\"" | head -n 1 | cut -d '"' -f 4; }
# The first id of a kind.
id() { grep -o "$1-[0-9a-f]*" | head -n 1; }
say() { printf '\n%s\n' "$*"; }

# Labelled reviews: the second file says the opposite, so that its model answers otherwise.
for i in $(seq 100); do
    echo '{"text":"a lovely film, I liked it","label":"positive"}'
    echo '{"text":"a dull film, it bored me","label":"negative"}'
done >"$folder/first.jsonl"
sed 's/positive/swap/; s/negative/positive/; s/swap/negative/' "$folder/first.jsonl" >"$folder/second.jsonl"

# train FILE: uploads it, starts a job, shows its last events. The job's name for its model is on the last line.
train() {
    file=$(curl -sS "$admin/v1/files" -F purpose=fine-tune -F "file=@$1" | id file)
    job=$(curl -sS "$admin/v1/fine_tuning/jobs" -H 'Content-Type: application/json' -d '{"model":"encoder",
        "training_file":"'"$file"'", "suffix":"opinion", "seed":1, "hyperparameters":{"n_epochs":8, "batch_size":8,
        "width":32, "depth":1, "heads":2, "ffn_width":64, "context_length":32, "learning_rate":0.005}}' | id ftjob)
    curl -sSN "$admin/v1/fine_tuning/jobs/$job/events?stream=true" >/dev/null
    curl -sS "$admin/v1/fine_tuning/jobs/$job/events?limit=4" | grep -o '"message":"[^"]*"' >&2
    curl -sS "$admin/v1/fine_tuning/jobs/$job" | member fine_tuned_model
}

ask() {
    curl -sS "$url/models/opinion/predict" -H 'Content-Type: application/json' \
        -d '{"inputs":"a lovely film, I liked it"}' | member label
}

say 'A first version. It serves at once, because the model is new.'
first=$(train "$folder/first.jsonl")
echo "$first answers: $(ask)"

say 'A second one is trained beside it. Nothing changes for clients.'
second=$(train "$folder/second.jsonl")
before=$(ask)
echo "after training $second: $before"

say 'Promoted: the same endpoint answers otherwise.'
curl -sS -X PUT "$admin/v1/models/opinion/labels/stable" -H 'Content-Type: application/json' \
    -d "{\"version\":${second#*@}}"
promoted=$(ask)
echo "
after promotion: $promoted"

say 'Rolled back.'
curl -sS -X POST "$admin/v1/models/opinion/rollback" -H 'Content-Type: application/json' -d '{}'
after=$(ask)
echo "
after the rollback: $after"

[ "$before" = "$after" ] && [ "$before" != "$promoted" ]
