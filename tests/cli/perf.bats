#!/usr/bin/env bats
# ftcoll-perf on running jobs. FTRUN and PERF name the two programs. These tests never judge the
# measured values. They only check that the values are there and in order, and that the run ends.
# shellcheck disable=SC2154 # stderr and its lines are of bats

bats_require_minimum_version 1.5.0

EVERY_OTHER="allgather allgatherv gather gatherv scatter scatterv alltoall alltoallv reduce_scatter_block reduce_scatter scan exscan"

setup() {
    work=$(mktemp -d)
    cd "$work" || return 1
}

teardown() {
    rm -rf "$work"
}

# perf NP [ftrun's options --] ARGS...: puts the tables into $output, and messages into $stderr.
perf() {
    local np=$1 options=()
    shift
    if [[ " $* " == *" -- "* ]]; then
        while [ "$1" != -- ]; do
            options+=("$1")
            shift
        done
        shift
    fi
    run --separate-stderr timeout -s KILL 60 "$FTRUN" -np "$np" "${options[@]}" "$PERF" "$@"
}

# Prints a column of a table, without its head.
column() {
    grep -v '^#' <<<"$output" | awk -v column="$1" 'NF { print $column }'
}

@test "a table: title, one row for each size, quantiles in order" {
    perf 4 -m 8:64 -t 0.02 allreduce
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ ${lines[0]} =~ ^"# ftcoll-perf "[0-9.]+": allreduce, sum of doubles; 4 ranks on "[0-9]+" core"s?"; algorithm board; f 3"$ ]]
    [ "$(column 1 | tr '\n' ' ')" = "8 16 32 64 " ]
    # columns: bytes, median, p99, min, max
    grep -v '^#' <<<"$output" | awk '!($4 <= $2 && $2 <= $3 && $3 <= $5 && $4 > 0) { exit 1 }'
}

@test "without ftrun it is a job of one, and says so" {
    run --separate-stderr timeout -s KILL 60 "$PERF" -m 8 -t 0.02 all
    [ "$status" -eq 0 ]
    [[ $output == *"1 rank on"*"algorithm self"* ]]
    [ "$(grep -c '^# ftcoll-perf' <<<"$output")" -eq 17 ]
}

@test "--help and --version speak once" {
    run "$PERF" --help
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == "usage: "* ]]
    perf 3 --version
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 1 ]
}

@test "wrong use: one line for all ranks, exit code 2" {
    refused() {
        local words=$1
        shift
        perf "$@"
        [ "$status" -eq 2 ]
        [ -z "$output" ]
        [ "${#stderr_lines[@]}" -eq 1 ]
        [[ $stderr == "ftcoll-perf: "*"$words"* ]]
    }
    refused "is no operation" 3 alreduce
    refused "--sizes" 3 -m 8:x allreduce
    refused "give ftrun -np 5 or more" 4 --kill 3 allreduce
    refused "libftcoll does not have it" 4 doubling
    LD_LIBRARY_PATH=$BASELINE refused "survives no death" 4 --kill 1 doubling
    refused "neither --kill nor --synchronise" 3 --per-rank --synchronise bcast
    refused "--nonblocking goes with neither --kill" 3 --nonblocking --synchronise bcast
    refused "gossip has no non-blocking form" 3 --nonblocking allreduce gossip
    refused "from 1 to 1024" 3 --under-way 0 allreduce
    refused "rate is no collective" 4 --kill 1 rate
    refused "pingpong has no non-blocking form" 3 --nonblocking messages
    refused "give ftrun -np 2 or more" 1 messages
    refused "give ftrun -np 19 or more" 4 --kill 1 all
    [[ $stderr == *"fewer than 2"* ]]
}

@test "an error of the library is said in its words" {
    run timeout -s KILL 60 "$FTRUN" -np 1 sh -c 'PMIX_RANK=7 exec "$0" -m 8 -i 1 bcast' "$PERF"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"ftcoll-perf: PMIx_Init: "* ]]
}

