#!/bin/sh
# check-proxies.sh BUILD TOP - the configurations of HAProxy and nginx are valid, and no request fails while two daemons
# behind HAProxy restart, one after the other, under load. 77: neither is installed.
set -eu
build=$(realpath "$1")
top=$(realpath "$2")
. "$top/tests/support/serve.sh"
scratch=$(mktemp -d)
daemon= daemon_a= daemon_b= proxy= loads=
trap 'touch "$scratch/stop"; kill $daemon $daemon_a $daemon_b $proxy 2>/dev/null || :; wait; rm -rf "$scratch"' EXIT
fail() { echo "$*" >&2; exit 1; }
checked=0
PATH=$PATH:/usr/sbin

port_a=$(free_port) port_b=$(free_port) port_proxy=$(free_port)
# adapt FILE - a configuration with the ports of this test
adapt() { sed "s/127.0.0.1:8080/127.0.0.1:$port_a/; s/127.0.0.1:8082/127.0.0.1:$port_b/; s/127.0.0.1:8000/127.0.0.1:$port_proxy/" "$1"; }
# start_at PORT OPTION... - a daemon at a port; sets `daemon`
start_at() {
    at=$1
    shift
    "$build/sluiced" --config "$top/conf/run.yaml" --store "$top/models" --state "" --admin-listen "" --listen "127.0.0.1:$at" \
        --threads 1 --log-level error "$@" &
    daemon=$!
    wait_until 600 curl -sf -o "$scratch/ready" "http://127.0.0.1:$at/v2/health/ready" || fail "a daemon is not ready"
}
through_proxy() { curl -sf -o "$scratch/answer" "http://127.0.0.1:$port_proxy/v2/health/ready"; }

# ---- nginx -----------------------------------------------------------------------------------------

start_at "$port_a" --drain-delay 3
daemon_a=$daemon
if command -v nginx >/dev/null; then
    adapt "$top/conf/nginx.conf" >"$scratch/nginx.conf"
    options="-c $scratch/nginx.conf -e $scratch/nginx.log -g"
    nginx $options "pid $scratch/nginx.pid;" -t >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
    nginx $options "pid $scratch/nginx.pid; daemon off;" &
    proxy=$!
    wait_until 100 through_proxy || fail "nginx does not pass requests on"
    # The second daemon does not run: its requests go to the first.
    "$build/sluicectl" bench --url "http://127.0.0.1:$port_proxy" --model shakespeare --connections 4 --requests 12 --tokens 8 \
        --json >"$scratch/bench" || { cat "$scratch/bench" >&2; fail "nginx: requests fail"; }
    grep -q '"failed":0,' "$scratch/bench" || { cat "$scratch/bench" >&2; fail "nginx: requests fail"; }
    kill $proxy && wait $proxy || :
    proxy=
    checked=$((checked + 1))
else
    echo "SKIPPED: nginx is not installed"
fi

# ---- HAProxy ---------------------------------------------------------------------------------------

command -v haproxy >/dev/null || { echo "SKIPPED: haproxy is not installed"; [ $checked -gt 0 ] && exit 0; exit 77; }
adapt "$top/conf/haproxy.cfg" >"$scratch/haproxy.cfg"
haproxy -c -q -f "$scratch/haproxy.cfg" || fail "haproxy -c: invalid"
start_at "$port_b" --drain-delay 3
daemon_b=$daemon
haproxy -db -f "$scratch/haproxy.cfg" >"$scratch/haproxy.log" 2>&1 &
proxy=$!
wait_until 100 through_proxy || { cat "$scratch/haproxy.log" >&2; fail "HAProxy does not pass requests on"; }

echo "A lovely film." >"$scratch/input"
# load NAME OPTION... - benchmarks until the file `stop` is there; their results go to NAME
load() {
    name=$1
    shift
    while [ ! -e "$scratch/stop" ]; do
        "$build/sluicectl" bench --url "http://127.0.0.1:$port_proxy" --json "$@" >>"$scratch/$name" 2>>"$scratch/$name.err" || :
    done
}
load streams --model shakespeare --connections 3 --requests 30 --tokens 16 &
loads="$loads $!"
load whole --model shakespeare --connections 3 --requests 30 --tokens 16 --no-stream &
loads="$loads $!"
load texts --classify "$scratch/input" --connections 3 --seconds 1 &
loads="$loads $!"

# restart PID PORT - sets `daemon`
restart() {
    kill -TERM "$1"
    wait "$1" || fail "a daemon ended with an error"
    start_at "$2" --drain-delay 3
    sleep 2 # until HAProxy has found it ready twice
}
sleep 1
restart "$daemon_a" "$port_a"
daemon_a=$daemon
restart "$daemon_b" "$port_b"
daemon_b=$daemon
touch "$scratch/stop"
wait $loads

for name in streams whole texts; do
    [ ! -s "$scratch/$name.err" ] || { cat "$scratch/$name.err" >&2; fail "$name: a benchmark ended with an error"; }
    [ -s "$scratch/$name" ] || fail "$name: no results"
    ! grep -v '"failed":0,' "$scratch/$name" || fail "$name: requests failed during the restarts"
    sed 's/.*"requests":\([0-9]*\).*/\1/' "$scratch/$name" | awk -v name="$name" '{ n += $1 } END { print name ": " n " requests" }'
done
