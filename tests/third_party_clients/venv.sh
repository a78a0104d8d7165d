# venv.sh - for scripts of this folder, which read it with `.`: Python packages from their registry, or the reason
# for skipping a test without them.

skip() {
    echo "SKIPPED: $1"
    exit 77
}

# venv FOLDER PACKAGE... - a virtual environment with these packages. What is there already is kept. All are filled by
# one pip, beside FOLDER: installing that takes as long as most packages do. Modules are compiled when they are used.
venv() {
    folder=$1
    shift
    command -v python3 >/dev/null || skip "the test of $1 needs python3"
    mark=$folder/.sluice-client
    [ "$(cat "$mark" 2>/dev/null)" != "$*" ] || return 0
    rm -rf "$folder"
    log=$(mktemp)
    pip=$(dirname "$folder")/pip
    if ! flock "$pip.lock" sh -c '[ -e "$1/.whole" ] || { python3 -m venv "$1" && touch "$1/.whole"; }' - "$pip" \
        >"$log" 2>&1 || ! python3 -m venv --without-pip "$folder" >"$log" 2>&1; then
        rm -f "$log"
        skip "the test of $1 needs python3-venv"
    fi
    if ! "$pip/bin/pip" --python "$folder/bin/python" install -q --no-compile --retries 1 --timeout 60 "$@" \
        >"$log" 2>&1; then
        if grep -qE 'NewConnectionError|ConnectTimeout|ProxyError|SSLError|No matching distribution' "$log"; then
            rm -f "$log"
            skip "pip cannot reach its registry, or it has no $1 for this Python"
        fi
        cat "$log" >&2
        echo "pip install failed" >&2
        exit 1
    fi
    rm -f "$log"
    echo "$*" >"$mark"
}
