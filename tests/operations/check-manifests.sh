#!/bin/sh
# check-manifests.sh BUILD TOP - the manifests for Kubernetes and KServe and the image: the daemon accepts what they tell it,
# and their probes and metrics exist. kubeconform.sh checks that Kubernetes accepts them.
set -eu
build=$(realpath "$1")
top=$(realpath "$2")
. "$top/tests/support/serve.sh"
scratch=$(mktemp -d)
daemon=
trap 'kill $daemon 2>/dev/null || :; wait; rm -rf "$scratch"' EXIT
fail() { echo "$*" >&2; exit 1; }
cd "$top/conf"

# The configuration inside of the ConfigMap.
sed -n '/^  sluiced.yaml: |$/,/^---$/p' kubernetes/sluice.yaml | sed -n 's/^    //p' |
    sed "s#/models#$top/models#; s#/run/sluice/#$scratch/#" >"$scratch/sluiced.yaml"
grep -q '^drain_delay:' "$scratch/sluiced.yaml" || fail "the ConfigMap was not understood"
"$build/sluiced" --check-config --config "$scratch/sluiced.yaml" >"$scratch/log"

# The daemon ends before Kubernetes kills it: its delay, its drain, and 15 s to flush and close.
number() { sed -n "s/^ *$1: \([0-9]*\)$/\1/p" kubernetes/sluice.yaml; }
[ "$(number terminationGracePeriodSeconds)" -ge $(($(number drain_delay) + $(number drain_timeout) + 15)) ] ||
    fail "terminationGracePeriodSeconds is too short"

# The environment of the image.
sed -n 's/^ENV //p; /^ENV/,/[^\\]$/p' Containerfile | grep -o 'SLUICE_[A-Z_]*=[^ ]*' |
    sed "s#=/models#=$top/models#; s#/run/sluice/#$scratch/#" | sort -u >"$scratch/environment"
[ "$(wc -l <"$scratch/environment")" -ge 4 ] || fail "the Containerfile was not understood"
# shellcheck disable=SC2046 # one word per variable
env $(cat "$scratch/environment") "$build/sluiced" --check-config >"$scratch/log"
# It copies the package that `make package` makes, and the models that it installs.
grep -q '^Package: sluice$' "$top/debian/control" || fail "there is no package sluice"

# The command of the KServe runtime serves a version that lies at /mnt/models.
sed -n '/^      args:$/,/^      env:$/p' kubernetes/kserve.yaml | sed -n 's/^ *- \(mkdir.*\)/\1/p; s/^          \(--.*\)/\1/p' |
    tr '\n' ' ' | sed "s#/mnt/models#$top/models/sentiment/1#; s#/tmp/store#$scratch/store#g; s#0.0.0.0:8080#127.0.0.1:0#
        s#\$#--port-file $scratch/port#" >"$scratch/command"
grep -q 'exec sluiced' "$scratch/command" || fail "the command of kserve.yaml was not understood"
MODEL=film PATH=$build:$PATH sh -c "$(cat "$scratch/command")" 2>"$scratch/log" &
daemon=$!
wait_until 600 test -s "$scratch/port" || { cat "$scratch/log" >&2; fail "the KServe runtime does not start"; }
url=http://127.0.0.1:$(cat "$scratch/port")
curl -sf "$url/v2/models/film/ready" >"$scratch/log" || fail "the KServe runtime does not serve its model"
for path in $(grep -oh 'path: /[a-z0-9/]*' kubernetes/*.yaml | cut -d' ' -f2 | sort -u); do
    [ "$path" = /metrics ] || curl -sf -o "$scratch/log" "$url$path" || fail "no answer at $path"
done
grep -o 'sluice_[a-z_]*_bucket' kubernetes/autoscaling.yaml | sed 's/_bucket$//' | while read -r metric; do
    grep -q "\"$metric\", SECONDS" "$top/server/core/metrics.def" || fail "$metric does not exist"
done
