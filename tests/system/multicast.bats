#!/usr/bin/env bats
# Multicast with a ring, and with other corrections, in running jobs. Datagrams are lost, doubled,
# late, damaged or of other jobs, and yet every value arrives. The report counts the way each piece
# came. A printed seed determines what a drill draws: FTC_TEST_SEED=N replays it. NP and TIMES make
# a longer run.
# shellcheck disable=SC2154,SC2030,SC2031 # set by bats and ctest; each test has its own

bats_require_minimum_version 1.5.0

setup() {
    export TMPDIR="$BATS_TEST_TMPDIR"
    local name
    for name in $(compgen -v FTCOLL_); do unset "$name"; done
    np=${NP:-8} times=${TIMES:-200}
    seed=${FTC_TEST_SEED:-$((RANDOM * 32768 + RANDOM))}
    echo "FTC_TEST_SEED=$seed np $np"
    sizes=(1 1000 20000 70000) # these take 1, 1, 3 and 9 pieces
}

# Puts the next number of the seed's sequence, 0 to BELOW - 1, into $drawn.
draw() { # BELOW
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    drawn=$((seed / 65536 % $1))
}

# launch REPORT [ftrun's options] -- arguments of multicast_app
launch() {
    local report=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    timeout -s KILL $((60 + times / 5)) "$FTRUN" -np "$np" --set broadcast.dissemination=multicast --set multicast.least_ranks=2 \
        --set multicast.most_bytes=8388608 --set drill.seed="$seed" --report "$TMPDIR/$report" "${options[@]}" \
        "$MULTICAST_APP" "$@"
}

# Checks that all broadcasts arrive, and leaves the sums over all ranks in $figures.
delivers() { # [ftrun's options]
    run --separate-stderr launch report.json "$@" -- "$times" "${sizes[@]}"
    echo "$* $output $stderr"
    [ "$status" -eq 0 ]
    [ "$output" = "$times delivered, 0 without a root" ]
    figures=$(sums report.json)
    echo "$figures"
}

sums() { # REPORT
    jq -c '[.ranks[].counters] | [.[] | .pieces + .datagrams + {PULL: .sent.PULL} | to_entries[]]
        | reduce .[] as $e ({}; .[$e.key] += $e.value) | . + {all: (.datagram + .ring + .other)}' "$TMPDIR/$1"
}

holds() { # jq's condition on the figures
    jq -e "$1" <<<"$figures" >/dev/null
}

# Checks the number of pieces that came by datagram, of $figures.all pieces. It must be what the
# loss leaves, give or take 6 standard deviations, and up to 1 % fewer, because the ring may have
# brought a piece before its datagram.
near() { # LOSS_PERCENT
    jq -e --argjson loss "$1" '(1 - $loss / 100) as $p | (6 * ($p * (1 - $p) / .all | sqrt)) as $chance
        | {share: (.datagram / .all), low: ($p * 0.99 - $chance), high: ($p + $chance)} | debug
        | .low <= .share and .share <= .high' <<<"$figures"
}

@test "nothing is lost: at least 99 % of the pieces come by datagram" {
    delivers
    holds '.datagram >= 0.99 * .all and .drill_lost + .drill_other + .foreign + .corrupt + .senseless + .failed == 0'
}

@test "lost datagrams: the ring brings what they would have" {
    for loss in 1 10 50; do
        delivers --set drill.multicast_loss="$loss"
        near "$loss"
    done
}

@test "the loss of the literature, by its name" {
    delivers --set drill.multicast_loss=preset
    near 0.287
    holds '.drill_lost > 0'
}

@test "all datagrams are lost: all comes by the ring" {
    delivers --set drill.multicast_loss=100 --set broadcast.patience_us=60000000
    holds '.datagram == 0 and .ring == .all and .received == 0 and .drill_lost > 0'
}

@test "values of many pieces overrun a receiver; the ring repairs" {
    sizes=(300000 1000000)
    times=$((times / 20))
    delivers --set multicast.receives=1
    delivers --set multicast.receives=64 --set drill.multicast_loss=10
    holds '.datagram > 0 and .ring > 0'
}