@test "--json: every operation, every size" {
    perf 3 -m 8:32 -t 0.01 --json all # blocks of three ranks are measured up to 32 bytes together
    [ "$status" -eq 0 ]
    [ "$(jq -r '[.tables[].operation] | join(" ")' <<<"$output")" = "allreduce reduce bcast barrier validate $EVERY_OTHER" ]
    jq -e '.tables | map(select(.operation == "alltoall"))[0].rows | length == 1' <<<"$output"
    [ "$(jq -c '[.tables[0].rows[].bytes]' <<<"$output")" = "[8,16,32]" ]
    jq -e '.schema == 1 and .ranks == 3 and .living == 3' <<<"$output"
    jq -e 'all(.tables[].rows[]; .min_us <= .median_us and .median_us <= .p99_us and .p99_us <= .max_us)' <<<"$output"
    jq -e '.tables[3].rows | length == 1 and (.[0] | has("bytes") or has("mb_per_s") | not)' <<<"$output"
}

@test "--csv: names, then a line for each row, with the same number of fields" {
    perf 2 -m 8:16 -t 0.01 --csv bcast barrier
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 4 ]
    [ "${lines[0]}" = operation,algorithm,ranks,bytes,samples,batch,median_us,p99_us,min_us,max_us,mb_per_s,f,dissemination,tree,correction ]
    [[ ${lines[1]} =~ ^bcast,[a-z]+,2,8, ]]
    [[ ${lines[3]} =~ ^barrier,[a-z]+,2,, ]]
    for line in "${lines[@]}"; do
        [ "$(tr -dc , <<<"$line" | wc -c)" -eq 14 ]
    done
}

@test "how results spread, and f: in the title, in JSON, in CSV" {
    perf 3 -f 2 --set broadcast.algorithm=ccg -- -m 8 -t 0.01 bcast
    [ "$status" -eq 0 ]
    [[ ${lines[0]} == *"; algorithm tree, gossip + checked; f 2" ]]
    perf 3 --set collectives.algorithm=corrected --set broadcast.tree=kary -- -m 8 -t 0.01 bcast
    [[ ${lines[0]} == *"; algorithm tree, kary tree + none; f 2" ]]
    perf 3 --set broadcast.dissemination=multicast --set multicast.least_ranks=2 -- -m 8 -t 0.01 --csv bcast
    [[ ${lines[1]} == bcast,tree,3,*,2,multicast,binomial,ring ]]
    perf 3 --set log.level=error --set broadcast.dissemination=multicast -- -m 8 -t 0.01 --csv bcast reduce # with few ranks it leaves the broadcast to the tree
    [[ ${lines[1]} == bcast,tree,3,*,2,tree,binomial,none ]]
    [[ ${lines[2]} == reduce,tree,3,*,1,,, ]]
    perf 3 --set broadcast.dissemination=multicast --set multicast.least_ranks=2 --set multicast.most_bytes=8 -- -m 8:16 -t 0.01 bcast
    [[ ${lines[0]} == *"; algorithm tree, multicast + ring; f 2" ]]
    [[ ${lines[-2]} != *tree* && ${lines[-1]} == *"  binomial tree + none" ]]
    perf 3 -f 0 --set broadcast.algorithm=ocg -- -m 8 -t 0.01 --json bcast
    jq -e '{dissemination: "gossip", tree: "binomial", correction: "opportunistic"} as $ocg
        | .f == 0 and .broadcast == $ocg and .tables[0].rows[0].broadcast == $ocg and .tables[0].rows[0].f == 2' <<<"$output"
    perf 3 -- -m 8 -t 0.01 --json bcast
    jq -e '.f == 2 and .broadcast == null and .tables[0].rows[0].f == 2' <<<"$output"
}

@test "an exchange and a ring are called so, and mask none" {
    perf 3 --set collectives.algorithm=corrected --set reduce.doubling=3 --set collectives.large=ring --set collectives.large_at=16 -- \
        -m 8:16 -t 0.01 allreduce
    [[ ${lines[0]} == *"; algorithm exchange; f 0" && ${lines[-1]} == *"  ring" ]]
    perf 3 --set collectives.algorithm=corrected --set reduce.doubling=3 -- -m 8 -t 0.01 --json allreduce
    jq -e '.f == 0 and .broadcast == {dissemination: "exchange", tree: "none", correction: "none"}' <<<"$output"
}

