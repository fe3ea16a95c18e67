# shellcheck shell=bash
# Makes an empty Debian in memory, in separate namespaces. Whatever dies and whenever, all of it is
# gone afterwards: processes, mounts and files. It is for scripts that define story() and end with
# `enter ARGUMENTS`.
# These may set: release, the Debian to make (by default that of this machine), and gib, the memory
# that it takes.
set -euo pipefail
export PATH="$PATH:/usr/sbin:/sbin" LC_ALL=C
root=/mnt/root # /mnt of the separate namespace
release='' gib=3

die() { # STATUS MESSAGE
    echo "${0##*/}: $2" >&2
    exit "$1"
}

step() { # WHAT COMMAND...: shows how long it took
    local start=$EPOCHREALTIME
    echo "=== $1"
    "${@:2}"
    awk -v from="$start" -v to="$EPOCHREALTIME" -v what="$1" 'BEGIN { printf "=== %s: %.1f s\n", what, to - from }'
}

# Prints where apt gets Debian from, as lines of SITE RELEASE COMPONENT.
debian_sources() {
    local codename
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    # shellcheck disable=SC2016 # apt fills them in
    apt-get indextargets --format '$(ORIGIN) $(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v codename="$codename" -v release="${release:-$codename}" '
            $1 == "Debian" && sub("^" codename, release, $3) { print $2, $3, $4 }' | sort -u
}

check() {
    local memory
    [ "$(id -u)" -eq 0 ] || die 77 "takes root"
    command -v debootstrap >/dev/null || die 77 "debootstrap is not installed"
    unshare --mount --pid --fork true 2>/dev/null || die 77 "this machine does not allow namespaces"
    memory=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
    [ "$memory" -ge $((gib * 1024)) ] || die 77 "takes $gib GiB of memory, and there are $memory MiB"
    [ -n "$(debian_sources)" ] || die 77 "this machine's apt knows no mirror of its release of Debian"
}

inside() { # COMMAND...: runs in the root, with only the variables that it needs
    env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
        chroot "$root" "$@"
}

quietly() { # COMMAND...: shows its output only if it fails
    "$@" >/mnt/log 2>&1 || {
        tail -n 40 /mnt/log
        exit 1
    }
}

job() { # COMMAND...: runs a job in the root, which ends or is ended
    inside timeout -s KILL 120 "$@"
}

expect() { # TEXT FILE
    grep -qF -- "$1" "$2" || {
        cat "$2"
        die 1 "expected: $1"
    }
}

make_root() {
    local site suite
    # Takes the release itself, not its updates.
    read -r site suite _ < <(debian_sources | sort -k2,2 | head -n 1)
    quietly debootstrap --variant=minbase "$suite" "$root" "$site"
}

prepare_root() {
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys"
    mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # daemons must not start
    chmod 755 "$root/usr/sbin/policy-rc.d"
    debian_sources | sed 's/^/deb /' >"$root/etc/apt/sources.list"
    apt-config dump | grep -iE '^Acquire::https?::Proxy' >"$root/etc/apt/apt.conf.d/proxy" || true
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    mkdir "$root/work"
    quietly inside apt-get update
}

clone() { # REPOSITORY: its HEAD, into /work/ftcoll of the root
    quietly git -c safe.directory='*' clone -q --no-hardlinks "$1" "$root/work/ftcoll"
}

# Runs in the namespaces, so nothing outside sees the mounts made here.
make() {
    trap 'exit 1' INT TERM HUP # the first process of a namespace would not notice the signal
    mount -t tmpfs -o size=${gib}g,mode=755 "${0##*/}" /mnt
    mkdir "$root"
    step "debootstrap" make_root
    step "apt-get update" prepare_root
}

# Runs the story in the root. If this script is killed, so is unshare. If unshare is killed, so is
# the first process of the namespace, and then all its other processes.
enter() { # ARGUMENT...: arguments of this script
    if [ -n "${FTC_IN_ROOT:-}" ]; then
        make
        story
        exit
    fi
    check
    FTC_IN_ROOT=yes setpriv --pdeathsig KILL unshare --mount --propagation private --pid --fork --kill-child=KILL -- "$0" "$@" &
    child=$!
    trap 'kill -KILL "$child" 2>/dev/null || true; exit 1' INT TERM HUP
    wait "$child"
}