@test "late and doubled datagrams" {
    delivers --set drill.multicast_reorder=30
    holds '.drill_other > 0'
    delivers --set drill.multicast_duplicate=30
    holds '.drill_other > 0 and .again >= .drill_other'
}

@test "damaged datagrams are counted and dropped" {
    delivers --set drill.multicast_corrupt=30
    # A datagram whose damage is in the name of the job counts as another job's.
    holds '.corrupt > 0 and .corrupt + .foreign == .drill_other'
    near 30
}

@test "datagrams of others are counted and ignored" {
    delivers --set drill.multicast_foreign=30
    holds '.foreign > 0 and .foreign == .drill_other and .datagram >= 0.99 * .all'
}

# The probe knows the group, as anybody on the link could. It sends while a job runs.
with_a_stranger() { # [the probe's options]
    local pid deadline=$((SECONDS + 20)) job
    launch report.json -- "$times" "${sizes[@]}" >"$TMPDIR/output" &
    pid=$!
    until job=$(compgen -G "$TMPDIR/ftcoll-$UID/*/$((np - 1)).call"); do [ "$SECONDS" -lt "$deadline" ] && sleep 0.02; done
    job=$(basename "$(dirname "$job")") # "<job>-<host>"
    timeout -s KILL 20 "$PROBE" send --job "${job%-*}" --size 100 "$@"
    wait "$pid"
    [ "$(cat "$TMPDIR/output")" = "$times delivered, 0 without a root" ]
    figures=$(sums report.json)
    echo "$figures"
}

@test "sound datagrams that make no sense are counted and ignored" {
    times=$((times * 5))
    with_a_stranger --count 100 --pace 200
    holds '.senseless > 0 and .foreign + .corrupt == 0'
}

@test "another job that floods the group does not take the job's receives: the kernel drops its datagrams" {
    times=$((times * 5))
    with_a_stranger --stranger --count 50000 --pace 0
    holds '.dropped > 1000 and .foreign < .dropped / 100 and .datagram >= 0.95 * .all'
}

@test "all of it at once" {
    delivers --set drill.multicast_loss=20 --set drill.multicast_reorder=20 --set drill.multicast_duplicate=20 \
        --set drill.multicast_corrupt=20 --set drill.multicast_foreign=20
    holds '.drill_lost > 0 and .corrupt > 0 and .foreign > 0 and .ring > 0 and .senseless == 0'
}

# bats test_tags=optimised
@test "with any correction, half of the datagrams lost" {
    for correction in none opportunistic optimised checked throttled failure-proof delayed ring; do
        delivers --set broadcast.correction="$correction" --set broadcast.patience_us=2000 --set drill.multicast_loss=50
        holds '.drill_lost > 0 and .datagram > 0'
        [ "$correction" = ring ] || holds '.ring == 0 and .other > 0'
        [ "$correction" != none ] || holds '.PULL > 0'
    done
}

@test "few ranks and large values take the tree" {
    delivers --set multicast.least_ranks=$((np + 1))
    holds '.all == 0 and .sent == 0'
    sizes=(1000 70000)
    delivers --set multicast.most_bytes=1000
    # Every second broadcast, and every barrier.
    holds ".all > 0 and .all <= ($times * 3 / 2 + 1) * ($np - 1)"
}

@test "two jobs at the same time do not disturb each other" {
    launch first.json --set drill.multicast_loss=10 -- "$times" "${sizes[@]}" >"$TMPDIR/first" &
    local first=$!
    launch second.json --set drill.multicast_loss=10 -- "$times" "${sizes[@]}" >"$TMPDIR/second"
    wait "$first"
    for job in first second; do
        [ "$(cat "$TMPDIR/$job")" = "$times delivered, 0 without a root" ]
        figures=$(sums $job.json)
        echo "$figures"
        # Address and port have 38 random bits: the jobs do not meet.
        holds '.foreign == 0 and .corrupt == 0 and .datagram > 0'
    done
}

