#!/bin/sh
# triton.sh - tritonclient, unmodified, against sluiced.
#
#     triton.sh SLUICED MODELS [FOLDER]
#
# MODELS is a store with the model `sentiment`. The client is installed into FOLDER, by default
# `triton` beside the daemon. Exits with 77 when Python, venv or the registry is not available.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
sluiced=$(realpath "$1")
models=$(realpath "$2")
folder=${3:-$(dirname "$sluiced")/triton}
client='tritonclient[http]==2.73.0'

skip() {
    echo "SKIPPED: $1"
    exit 77
}

command -v python3 >/dev/null || skip "the test of tritonclient needs python3"
mark=$folder/.sluice-client
if [ "$(cat "$mark" 2>/dev/null)" != "$client" ]; then
    rm -rf "$folder"
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    python3 -m venv "$folder" >"$log" 2>&1 || skip "the test of tritonclient needs python3-venv"
    if ! "$folder/bin/pip" install -q --retries 1 --timeout 60 "$client" >"$log" 2>&1; then
        grep -qE 'NewConnectionError|ConnectTimeout|ProxyError|SSLError|No matching distribution' "$log" &&
            skip "pip cannot reach its registry, or it has no tritonclient for this Python"
        cat "$log" >&2
        echo "pip install failed" >&2
        exit 1
    fi
    echo "$client" >"$mark"
    rm -f "$log"
    trap - EXIT
fi
exec "$folder/bin/python" "$here/triton.py" "$sluiced" "$models"
