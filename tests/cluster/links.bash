# The faults of the links of the hosts: pairs of hosts that are cut from each other, delay and loss.
# The script `cluster` sources this.
# shellcheck shell=bash disable=SC2154

# --- pairs of hosts: a cut gives the other host an address that nobody on the link has ---

set_pair() { # cuts or heals what the two hosts in rest send to each other
    local host other i
    for host in "${rest[@]}"; do need_host "$host" && need_alive "$host"; done
    [ "${rest[0]}" != "${rest[1]}" ] || wrong "$command ${rest[*]}: give two hosts"
    for i in 0 1; do
        host=${rest[i]} other=${rest[1 - i]}
        if [ "$command" = cut ]; then
            in_host "$host" ip neigh replace "10.77.0.${other#host}" lladdr 02:00:00:00:00:00 nud permanent dev eth0
        else
            in_host "$host" ip neigh del "10.77.0.${other#host}" dev eth0 2>/dev/null || true
        fi
    done
}

# --- links: delay and loss, by netem; if the kernel has no netem, by the relay of this project ---

link_value() { # HOST FIELD: of "MS PERCENT SEED"
    local values="0 0 1"
    [ ! -e "$state/links/$1" ] || values=$(<"$state/links/$1")
    # shellcheck disable=SC2086 # fields
    set -- "$2" $values
    echo "${!1}"
}

set_links() { # FIELD VALUE
    local host ms loss seed chosen=$only
    [ -n "$chosen" ] || chosen=$(hosts)
    for host in $chosen; do
        ms=$(link_value "$host" 2) loss=$(link_value "$host" 3) seed=$(link_value "$host" 4)
        if [ "$1" = delay ]; then ms=$2; else loss=$2; fi
        [ -z "$seed_wanted" ] || seed=$seed_wanted
        echo "$ms $loss $seed" | put "links/$host"
        shape "$host"
    done
}

shape() { # HOST: makes the link as links/HOST says
    if [ -z "${FTC_CLUSTER_RELAY:-}" ] && has_netem; then
        netem "$1"
    elif ! in_switch ip link show "far${1#host}" >/dev/null 2>&1; then # a running relay reads the file by itself
        start_relay "$1"
    fi
}

has_netem() {
    if [ ! -e "$state/netem" ]; then
        if in_switch tc qdisc add dev lo root netem 2>/dev/null; then echo yes; else echo no; fi | put netem
    fi
    [ "$(<"$state/netem")" = yes ]
}

netem() { # HOST
    local pid netem
    netem="root netem delay $(link_value "$1" 2)ms loss $(link_value "$1" 3)% limit 16384"
    read_init "$1" || return 0 # start-host will do it
    # shellcheck disable=SC2086 # words
    in_switch tc qdisc replace dev "port${1#host}" $netem
    # shellcheck disable=SC2086 # words
    nsenter -t "$pid" -n -- tc qdisc replace dev eth0 $netem
}

relay_program() {
    if [ -n "${FTC_CLUSTER_RELAY:-}" ]; then
        cp "$FTC_CLUSTER_RELAY" "$state/relay.new" # a copy, so that the relay needs no directory that is not shared
    else
        cc -std=c11 -D_GNU_SOURCE -O2 -o "$state/relay.new" "$here/relay.c" ||
            die "the kernel has no netem, and relay.c needs a C compiler: install gcc"
    fi
    mv "$state/relay.new" "$state/relay"
}

# port - relay<i> (bridge) - far<i> (TAP) = relay = near<i> (TAP) - br0
start_relay() { # HOST
    local i=${1#host} pid
    [ -x "$state/relay" ] || relay_program
    in_switch ip link del "relay$i" 2>/dev/null || true # the bridge of a relay that died
    read_init switch
    nsenter -t "$pid" -n -p -- \
        setsid --fork "$state/relay" "near$i" "far$i" "$state/links" "$1" </dev/null >>"$state/log/relay" 2>&1
    wait_until 10 "in_switch ip link show far$i >/dev/null 2>&1" || die "the relay does not run: $(last_words relay)"
    in_switch ip -batch - <<BATCH || die "cannot put the relay into the link of $1"
link add relay$i type bridge mcast_snooping 0 forward_delay 0
link set near$i master br0 up
link set far$i master relay$i up
link set relay$i up
BATCH
    ! alive "$1" || in_switch ip link set "port$i" master "relay$i"
}

# --- many hosts ---

# The kernel keeps 1024 addresses of neighbours for all namespaces together. Permanent ones do not
# count.
know_all() { # NUMBER PID
    local host j
    for host in $(hosts); do
        j=${host#host}
        [ "$j" -eq "$1" ] || printf "neigh replace 10.77.0.%d lladdr 02:00:0a:4d:00:%02x dev eth0 nud permanent\n" "$j" "$j"
    done | nsenter -t "$2" -n -- ip -batch -
}