@test "a socket with less room than asked for says what limits it" {
    local most
    most=$(cat /proc/sys/net/core/rmem_max)
    [ "$most" -lt $((4096 * 7680)) ] || skip "net.core.rmem_max is large: $most"
    np=2 times=2
    delivers --set multicast.receives=4096 --set log.level=debug
    [ "$(grep -Ec "room for [0-9]+ datagrams, not 4096: raise net.core.rmem_max to [0-9]+$" <<<"$stderr")" -eq 2 ]
}

@test "at level info one rank says how many bits the group's address has, and how to get more" {
    np=3 times=2
    delivers --set log.level=info
    [ "$(grep -c "multicast by udp: .* bits of the group's address are random" <<<"$stderr")" -eq 1 ]
    [[ $stderr == *"IPv4 on lo, "*"; 24 bits "*"for 112, "*"ip -6 route add"* || $stderr == *"IPv6 on lo, "*"; 112 bits "* ]]
}

@test "an interface that does not exist is an error that says so" {
    run --separate-stderr launch report.json --set multicast.interface=nosuch0 -- 1 1
    [ "$status" -ne 0 ]
    [[ $stderr == *"no interface or address \"nosuch0\" is up here and can multicast: see \`ip address\`"* ]]
}

# From now on ftrun runs in a network namespace. Its interface `small` has no room for datagrams.
inside() {
    local setup="ip link set lo up && ip link add small mtu 68 type veth peer name other &&
        ip address add 10.0.0.1/24 dev small && ip link set small up && ip link set other up"
    unshare -rn sh -c "$setup" 2>/dev/null || skip "network namespaces are not permitted here"
    {
        echo '#!/bin/sh'
        echo "exec unshare -rn sh -c '$setup && exec \"\$0\" \"\$@\"' '$FTRUN' \"\$@\""
    } >"$TMPDIR/inside"
    chmod +x "$TMPDIR/inside"
    FTRUN=$TMPDIR/inside
}

@test "where nothing can multicast, the ring brings everything, and each rank says so" {
    inside
    times=20
    delivers --set multicast.interface=small --set broadcast.patience_us=60000000
    [ "$(grep -c "no multicast: .*an MTU of 68 on small is too small: give it at least" <<<"$stderr")" -eq "$np" ]
    holds '.datagram == 0 and .ring == .all and .sent == 0'
}

@test "every second rank can multicast" {
    inside
    delivers --set multicast.interface=lo,small --set broadcast.patience_us=60000000
    [ "$(grep -c "no multicast: " <<<"$stderr")" -eq $((np / 2)) ]
    holds '.datagram > 0 and .ring > .datagram and .datagram + .ring == .all'
}

# Three ranks die at points that are drawn. The others check that each broadcast came to all ranks,
# or that it was without its root.
@test "ranks that die in the middle, half of the datagrams lost" {
    local ways=(kill exit abort) round victims orders
    for ((round = 0; round < times / 20; round++)); do
        orders="" victims=" "
        while [ "$(wc -w <<<"$victims")" -lt 3 ]; do
            draw "$np"
            [[ $victims != *" $drawn "* ]] || continue
            victims+="$drawn "
            orders+="${orders:+,}$drawn@send:"
            draw 150
            orders+="$((drawn + 1))="
            draw 3
            orders+=${ways[drawn]}
        done
        echo "FTCOLL_TEST_DIE=$orders"
        FTCOLL_TEST_DIE=$orders run --separate-stderr launch report.json -f 2 --set drill.multicast_loss=50 \
            --set broadcast.patience_us=5000 -- 60 1 1000 20000
        echo "$output $stderr"
        [ "$status" -eq 0 ]
        [[ $output =~ ^([0-9]+)" delivered, "([0-9]+)" without a root"$ ]]
        [ $((BASH_REMATCH[1] + BASH_REMATCH[2])) -eq 60 ]
        [ "${BASH_REMATCH[1]}" -gt 0 ]
        figures=$(sums report.json)
        holds '.drill_lost > 0'
    done
}