@test "--per-rank: a line for each rank, and how far apart they are" {
    perf 5 --set broadcast.dissemination=tree -- --per-rank -m 8:16 -i 7 bcast barrier
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ ${lines[0]} == *"bcast of doubles; 5 ranks on "* ]]
    [ "$(column 2 | head -n 10 | tr '\n' ' ')" = "0 1 2 3 4 0 1 2 3 4 " ]
    [ "$(grep -c '^# slowest rank: median [0-9.]*, p99 [0-9.]*; spread [0-9.]*$' <<<"$output")" -eq 3 ]
    perf 4 -- --per-rank -m 8 -i 7 --json allreduce
    jq -e '.tables[0].rows[0] | .samples == 7 and .batch == 1 and .spread_us >= 0 and (.by_rank | map(.rank) == [0, 1, 2, 3]) and
        all(.by_rank[]; .median_us <= .p99_us) and (.by_rank | map(.p99_us) | max) <= .max_us' <<<"$output"
    perf 3 -- --per-rank -m 8 -t 0.05 --csv reduce
    [ "${lines[0]}" = operation,algorithm,ranks,bytes,samples,rank,median_us,p99_us,slowest_us,spread_us,f,dissemination,tree,correction ]
    [ "$(tail -n +2 <<<"$output" | cut -d , -f 6 | tr '\n' ' ')" = "0 1 2 " ]
    for line in "${lines[@]}"; do [ "$(tr -dc , <<<"$line" | wc -c)" -eq 13 ]; done
}

@test "--per-rank: a rank that has failed has no line" {
    perf 4 --kill 2@0.3 -- --per-rank -m 8 -t 2 --csv bcast
    [ "$status" -eq 0 ]
    [ "$(tail -n +2 <<<"$output" | cut -d , -f 3,6 | tr '\n' ' ')" = "3,0 3,1 3,3 " ]
}

@test "--per-rank: ranks with another clock, as those of another host have, are refused" {
    local boot=/proc/sys/kernel/random/boot_id
    echo 12345678-1234 >other
    echo "mount --bind $work/other $boot && exec \"\$@\"" >elsewhere
    cat >on_hosts <<END
#!/bin/sh
[ "\$FTCOLL_RANK" != 1 ] || exec unshare -m sh $work/elsewhere "\$@"
exec "\$@"
END
    chmod +x on_hosts
    FTCOLL_RANK=1 ./on_hosts grep -q 12345678-1234 $boot 2>/dev/null || skip "mount namespaces are not permitted here"
    run --separate-stderr timeout -s KILL 60 "$FTRUN" -np 3 ./on_hosts "$PERF" --per-rank -m 8 -i 3 bcast
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [[ $stderr == "ftcoll-perf: --per-rank needs one clock"*"on one host"* ]]
}

@test "--per-rank --plot draws a curve over the ranks for each size and operation" {
    command -v gnuplot || skip "gnuplot is not installed"
    perf 3 --per-rank -m 8:16 -i 5 --plot x.svg bcast barrier
    [ "$status" -eq 0 ]
    for text in "bcast, 8 bytes" "bcast, 16 bytes" ">barrier<" "latency of each rank"; do grep -q "$text" x.svg; done
}

@test "-i: that many samples, one operation each after a barrier" {
    perf 3 -m 8 -i 7 -w 0 --synchronise --csv reduce
    [ "$status" -eq 0 ]
    [[ ${lines[1]} =~ ^reduce,[a-z]+,3,8,7,1, ]]
}

