#!/bin/sh
# run-operations.sh - runs every command of docs/operations.md, in order, in a tree of its own instead of the system's:
# `sudo` runs the command, `systemctl` starts, reloads and stops a daemon with the installed configuration, and `apt` and
# `chgrp` only look at their arguments (tests/package/under-systemd.sh runs all of them for real).
#
#     tests/docs/run-operations.sh TOP BUILD-DIR
set -eu
top=$(realpath "$1")
build=$(realpath "$2")
. "$top/tests/support/serve.sh"
root=$(mktemp -d)
trap '[ ! -e "$root/pid" ] || kill "$(cat "$root/pid")" 2>/dev/null || :; rm -rf "$root"' EXIT
port=$(free_port)
mkdir -p "$root/bin" "$root/etc/sluice" "$root/var/lib/sluice" "$root/work"
export PATH="$root/bin:$build:$PATH" SLUICE_URL="http://127.0.0.1:$port"
export SLUICE_LISTEN="127.0.0.1:$port" SLUICE_ADMIN_LISTEN="unix:$root/admin.sock" SLUICE_ADMIN_URL="unix:$root/admin.sock"

# here - names of the system's files become those of this tree
here() {
    sed "s#/etc/sluice#$root/etc/sluice#g; s#/var/lib/sluice#$root/var/lib/sluice#g
        s#/run/sluiced-admin.sock#$root/admin.sock#g; s#/etc/systemd#$root/etc/systemd#g
        s#\\(https*://127.0.0.1\\):8080#\\1:$port#g; s/  *# .*//"
}
here <"$top/conf/service.yaml" >"$root/etc/sluice/sluiced.yaml"

printf '#!/bin/sh\nexec "$@"\n' >"$root/bin/sudo"
printf '#!/bin/sh\ncase $* in "install ./build/package/sluice_"*.deb) ;; *) exit 1 ;; esac\n' >"$root/bin/apt"
printf '#!/bin/sh\n[ "$1" = sluice ] && [ -f "$2" ]\n' >"$root/bin/chgrp" # the group may not exist here
cat >"$root/bin/systemctl" <<END
#!/bin/sh
set -eu
case \$* in
daemon-reload) exit ;;
'stop sluiced sluiced.socket sluiced-admin.socket' | *' sluiced') ;;
*) exit 1 ;;
esac
start() {
    "$top/systemd/copy-models" "$top/models" "$root/var/lib/sluice/models"
    sluiced --config "$root/etc/sluice/sluiced.yaml" --log-level error </dev/null >/dev/null 2>>"$root/daemon.log" &
    echo \$! >"$root/pid"
    for i in \$(seq 300); do
        curl -sf -o "$root/ready" --unix-socket "$root/admin.sock" http://localhost/v2/health/ready && return
        sleep 0.1
    done
    exit 1
}
stop() {
    kill "\$(cat "$root/pid")"
    while kill -0 "\$(cat "$root/pid")" 2>/dev/null; do sleep 0.05; done
}
case \$1 in
start) start ;;
stop) stop ;;
restart) stop; start ;;
reload) kill -HUP "\$(cat "$root/pid")"; sleep 1 ;;
*) exit 1 ;;
esac
END
chmod +x "$root/bin"/*

cd "$root/work"
i=0
while [ $i -lt 60 ]; do
    printf 'positive\tWhat a lovely day %d.\nnegative\tFine. It rained %d.\n' $i $i >>reviews.tsv
    echo "Was it day $i?" >>texts.txt
    i=$((i + 1))
done
cp reviews.tsv more.tsv

awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$top/docs/operations.md" | here >"$root/commands"
count=0
while IFS= read -r line; do
    case $line in
    *'bench'*--classify*) line="$line --seconds 0.2" ;;
    *'bench'*) line="$line --connections 2 --requests 2 --tokens 4" ;;
    *'sluice train'*) line=$(echo "$line" | sed 's/--epochs [0-9]*/--epochs 2/') ;;
    *'sluicectl top'*) line="$line --interval 0.1" ;;
    esac
    echo "+ $line"
    sh -c "$line" >"$root/out" 2>&1 </dev/null || { cat "$root/out" "$root/daemon.log" >&2; echo "failed: $line" >&2; exit 1; }
    count=$((count + 1))
done <"$root/commands"
[ $count -ge 30 ] || { echo "only $count commands were found in docs/operations.md" >&2; exit 1; }

# What was withdrawn or rolled back is gone.
sluicectl metrics --api-key-file prometheus.key >"$root/out" 2>&1 && { echo "a key that was withdrawn is accepted" >&2; exit 1; }
! grep -q . "$root/daemon.log" || { cat "$root/daemon.log" >&2; echo "the daemon reports errors" >&2; exit 1; }
echo "$count commands"
