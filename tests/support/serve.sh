# serve.sh - starts daemons for test scripts: `. tests/support/serve.sh`.

# free_port - prints a free port.
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# wait_until TENTHS COMMAND... - runs the command until it succeeds; fails after so many tenths of a second.
wait_until() {
    tenths=$1
    shift
    until "$@"; do
        tenths=$((tenths - 1))
        [ "$tenths" -gt 0 ] || return 1
        sleep 0.1
    done
}

# serve SLUICED PORT-FILE OPTION... - starts a daemon in the background. Sets `daemon`, its process, and `port` when it accepts
# requests.
serve() {
    sluiced=$1 port_file=$2
    shift 2
    rm -f "$port_file"
    "$sluiced" --listen 127.0.0.1:0 --port-file "$port_file" --log-level error "$@" &
    daemon=$!
    wait_until 600 test -s "$port_file" || { echo "sluiced did not start" >&2; return 1; }
    port=$(head -1 "$port_file")
}