@test "--nonblocking: every operation, with its computation and its overlap" {
    perf 3 -m 8:32 -i 3 -w 2 --nonblocking --csv all comm
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ ${lines[0]} == operation,algorithm,ranks,bytes,*,correction,under_way,compute_us,overlapped_us,overlap_percent ]]
    [ "$(tail -n +2 <<<"$output" | cut -d , -f 1 | uniq | tr '\n' ' ')" = "allreduce reduce bcast barrier validate $EVERY_OTHER comm_dup comm_split " ]
    tail -n +2 <<<"$output" | awk -F , 'NF != 19 || $16 != 1 || $17 <= 0 || $18 <= 0 || $19 < 0 || $19 > 100 { exit 1 }'
    perf 2 -m 8 -i 3 --nonblocking allreduce
    [[ ${lines[1]} == *", started and waited for, 1 under way" ]]
    [[ ${lines[2]} == *"compute"*"overlapped"*"overlap %"*"samples" ]]
}

@test "--under-way: results are right, and the overlap follows from the other figures of its row" {
    perf 3 -m 8:64 -i 3 -w 0 --under-way 5 --json allreduce bcast alltoall barrier
    [ "$status" -eq 0 ]
    jq -e '.under_way == 5 and all(.tables[].rows[]; .batch % 5 == 0)' <<<"$output"
    # the figures are rounded to a nanosecond, so short ones are rough
    jq -e 'all(.tables[].rows[]; .median_us as $median | .overlap.compute_us > 0 and
        ((100 * (1 - (.overlap.overlapped_us - .overlap.compute_us) / .median_us) | [[., 0] | max, 100] | min)
            - .overlap.percent | fabs < 0.1 + 0.2 / $median))' <<<"$output"
}

@test "--nonblocking: if a rank dies, the size is measured again" {
    perf 4 --kill 0@1 -- -m 8:16 -t 1 --under-way 3 --csv bcast
    [ "$status" -eq 0 ]
    [[ ${lines[2]} == bcast,*,3,16,* ]]
    [[ $stderr == *"1 of 4 ranks failed"* ]]
}

@test "comm: communicators are made and freed, also while ranks die" {
    perf 4 -i 3 -w 0 --csv comm
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [ "$(tail -n +2 <<<"$output" | cut -d , -f 1,3-5 | tr '\n' ' ')" = "comm_dup,4,,3 comm_split,4,,3 " ]
    perf 5 --kill 2 --csv comm_split
    [ "$status" -eq 0 ]
    [ "$(tail -n +2 <<<"$output" | cut -d , -f 1,5 | tr '\n' ' ')" = "comm_split,4 comm_split,3 " ]
}

@test "messages: each pair measures both, and what it received is checked; of three ranks one has no partner" {
    local np
    for np in 2 3 4; do
        perf $np -m 8:64K -i 3 -w 2 --json messages
        [ "$status" -eq 0 ]
        [ -z "$stderr" ]
        [ "$(jq -r '[.tables[].operation] | join(" ")' <<<"$output")" = "pingpong rate" ]
        # 64 messages together are as large as the largest size, and so is one message of a ping-pong
        jq -e '.tables | map([.rows[].bytes] | max) == [65536, 1024]' <<<"$output"
        jq -e --argjson pairs $((np / 2)) \
            'all(.tables[].rows[]; .algorithm == "point_to_point" and (.messages_per_s * .median_us / 1e6 / $pairs - 1 | fabs < 0.01))' <<<"$output"
    done
    perf 2 -m 8 -i 3 messages
    [ "$(grep -c 'us for one message at the slowest rank' <<<"$output")" -eq 2 ]
    [[ ${lines[2]} == *"MB/s"*"messages/s"*"samples" ]]
}

@test "messages: if a rank dies, the size is measured again by the pairs of the others" {
    perf 5 --kill 1@1 -- -m 8:16 -t 1 --csv pingpong rate
    [ "$status" -eq 0 ]
    [[ ${lines[2]} == pingpong,point_to_point,4,16,* ]]
    [[ ${lines[3]} == rate,point_to_point,4,8,* ]]
    [[ $stderr == *"1 of 5 ranks failed"* ]]
}

@test "--plot draws a figure beside the table, and is refused before the measurement if it cannot" {
    command -v gnuplot || skip "gnuplot is not installed"
    perf 2 -m 8:64 -t 0.01 --plot "it's.svg" allreduce barrier
    [ "$status" -eq 0 ]
    [ "$(column 1 | head -n 4 | tr '\n' ' ')" = "8 16 32 64 " ]
    grep -q '>allreduce<' "it's.svg"
    grep -q '</svg>' "it's.svg"
    perf 2 --plot "$work/no/such.svg" allreduce
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ $stderr == *"give a file that can be written"* ]]
}

