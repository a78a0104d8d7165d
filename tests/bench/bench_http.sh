#!/bin/sh
# bench_http.sh - requests per second of the HTTP layer alone, one line per number of connections.
#
#     tests/bench/bench_http.sh [path to sluiced]
#
# GET / over keep-alive connections, by wrk. The epoll mode of libmicrohttpd 0.9.75 stalls at 128 to 512
# connections when it has a single thread; this shows that the mode in use does not.
set -eu

sluiced=${1:-${SLUICED:-build/release/sluiced}}
seconds=${SECONDS_EACH:-2}
scratch=$(mktemp -d)
trap 'kill "$daemon" 2>/dev/null || :; rm -rf "$scratch"' EXIT
mkdir "$scratch/store"

"$sluiced" --listen 127.0.0.1:0 --store "$scratch/store" --port-file "$scratch/port" \
    --log-level error &
daemon=$!
tries=0
while [ ! -s "$scratch/port" ]; do
    tries=$((tries + 1))
    [ "$tries" -le 100 ] || { echo "sluiced does not come up" >&2; exit 1; }
    sleep 0.1
done
url=http://127.0.0.1:$(cat "$scratch/port")/

for connections in 64 128 192 256 512 1000; do
    wrk -t1 -c"$connections" -d"${seconds}s" --latency "$url" | awk -v n="$connections" '
        /99%/ { p99 = $2 }
        /Requests\/sec/ { rate = $2 }
        /Socket errors/ { errors = $0; sub(/^ */, " ", errors) }
        END { printf "%5d connections %9.0f requests/s  p99 %s%s\n", n, rate, p99, errors
              exit rate < 5000 }'
done
