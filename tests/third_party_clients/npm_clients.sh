#!/bin/sh
# npm_clients.sh - third-party clients, unmodified, against sluiced; or a browser with the web console.
#
#     npm_clients.sh SLUICED SLUICE [FOLDER [SCRIPT]]
#
# Takes the two programs, by default those of `make build`, a folder to install the clients into, by default
# `third_party_clients` beside the daemon, and a script of package.json: `test` or `console`. Leaves with 77 when node,
# npm, the registry or, for the console, Chromium cannot be had.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
SLUICED=${1:-${SLUICED:-$here/../../build/release/sluiced}}
SLUICE_TOOL=${2:-${SLUICE_TOOL:-$here/../../build/release/sluice}}
folder=${3:-$(dirname "$SLUICED")/third_party_clients}
script=${4:-test}

skip() {
    echo "SKIPPED: $1"
    exit 77
}

fail() {
    echo "$1" >&2
    exit 1
}

[ -x "$SLUICED" ] || fail "there is no program $SLUICED: make build makes it"
[ -x "$SLUICE_TOOL" ] || fail "there is no program $SLUICE_TOOL: make build makes it"
SLUICED=$(realpath "$SLUICED")
SLUICE_TOOL=$(realpath "$SLUICE_TOOL")
export SLUICED SLUICE_TOOL

command -v node >/dev/null || skip "the tests of third-party clients need node, 18 or later"
command -v npm >/dev/null || skip "the tests of third-party clients need npm"
node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' ||
    skip "the tests of third-party clients need node 18 or later, not $(node --version)"

if [ "$script" = console ]; then
    CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
        skip "the test of the web console needs chromium"
    SLUICE_MODELS=$(realpath "$here/../../models")
    export CHROMIUM SLUICE_MODELS
fi

# Not where the sources are: npm installs thousands of files.
mkdir -p "$folder"
cp "$here"/package.json "$here"/package-lock.json "$here"/*.mjs "$here"/*.yaml "$folder"
cd "$folder"

# What is there already, complete and of the right version, is not fetched again.
mark=node_modules/.sluice-lock
if ! cmp -s package-lock.json "$mark"; then
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    if ! npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=60000 \
        >"$log" 2>&1; then
        unreachable='E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|HOSTUNREACH|NETUNREACH)'
        grep -qE "$unreachable" "$log" && skip "npm cannot reach its registry"
        grep -qE 'SELF_SIGNED_CERT|UNABLE_TO_(GET|VERIFY)_' "$log" &&
            skip "npm does not trust the certificate of its registry"
        cat "$log" >&2
        fail "npm ci failed"
    fi
    cp package-lock.json "$mark"
fi

exec npm run --silent "$script"