@test "--plot: each operation has its colour, one size is enough" {
    command -v gnuplot || skip "gnuplot is not installed"
    perf 2 -m 64 -t 0.01 --plot x.svg allreduce barrier validate reduce
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    for colour in "  0, 114, 178" "213,  94,   0"; do # gnuplot's way of writing #0072B2 and #D55E00
        grep -q "stroke='rgb($colour)'" x.svg
    done
}

@test "--plot: a figure that is not complete is an error" {
    command -v gnuplot || skip "gnuplot is not installed"
    perf 2 -m 8:16 -t 0.01 --plot /dev/full allreduce
    [ "$status" -eq 1 ]
    [[ $stderr == *"/dev/full is not complete; is the disk full?"* ]]
}

@test "--plot: a file is a file, whatever gnuplot makes of such names" {
    command -v gnuplot || skip "gnuplot is not installed"
    for name in "|touch made" - "a\\n.svg"; do
        perf 2 -m 8:16 -t 0.01 --plot "$name" allreduce
        [ "$status" -eq 0 ]
        grep -q '</svg>' "./$name"
    done
    [ ! -e made ]
}

@test "--plot without gnuplot says what to install" {
    run --separate-stderr env PATH="$work" "$PERF" --plot x.svg -m 8 -t 0.01 allreduce
    [ "$status" -eq 1 ]
    [[ $stderr == *"gnuplot-nox"* ]]
}

@test "--kill: each victim once, never the lowest rank, and the figures of its death" {
    perf 8 --kill 4 --seed 5 --json allreduce
    [ "$status" -eq 0 ]
    jq -e '.seed == 5 and .living == 4' <<<"$output"
    jq -e '.tables[0].kills | length == 4 and ([.[].rank] | unique | length == 4 and min > 0)' <<<"$output"
    jq -e 'all(.tables[0].kills[]; 0 < .first_us and .first_us <= .last_us)' <<<"$output"
    jq -e '.tables[0] | .median_us <= .p99_us and .p99_us <= .max_us' <<<"$output"
    [[ $stderr == *"4 of 8 ranks failed"* ]]
}

@test "--kill: figures say of how many ranks they are" {
    perf 6 --kill 1 --json allreduce barrier
    [ "$status" -eq 0 ]
    [ "$(jq -c "[.tables[].kills[0].survivors]" <<<"$output")" = "[5,4]" ]
    perf 6 --kill 1 allreduce barrier
    [ "$status" -eq 0 ]
    [[ $output == *"allreduce, sum of doubles, 8 bytes; 6 ranks on "* ]]
    [[ $output == *"barrier; 6 ranks (1 failed) on "* ]]
    [ "$(column 3 | tr "\n" " ")" = "5 4 " ]
}

@test "--kill: the seed that is printed gives the same victims" {
    perf 6 --kill 3 barrier
    [ "$status" -eq 0 ]
    seed=$(grep -o 'seed [0-9]*' <<<"$output" | cut -d ' ' -f 2)
    victims=$(column 2)
    [ "$(wc -l <<<"$victims")" -eq 3 ]
    perf 6 --kill 3 --seed "$seed" barrier
    [ "$status" -eq 0 ]
    [ "$(column 2)" = "$victims" ]
}

@test "--kill in every operation, with every failure-information scheme" {
    local scheme operations
    for scheme in list count bit; do
        for operations in "allreduce reduce bcast barrier validate" "allgather allgatherv gather gatherv scatter scatterv" \
            "alltoall alltoallv reduce_scatter_block reduce_scatter scan exscan"; do
            # shellcheck disable=SC2086
            perf 8 --set failure_info.scheme=$scheme -- --kill 1 --csv $operations
            [ "$status" -eq 0 ]
            [ "${lines[0]}" = operation,algorithm,bytes,rank,survivors,first_us,last_us,f,dissemination,tree,correction ]
            [ "$(tail -n +2 <<<"$output" | cut -d , -f 1 | tr '\n' ' ')" = "$operations " ]
        done
    done
}

