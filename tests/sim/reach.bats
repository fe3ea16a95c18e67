#!/usr/bin/env bats
# Tests ftcoll-sim reach. SIM is the program, MUTANT the same program over a correction with a
# fault.

bats_require_minimum_version 1.5.0

@test "every pair once, and every promise kept" {
    run --separate-stderr "$SIM" reach --runs 300
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "pair "*" promise" ]]
    [ "$(grep -c ' kept$' <<<"$output")" -eq 40 ]
    [[ ${lines[1]} =~ ^binomial\+none\ +300\ +[1-9] ]]
    [[ ${lines[40]} == "multicast+ring "* ]]
}

@test "the pairs that are asked for" {
    pairs() {
        "$SIM" reach --runs 5 "$@" 2>/dev/null | sed -n 's/ .* kept$//p' | tr '\n' ' '
    }
    [ "$(pairs --correction ring)" = "binomial+ring kary+ring lame+ring gossip+ring multicast+ring " ]
    [ "$(pairs --dissemination lame --correction checked)" = "lame+checked " ]
    [ "$(pairs --dissemination tree --correction none)" = "binomial+none kary+none lame+none " ]
    [ "$(pairs --tree kary --correction none)" = "kary+none gossip+none multicast+none " ]
    [ "$(pairs --algorithm ocg)" = "gossip+opportunistic " ]
}

@test "the same seeds give the same table" {
    args=(reach --runs 200 --seed 9 -n 5-9 --dissemination gossip)
    [ "$("$SIM" "${args[@]}")" = "$("$SIM" "${args[@]}")" ]
    [ "$("$SIM" "${args[@]}")" != "$("$SIM" "${args[@]}" --seed 10)" ]
}

@test "a broken promise ends it, and its line repeats it" {
    run --separate-stderr "$MUTANT" reach --dissemination kary --correction optimised --runs 20000
    [ "$status" -eq 3 ]
    [[ ${lines[1]} == "kary+optimised "*" BROKEN" ]]
    broken=$(grep 'a promise is broken' <<<"$stderr")
    [[ $broken == "ftcoll-sim: kary+optimised: a promise is broken: rank "* ]]
    read -ra again <<<"$(sed -n 's/^again: ftcoll-sim //p' <<<"$stderr")"
    run --separate-stderr "$MUTANT" "${again[@]}"
    [ "$status" -eq 3 ]
    [ "${stderr_lines[0]}" = "$broken" ]
}

@test "wrong use has one line with cause and remedy" {
    refused() {
        run --separate-stderr "$SIM" reach "$@"
        [ "$status" -eq 2 ]
        [ "${#stderr_lines[@]}" -eq 1 ]
    }
    refused -n 1
    refused -n 65
    refused -n 9-5
    refused --runs 0
    refused bcast
    [[ $stderr == *"leave it out"* ]]
    refused --distance 3
    [[ $stderr == *"broadcast.distance (--distance): reach draws it"* ]]
    refused --correction spoon
}
