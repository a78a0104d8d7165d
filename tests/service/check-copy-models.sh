#!/bin/sh
# check-copy-models.sh COPY-MODELS MODELS - the bundled models reach the service's store once, whole, and replace nothing.
set -eu
copy=$1
models=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
store=$scratch/store
fail() { echo "$*" >&2; exit 1; }

mkdir -p "$store/.copy.left" "$store/sentiment/1" # an interrupted copy, and a version of the user's
echo mine >"$store/sentiment/1/manifest.json"
"$copy" "$models" "$store"
"$copy" "$models" "$store"
cmp -s "$models/shakespeare/1/model.safetensors" "$store/shakespeare/1/model.safetensors" || fail "a model is missing"
[ "$(cat "$store/sentiment/1/manifest.json")" = mine ] || fail "a version that was there is replaced"
[ -z "$(find "$store" -name '.copy*')" ] || fail "a temporary directory is left"
