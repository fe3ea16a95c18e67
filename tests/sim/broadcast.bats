#!/usr/bin/env bats
# Tests ftcoll-sim broadcast. SIM is the program, MUTANT the same program over a correction with a
# fault.

bats_require_minimum_version 1.5.0

setup() {
    work=$(mktemp -d)
}

teardown() {
    rm -rf "$work"
}

# column NAME: prints a column of the CSV in $output.
column() {
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } NR > 1 { print $at }' <<<"$output"
}

@test "a table: every combination once, in order" {
    run --separate-stderr "$SIM" broadcast -n 8,16 --failed 0,1 --repeat 2
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "${#lines[@]}" -eq $((1 + 40 * 2 * 2)) ]
    [[ ${lines[1]} == "binomial+none,L=2000;o=1000,8,0,0,0,1,"* ]]
    [[ ${lines[160]} == "multicast+ring,L=2000;o=1000,16,1,1,0,2,"* ]]
    for line in "${lines[@]}"; do
        [ "$(tr -dc , <<<"$line" | wc -c)" -eq 22 ]
    done
}

@test "the same table whatever the number of jobs" {
    args=(broadcast -n 16..64 -C ocg,lame+checked,multicast+ring,nack --failed 0,10% --loss 0,20 --repeat 3 --seed 4)
    "$SIM" "${args[@]}" --jobs 1 >"$work/a"
    "$SIM" "${args[@]}" --jobs 7 >"$work/b"
    cmp "$work/a" "$work/b"
    "$SIM" "${args[@]}" --seed 5 >"$work/b"
    ! cmp -s "$work/a" "$work/b"
}

@test "datagrams get lost, other messages do not" {
    run "$SIM" broadcast -n 32 -C binomial+none,multicast+none,ack-tree --loss 0,50 --repeat 3
    [ "$(column combination | tr '\n' ' ')" = "binomial+none multicast+none multicast+none ack-tree ack-tree " ]
    [ "$(column missed_runs | tr '\n' ' ')" = "0 0 3 0 0 " ]
}

@test "gossip has formulas beside" {
    run "$SIM" broadcast -n 1024 -C gossip+none,ocg,ccg --repeat 1
    [ "$(column rounds | tr '\n' ' ')" = "25 25 25 " ]
    [ "$(column distance | tr '\n' ' ')" = " 7  " ]
    [[ $(column formula_missed | head -n 1) == 43.* ]]
    [[ $(column formula_messages | head -n 1) == 3.1* ]]
    [ -z "$(column formula_missed | tail -n 1)" ]
}

@test "own parameters are kept" {
    run "$SIM" broadcast -n 64 -C ocg,kary+none --gossip-rounds 5 --distance 3 --arity 2
    [ "$(column rounds | head -n 1)" = 5 ]
    [ "$(column distance | head -n 1)" = 3 ]
    [ "$(column arity | tail -n 1)" = 2 ]
}

@test "a broken promise ends the table, and its line repeats it" {
    run --separate-stderr "$MUTANT" broadcast -n 16,64 -C binomial+none,gossip+optimised --distance 8 --noise 5us \
        --failed 30% --repeat 300 --cost 'L=2000,o=1000'
    [ "$status" -eq 3 ]
    broken=${stderr_lines[0]}
    [[ $broken == "ftcoll-sim: gossip+optimised, "*" ranks, "*" failed, L=2000;o=1000: a promise is broken: rank "* ]]
    read -ra again <<<"${stderr_lines[1]#again: ftcoll-sim }"
    run --separate-stderr "$MUTANT" "${again[@]}"
    [ "$status" -eq 3 ]
    [ "${stderr_lines[0]#*broken: }" = "${broken#*broken: }" ]
}

@test "figures" {
    command -v gnuplot >/dev/null || skip "no gnuplot"
    run --separate-stderr "$SIM" broadcast -n 8..32 -C binomial+checked,ocg,multicast+ring,ack-tree --failed 0,1 \
        --loss 0,10 --plot-latency "$work/it's latency.svg" --plot-messages "$work/m.svg" --plot-skew "$work/s.svg"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    for text in "</svg>" binomial gossip multicast acknowledged "0 failed" "1 failed" checked opportunistic; do
        grep -q "$text" "$work/it's latency.svg"
        grep -q "$text" "$work/m.svg"
    done
    for text in "</svg>" binomial+checked gossip+opportunistic multicast+ring "10 % lost" "1 failed"; do
        grep -q "$text" "$work/s.svg"
    done
}

@test "--per-rank: a line for each rank; the first and the last are those of the table" {
    run --separate-stderr "$SIM" broadcast -n 8,16 -C binomial+none,multicast+ring --per-rank
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = combination,cost,n,failed,dead,loss_percent,rank,runs,reached,time_ns ]
    [ "${#lines[@]}" -eq $((1 + 2 * (7 + 15))) ]
    [ "$(grep -c '^multicast+ring,.*,1,1,4000$' <<<"$output")" -eq 22 ] # L + 2o, whatever rank
    local last
    last=$("$SIM" broadcast -n 16 -C binomial+none | awk -F, 'NR == 2 { print $8 }')
    [ "$(grep '^binomial+none,.*,16,' <<<"$output" | cut -d , -f 10 | sort -n | tail -n 1)" = "$last" ]
}

@test "--per-rank: ranks that were not reached have no time, and others the mean of the runs that reached them" {
    run --separate-stderr "$SIM" broadcast -n 16 -C binomial+none --failed 4 --repeat 20 --per-rank
    [ "$status" -eq 0 ]
    awk -F, 'NR > 1 && !($8 == 20 && $9 < 20 && ($9 == 0) == ($10 == "")) { exit 1 }' <<<"$output"
}

@test "--plot-ranks: each rank, rank 1 and the last" {
    command -v gnuplot >/dev/null || skip "no gnuplot"
    run --separate-stderr "$SIM" broadcast -n 4,8,16 -C lame+none,multicast+ring --loss 0,10 --failed 0,1 --per-rank \
        --plot-ranks "$work/r.svg"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    for text in "</svg>" "each rank" "rank 1" "rank n - 1" lame+none "multicast+ring, 10 % lost, 1 failed"; do
        grep -q "$text" "$work/r.svg"
    done
}

@test "wrong use has one line with cause and remedy" {
    refused() {
        run --separate-stderr "$SIM" broadcast "$@"
        [ "$status" -eq 2 ]
        [ "${#stderr_lines[@]}" -eq 1 ]
    }
    refused
    [[ $stderr == *"give -n 64..4096"* ]]
    refused -n 8 bcast
    refused -n 8 --correction checked
    [[ $stderr == *"give --combination lame+checked"* ]]
    refused -n 8 -C spoon
    refused -n 8 --failed x
    refused -n 8 --failed 8
    [[ $stderr == *"nothing to run"* ]]
    refused -n 8 --loss 200
    refused -n 8 --noise 1fortnight
    refused -n 8 -C ack-tree --noise 1us
    refused -n 8 --repeat 0
    refused -n 8 --plot-ranks "$work/r.svg"
    [[ $stderr == *"add --per-rank"* ]]
    refused -n 8 --per-rank --plot-skew "$work/s.svg"
    refused -n 8 --per-rank -C ack-tree
}
