#!/bin/sh
# run.sh - installs the Debian package, serves as its unit would start it, upgrades and removes it. It changes the system:
# run it as root in a fresh Debian without systemd, a container or a chroot.
#
#     tests/package/run.sh FOLDER      with sluice_*.deb, from `make package`
set -eu
package=$(ls "$1"/sluice_*.deb)
scratch=$(mktemp -d)
daemon=
trap 'kill $daemon 2>/dev/null || :; wait; rm -rf "$scratch"' EXIT
fail() { echo "$*" >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive
unit=/lib/systemd/system/sluiced.service
[ ! -d /run/systemd/system ] || fail "this system is in use: run it in a container or a chroot"

apt_install() { apt-get install -y -qq --no-install-recommends "$@" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; fail "apt-get failed"; }; }

# setting NAME - what the unit says, with %S as systemd has it
setting() { sed -n "s/^$1=//p" "$unit" | sed 's#%S#/var/lib#g'; }

# As systemd: the sockets of the socket units, a user of its own in the group of the unit, the state directory.
serve() {
    [ -f "$unit" ] || unit=/usr/lib/systemd/system/sluiced.service
    state=/var/lib/$(setting StateDirectory)
    mkdir -p "$state" && chown 64999:64999 "$state" && chmod "$(setting StateDirectoryMode)" "$state"
    as="setpriv --reuid 64999 --regid 64999 --groups $(setting SupplementaryGroups) --no-new-privs --bounding-set=-all"
    (cd "$state" && umask "$(setting UMask)" && $as $(setting ExecStartPre))
    inference=$(sed -n 's/^ListenStream=//p' "${unit%.service}.socket")
    admin=$(sed -n 's/^ListenStream=//p' "${unit%sluiced.service}sluiced-admin.socket")
    rm -f "$admin"
    (cd "$state" && exec systemd-socket-activate -l "$inference" -l "$admin" --fdname=inference:admin \
        $as $(setting ExecStart)) 2>"$scratch/daemon.log" &
    daemon=$!
    url=http://$inference
    tries=0
    until curl -sf -o "$scratch/ready" "$url/v2/health/ready"; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || { cat "$scratch/daemon.log" >&2; fail "the service is not ready"; }
        sleep 0.1
    done
    curl -sf "$url/predict" -H 'Content-Type: application/json' -d '{"inputs":"A lovely film."}' | grep -q positive ||
        fail "the default classifier does not answer"
    curl -sf --unix-socket "$admin" http://localhost/v2/health/ready >"$scratch/ready" || fail "no answer at $admin"
}
stop() {
    kill -TERM $daemon
    wait $daemon || fail "the service ended with an error"
    daemon=
}

apt_install curl systemd
apt_install "$package"
for program in sluiced sluice sluicectl; do
    $program --version >"$scratch/log" || fail "$program does not run"
done
getent group sluice >"$scratch/log" || fail "there is no group sluice"
serve
stop
sluiced --check-config --config /etc/sluice/sluiced.yaml
echo "installed: serves"

# An upgrade keeps what the operator changed, and the models.
echo "# changed by its operator" >>/etc/sluice/sluiced.yaml
cp -a /var/lib/sluice/models/sentiment/1 /var/lib/sluice/models/sentiment/2
dpkg-deb -R "$package" "$scratch/tree"
sed -i 's/^Version: .*/&.1/' "$scratch/tree/DEBIAN/control"
dpkg-deb -b "$scratch/tree" "$scratch/sluice_next.deb" >"$scratch/log"
apt_install "$scratch/sluice_next.deb"
dpkg-query -W -f '${Version}\n' sluice | grep -q '\.1$' || fail "it was not upgraded"
grep -q '^# changed by its operator' /etc/sluice/sluiced.yaml || fail "the upgrade replaced the configuration"
serve
curl -sf "$url/v1/models" | grep -q sentiment@2 || curl -sf "$url/v2/models/sentiment/versions/2/ready" >"$scratch/log" ||
    fail "a version of the operator is gone"
stop
echo "upgraded: serves"

apt-get purge -y -qq sluice >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; fail "apt-get purge failed"; }
for left in /etc/sluice /usr/bin/sluiced /usr/share/sluice /usr/libexec/sluice /usr/share/doc/sluice "$unit"; do
    [ ! -e "$left" ] || fail "left behind: $left"
done
[ -d /var/lib/sluice/models/sentiment/2 ] || fail "the operator's models were removed"
echo "removed: nothing is left but the models in /var/lib/sluice"
