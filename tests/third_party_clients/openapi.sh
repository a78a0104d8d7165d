#!/bin/sh
# openapi.sh - the OpenAPI document against its standard, against the daemon, and as the source of a client.
#
#     openapi.sh TOP BUILD [FOLDER]
#
# The validator and the generator are installed into FOLDER, by default `openapi` in BUILD. Exits with 77 when Python,
# venv or the registry is not available. openapi.py checks the document, errors and a generated client; then every
# example of the documents runs through a proxy that checks requests and responses.
set -eu

top=$(realpath "$1")
build=$(realpath "$2")
folder=${3:-$build/openapi}
here=$top/tests/third_party_clients

. "$here/venv.sh"
venv "$folder" openapi-spec-validator==0.9.0 openapi-python-client==0.29.1
"$folder/bin/python" "$here/openapi.py" "$top" "$build"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
SLUICE_PROXY="$folder/bin/python $here/openapi_contract.py" sh "$top/tests/docs/run-examples.sh" "$top" "$build" \
    >"$log" 2>&1 || status=$?
# A client may not mind a response that says so.
! grep '"message": "Breach' "$log" || status=1
[ "$status" -eq 0 ] || cat "$log"
exit "$status"
