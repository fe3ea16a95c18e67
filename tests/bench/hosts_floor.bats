#!/usr/bin/env bats
# Tests bench/hosts_floor on addresses of the loopback, and bench/hosts-floor without a cluster. The
# figures of its tables are made here. HOSTS_FLOOR is the script, BUILD the build.

bats_require_minimum_version 1.5.0

setup() {
    work=$(mktemp -d)
    export TMPDIR=$work
    unset FTCOLL_OPTIONS
    program=$BUILD/bench/hosts_floor
}

teardown() {
    rm -rf "$work"
}

script() {
    run timeout -s KILL 60 "$HOSTS_FLOOR" --build "$BUILD" "$@"
    echo "exit $status: $output"
}

# Runs the floor: each host is a process with an address of its own. Sets status and output as `run`
# does, those of host 0.
floor() { # HOSTS RANKS_PER_HOST POINT...
    local i addresses='' net
    net=127.$((1 + RANDOM % 254)).$((RANDOM % 255))
    for ((i = 1; i <= $1; i++)); do addresses+=${addresses:+,}$net.$i; done
    for ((i = 1; i < $1; i++)); do
        timeout -s KILL 60 "$program" "$i" "$addresses" "$2" 0.01 "${@:3}" 3>&- &
    done
    run timeout -s KILL 60 "$program" 0 "$addresses" "$2" 0.01 "${@:3}"
    echo "exit $status: $output"
    wait
}

ways() { # OPERATION
    run -2 "$program"
    tr ' ' '\n' <<<"$output" | grep "^$1/"
}

lines() { # prints how many lines of output are figures
    grep -cE '^floor [a-z]+/[a-z-]+ [0-9]+ [0-9]+ [1-9][0-9]* [0-9.]+ [0-9.]+$' <<<"$output"
}

@test "wrong use of the program ends with 2 and lists the exchanges" {
    for words in "" "0 127.0.0.1 1 0.1" "2 127.0.0.1,127.0.0.2 1 0.1 reduce/star:8" "0 127.0.0.1 1 0 reduce/star:8" \
        "0 127.0.0.1 0 1 reduce/star:8" "0 127.0.0.1 1 1 reduce/star:12" "0 127.0.0.1 1 1 reduce/tea:8"; do
        # shellcheck disable=SC2086 # several words
        run "$program" $words
        [ "$status" -eq 2 ]
        [[ "$output" == "usage: hosts_floor"*allreduce/ring*barrier/doubling* ]]
    done
}

@test "every exchange has the right results: one rank on each host, and several" {
    local points=() hosts ranks size
    for way in $(ways allreduce) $(ways reduce) $(ways bcast); do
        for size in 8 4096 200000; do points+=("$way:$size"); done
    done
    for way in $(ways barrier); do points+=("$way:8"); done
    for words in "2 1 31" "4 1 31" "3 2 55" "2 4 63"; do
        read -r hosts ranks count <<<"$words"
        floor "$hosts" "$ranks" "${points[@]}"
        [ "$status" -eq 0 ]
        [ "$(lines)" -eq "$count" ]
    done
}

@test "a host that dies ends the others" {
    local net=127.$((1 + RANDOM % 254)).$((RANDOM % 255)) pid points end=$((SECONDS + 20))
    mapfile -t points < <(printf "allreduce/ring:8\n%.0s" {1..300})
    "$program" 1 "$net.1,$net.2" 2 0.1 "${points[@]}" 2>/dev/null 3>&- &
    pid=$!
    "$program" 0 "$net.1,$net.2" 2 0.1 "${points[@]}" >"$work/lines" 2>"$work/errors" 3>&- &
    until grep -q ring "$work/lines"; do
        [ "$SECONDS" -lt "$end" ]
        sleep 0.02
    done
    kill -KILL "$pid"
    code=0
    wait $! || code=$?
    [ "$code" -eq 1 ]
    grep -q "hosts_floor: rank [01]: cannot" "$work/errors"
}

@test "help names every option, and wrong use ends with 2 and says what is wrong" {
    script --help
    [ "$status" -eq 0 ]
    for word in --hosts --np --ops --ways --sizes --rounds --seconds --openmpi --counts --csv --markdown --ftrun-options --build; do
        [[ "$output" == *"$word"* ]]
    done
    for words in --frobnicate "--hosts 1" "--np 2,x" "--ops scan" "--ways reduce/tea" "--sizes 12" "--rounds 0" "--seconds 0" tea; do
        # shellcheck disable=SC2086 # an option and its value
        script $words
        [ "$status" -eq 2 ]
        [[ "$output" == *"hosts-floor: "*"${words##*[ ,-]}"* ]]
    done
}

@test "the best exchange of each round is the floor, and that of the best median is named" {
    # The ratios of the rounds are 20 / 10, 24 / 8 and 30 / 10.
    local out
    out=$(
        awk -v format=text -f "${HOSTS_FLOOR%/*}/peers/cells.awk" -f "$HOSTS_FLOOR.awk" <<'END' | tr -s ' '
round,library,settings,measurement,np,bytes,iterations,value,p99
1,floor,tcp,reduce/star,4,65536,9,10,11
1,floor,tcp,reduce/tree,4,65536,9,12,13
1,ftcoll,tcp-default,reduce,4,65536,9,20,21
2,floor,tcp,reduce/star,4,65536,9,40,41
2,floor,tcp,reduce/tree,4,65536,9,8,9
2,ftcoll,tcp-default,reduce,4,65536,9,24,25
3,floor,tcp,reduce/star,4,65536,9,10,11
3,floor,tcp,reduce/tree,4,65536,0,timeout
3,ftcoll,tcp-default,reduce,4,65536,9,30,31
END
    )
    echo "$out"
    grep -qxF ' 4 64K reduce star 10.0 24.0 3.00 2.00..3.00' <<<"$out"
    grep -qxF ' 4 64K reduce star 10.0, tree 10.0' <<<"$out"
}
