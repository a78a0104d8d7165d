#!/bin/bash
# under-systemd.sh - boots systemd in namespaces of its own and uses the package as an operator does: every command of
# docs/operations.md, an upgrade under load, and the removal. It changes the system: run it as root in a fresh Debian, a
# container or a chroot.
#
#     tests/package/under-systemd.sh FOLDER      with sluice_*.deb, from `make package`
set -euo pipefail
here=$(realpath "$0")
top=$(realpath "$(dirname "$0")/../..")
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

upgrade() {
    cd /root
    dpkg-deb -R /home/ops/build/package/sluice_*.deb tree
    sed -i 's/^Version: .*/&.1/' tree/DEBIAN/control
    dpkg-deb -Zgzip -z1 -b tree next.deb >out
    before=$(systemctl show -p MainPID sluiced)
    for i in 1 2 3; do ask $i -H "Authorization: Bearer $(cat /home/ops/web.key)" -d '{"inputs":"A lovely film."}' \
        -H 'Content-Type: application/json' http://127.0.0.1:8080/predict & done
    ask admin --unix-socket /run/sluiced-admin.sock http://localhost/v1/models &
    sleep 1
    apt-get install -y -qq ./next.deb >out 2>&1 || { cat out >&2; fail "the upgrade failed"; }
    sleep 1
    touch stop
    wait
    [ "$before" != "$(systemctl show -p MainPID sluiced)" ] || fail "the upgrade did not restart the daemon"
    ! grep . failed.* || fail "requests failed during the upgrade"
    for name in 1 2 3 admin; do [ "$(wc -l <answered.$name)" -gt 10 ] || fail "too few requests during the upgrade"; done
    systemctl -q is-active sluiced.service sluiced.socket sluiced-admin.socket || fail "a unit does not run after the upgrade"
    echo "upgraded: $(cat answered.* | wc -l) requests, none failed"
}

removal() {
    apt-get purge -y -qq sluice >out 2>&1 || { cat out >&2; fail "apt-get purge failed"; }
    ! systemctl -q is-active sluiced.service sluiced.socket sluiced-admin.socket || fail "a unit runs after the removal"
    echo "removed: no unit runs"
}

case ${1:-} in
commands) commands; exit ;;
inside)
    su - ops -c "$here commands" || { journalctl --no-pager -b -u sluiced -n 30 >&2; exit 1; }
    echo "operations.md: every command works"
    upgrade
    removal
    [ -z "$(systemctl list-units --failed --plain --no-legend '*sluice*')" ] || fail "a unit has failed"
    exit
    ;;
esac

# ---- outside -------------------------------------------------------------------------------------------

[ ! -d /run/systemd/system ] || fail "this system is in use: run it in a container or a chroot"
package=$(ls "$(realpath "$1")"/sluice_*.deb)
export DEBIAN_FRONTEND=noninteractive
scratch=$(mktemp -d)
init=
clean() {
    [ -z "$init" ] || kill -KILL "$init" 2>/dev/null || :
    wait
    rm -rf "$scratch"
}
trap clean EXIT
install() { apt-get install -y -qq --no-install-recommends "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; fail "apt-get failed"; }; }
# What the package depends on stays: inside there is no network.
install systemd systemd-sysv dbus sudo adduser curl openssl iproute2 procps util-linux "$package"
apt-get purge -y -qq sluice >"$scratch/log" 2>&1
rm -rf /var/lib/sluice

useradd -m -s /bin/bash -G sudo ops
echo 'ops ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ops
mkdir -p /home/ops/build/package
cp "$package" /home/ops/build/package/
cp "$top/docs/operations.md" /home/ops/
for i in $(seq 60); do printf 'positive\tWhat a lovely day %d.\nnegative\tFine. It rained %d.\n' "$i" "$i"; done \
    >/home/ops/reviews.tsv
cp /home/ops/reviews.tsv /home/ops/more.tsv
cut -f 2 /home/ops/reviews.tsv >/home/ops/texts.txt
chown -R ops: /home/ops
# In a sandbox nobody may raise the limit of descriptors.
if [ "$(ulimit -Hn)" != unlimited ] && [ "$(ulimit -Hn)" -lt 65536 ]; then
    mkdir -p /etc/systemd/system/sluiced.service.d
    printf '[Service]\nLimitNOFILE=%d\n' "$(ulimit -Hn)" >/etc/systemd/system/sluiced.service.d/limit.conf
fi

# A root that is a mount of its own, which systemd wants, with file systems that end with it.
cat >"$scratch/boot" <<'END'
set -eu
mount -t tmpfs tmpfs /mnt
mkdir /mnt/cgroup /mnt/root
mount -t cgroup2 cgroup2 /mnt/cgroup
mkdir -p /mnt/cgroup/sluice-under-systemd
echo 0 >/mnt/cgroup/sluice-under-systemd/cgroup.procs
umount /mnt/cgroup
mount --bind / /mnt/root
cd /mnt/root
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
mount --move . /
exec chroot . unshare --cgroup sh -c 'mount -t tmpfs tmpfs /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup &&
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=test /lib/systemd/systemd --log-target=journal-or-kmsg --show-status=0'
END
unshare --mount --pid --uts --ipc --net --fork --kill-child --propagation private sh "$scratch/boot" >"$scratch/boot.log" 2>&1 &
init=$!
enter() { nsenter -t "$(pgrep -P "$init")" --mount --pid --uts --ipc --net --cgroup --root --wd=/ env -i HOME=/root LANG=C.UTF-8 \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
tries=0
until enter systemctl is-system-running 2>"$scratch/log" | grep -qE 'running|degraded'; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { cat "$scratch/boot.log" "$scratch/log" >&2; fail "systemd does not start here"; }
    sleep 0.1
done
enter "$here" inside
