#!/bin/bash
# under-systemd.sh - boots systemd in namespaces of its own and uses the package as an operator does: every command of
# docs/operations.md, an upgrade under load, and the removal. Run it as root.
#
#     tests/package/under-systemd.sh FOLDER ROOT
#
# FOLDER has sluice_*.deb, from `make package`. ROOT is the root directory of a fresh Debian, from debootstrap; nothing
# else is changed.
set -euo pipefail
fail() { echo "$*" >&2; exit 1; }

# ---- inside: root of a system that systemd runs ----------------------------------------------------

# Every command of the document, as a user of the group sudo. A failure anywhere in a pipe counts.
commands() {
    cd
    while IFS= read -r line; do
        case $line in
        *bench*--classify*) line="$line --seconds 1" ;;
        *bench*) line="$line --requests 64 --tokens 20" ;;
        esac
        bash -o pipefail -c "$line" >out 2>&1 </dev/null || { cat out >&2; fail "failed: $line"; }
    done < <(awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' operations.md)
}

# ask NAME CURL-ARGUMENT... - requests until the file `stop` is there; what fails goes to failed.NAME
ask() {
    name=$1
    shift
    until [ -e stop ]; do
        if curl -sSf -o "out.$name" "$@" 2>>"failed.$name"; then echo; fi >>"answered.$name"
    done
}

# Ten restarts and an upgrade under load.
upgrade() {
    cd /root
    dpkg-deb -R /srv/ops/build/package/sluice_*.deb tree
    sed -i 's/^Version: .*/&.1/' tree/DEBIAN/control
    dpkg-deb -Zgzip -z1 -b tree next.deb >out
    for i in 1 2 3; do ask $i -H "Authorization: Bearer $(cat /srv/ops/web.key)" -d '{"inputs":"A lovely film."}' \
        -H 'Content-Type: application/json' http://127.0.0.1:8080/predict & done
    ask admin --unix-socket /run/sluiced-admin.sock http://localhost/v1/models &
    sleep 1
    for _ in $(seq 10); do systemctl restart sluiced; done
    before=$(systemctl show -p MainPID sluiced)
    apt-get install -y -qq ./next.deb >out 2>&1 || { cat out >&2; fail "the upgrade failed"; }
    sleep 1
    touch stop
    wait
    [ "$before" != "$(systemctl show -p MainPID sluiced)" ] || fail "the upgrade did not restart the daemon"
    ! grep . failed.* || fail "requests failed during the restarts or the upgrade"
    for name in 1 2 3 admin; do [ "$(wc -l <answered.$name)" -gt 10 ] || fail "too few requests during the upgrade"; done
    systemctl -q is-active sluiced.service sluiced.socket sluiced-admin.socket || fail "a unit does not run after the upgrade"
    echo "restarted and upgraded: $(cat answered.* | wc -l) requests, none failed"
}

removal() {
    apt-get purge -y -qq sluice >out 2>&1 || { cat out >&2; fail "apt-get purge failed"; }
    ! systemctl -q is-active sluiced.service sluiced.socket sluiced-admin.socket || fail "a unit runs after the removal"
    echo "removed: no unit runs"
}

case ${1:-} in
commands) commands; exit ;;
inside)
    su - ops -c "under-systemd commands" || { journalctl --no-pager -b -u sluiced -n 30 >&2; exit 1; }
    echo "operations.md: every command works"
    upgrade
    removal
    [ -z "$(systemctl list-units --failed --plain --no-legend '*sluice*')" ] || fail "a unit has failed"
    exit
    ;;
esac

# ---- outside -------------------------------------------------------------------------------------------

top=$(realpath "$(dirname "$0")/../..")
package=$(ls "$(realpath "$1")"/sluice_*.deb)
root=$(realpath "$2")
scratch=$(mktemp -d)
init=
clean() {
    [ -z "$init" ] || kill -KILL "$init" 2>/dev/null || :
    sleep 1 # until its processes have ended
    unshare --mount --propagation private sh -c 'mount -t cgroup2 cgroup2 "$0/mnt" &&
        find "$0"/mnt/sluice-under-systemd -depth -type d -exec rmdir {} ";"' "$root" || :
    rm -rf "$scratch"
}
trap clean EXIT

home=$root/srv/ops
mkdir -p "$home/build/package"
cp "$package" "$home/build/package/"
cp "$top/docs/operations.md" "$home/"
cp "$0" "$root/usr/local/bin/under-systemd"
for i in $(seq 60); do printf 'positive\tWhat a lovely day %d.\nnegative\tFine. It rained %d.\n' "$i" "$i"; done >"$home/reviews.tsv"
cp "$home/reviews.tsv" "$home/more.tsv"
cut -f 2 "$home/reviews.tsv" >"$home/texts.txt"
# It is restarted more often than a person would. In a sandbox nobody may raise the limit of descriptors.
mkdir -p "$root/etc/systemd/system/sluiced.service.d"
cat >"$root/etc/systemd/system/sluiced.service.d/test.conf" <<END
[Unit]
StartLimitIntervalSec=0
[Service]
LimitNOFILE=$(ulimit -Hn | sed s,unlimited,infinity,)
END
# What the package depends on stays: inside there is no network.
cat >"$root/prepare" <<'END'
set -eu
apt-get install -y -qq --no-install-recommends systemd systemd-sysv dbus sudo adduser curl openssl iproute2 procps \
    /srv/ops/build/package/sluice_*.deb
apt-get purge -y -qq sluice
rm -rf /var/lib/sluice
useradd -d /srv/ops -s /bin/bash -G sudo ops
echo 'ops ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ops
chown -R ops: /srv/ops
END
env=(env -i -C / HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin DEBIAN_FRONTEND=noninteractive)
unshare --mount --propagation private sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "${env[@]}" sh /prepare \
    >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; fail "the root cannot be prepared"; }

# A root that is a mount of its own, which systemd wants, with file systems that end with it.
cat >"$scratch/boot" <<'END'
set -eu
root=$1
mount -t cgroup2 cgroup2 "$root/mnt"
mkdir -p "$root/mnt/sluice-under-systemd"
echo 0 >"$root/mnt/sluice-under-systemd/cgroup.procs"
umount "$root/mnt"
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs tmpfs dev
while read -r name major minor; do mknod -m 666 dev/$name c $major $minor; done <<NODES
null 1 3
zero 1 5
full 1 7
random 1 8
urandom 1 9
tty 5 0
NODES
ln -s /proc/self/fd dev/fd
mkdir dev/shm dev/pts
mount -t tmpfs tmpfs dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ip link set lo up
hostname under-systemd
pivot_root . mnt
exec unshare --cgroup sh -c 'umount -l /mnt && mount -t tmpfs tmpfs /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup &&
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=test /lib/systemd/systemd --log-target=journal-or-kmsg --show-status=0'
END
unshare --mount --pid --uts --ipc --net --fork --kill-child --propagation private sh "$scratch/boot" "$root" >"$scratch/boot.log" 2>&1 &
init=$!
disown
enter() { nsenter -t "$(pgrep -P "$init")" --mount --pid --uts --ipc --net --cgroup --root "${env[@]}" "$@"; }
tries=0
# Degraded: other units cannot run in such a sandbox.
until [[ $(enter systemctl is-system-running 2>"$scratch/log") =~ running|degraded ]]; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { cat "$scratch/boot.log" "$scratch/log" >&2; fail "systemd does not start here"; }
    sleep 0.1
done
enter under-systemd inside