@test "ranks that others kill: the size is measured again, the lowest survivor goes on printing" {
    perf 6 --kill 0@1 --kill 1@2 --kill 4@2.5 -- -m 8:32 -t 1 bcast
    [ "$status" -eq 0 ]
    [ "$(column 1 | tr '\n' ' ')" = "8 16 32 " ]
    grep -qE "\(3 failed\)|^ +32 .*  3 ranks\$" <<<"$output" # all of the table, or its last row
    [[ $stderr == *"ftcoll-perf: a rank died during bcast of"*"measured again"* ]]
    [[ $stderr == *"3 of 6 ranks failed"* ]]
}

@test "all but one killed: the last one finishes the table" {
    perf 3 --kill 0@0.5 --kill 1@1 -- -m 8:32 -t 0.3 --csv allreduce reduce
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 7 ]
    [[ ${lines[6]} =~ ^reduce,[a-z]+,1,32, ]]
    [[ $stderr == *"2 of 3 ranks failed"* ]]
}

@test "the algorithm that runs is the one that ftrun --print-algorithms names" {
    local setting line operation
    for setting in job.f=2 collectives.algorithm=corrected reduce.doubling=4 reduce.direct=4 collectives.large=ring \
        broadcast.dissemination=gossip integrity.mode=vote; do
        "$FTRUN" --print-algorithms -np 4 --set collectives.large_at=4096 --set "$setting" >"$BATS_TEST_TMPDIR/printed"
        perf 4 --set collectives.large_at=4096 --set "$setting" -- -m 8K:8K -i 3 --csv all
        [ "$status" -eq 0 ]
        for operation in allreduce reduce bcast barrier validate allgather gather scatter alltoall reduce_scatter scan exscan; do
            line=$(grep -E "^(.*, )?$operation[,:]" "$BATS_TEST_TMPDIR/printed" | tail -n 1)
            grep -q "^$operation,${line##*: }," <<<"$output"
        done
    done
}

@test "gossip aggregation, with the messages of a rank and what its end takes" {
    perf 4 --set gossip.accuracy=1e-6 --set gossip.algorithm=pflc -- -m 64 -i 5 --json gossip
    [ "$status" -eq 0 ]
    jq -e '.tables[0].rows[0].gossip | .algorithm == "pflc" and .neighbourhood == "hypercube" and .accuracy == 1e-6 and
        .messages > 5 and .attempts >= 1 and .gossip_us > 0 and .agreement_us > 0' <<<"$output"
    perf 4 -- -m 8 -i 5 gossip
    [ "$status" -eq 0 ]
    [[ $output == *"pfcc, hypercube, 1e-09:"*"messages"* ]]
}

@test "allreduces without tolerance, to compare with: by name, right at any number of ranks" {
    export LD_LIBRARY_PATH=$BASELINE
    for np in 2 5 8; do
        perf $np -m 8:1K -t 0.01 --csv doubling rabenseifner voted
        [ "$status" -eq 0 ]
        [ -z "$stderr" ]
        [ "$(tail -n +2 <<<"$output" | cut -d , -f 1-4 | tr '\n' ' ')" = "$(for name in doubling rabenseifner voted; do
            printf "$name,unprotected,$np,%d " 8 16 32 64 128 256 512 1024
        done)" ]
    done
    perf 3 -m 1M -t 0.01 rabenseifner # larger than the ring between two ranks
    [ "$status" -eq 0 ]
}

@test "allreduces without tolerance: a death ends one, the survivors measure again" {
    export LD_LIBRARY_PATH=$BASELINE
    for algorithm in board corrected; do
        perf 5 --set collectives.algorithm=$algorithm --kill 3@2 --kill 0@2.3 -- -m 64 -t 4 voted # the run may begin late
        [ "$status" -eq 0 ]
        [ "$(column 1)" = 64 ]
        [[ $output == *"5 ranks (2 failed) on "* ]]
        [[ $stderr == *"a rank died during voted of 64 bytes; measured again"* ]]
    done
}
