#!/usr/bin/env bats
# Tests bench/compare without its peers, and its tables from figures that this file makes. COMPARE
# is the script, BUILD the build.

setup() {
    work=$(mktemp -d)
    export TMPDIR=$work
    unset FTCOLL_OPTIONS
}

teardown() {
    rm -rf "$work"
}

compare() {
    run timeout -s KILL 60 "$COMPARE" --build "$BUILD" --no-mpich --no-openmpi "$@"
    echo "exit $status: $output"
}

tables() { # FORMAT; the figures are standard input
    awk -v format="$1" -f "${COMPARE%/*}/peers/cells.awk" -f "${COMPARE%/*}/peers/tables.awk" | tr -s ' '
}

@test "help names every option and the tables" {
    compare --help
    [ "$status" -eq 0 ]
    for word in --np --ops --sizes --hosts --rounds --seconds --quick --csv --markdown --ftrun-options --under-way startup memory floor nonblocking creation messages; do
        [[ "$output" == *"$word"* ]]
    done
}

@test "wrong use ends with 2 and says what is wrong" {
    compare --frobnicate
    [ "$status" -eq 2 ]
    [[ "$output" == *frobnicate* ]]
    for words in "--np 2,x" "--np 0" "--ops gathering" "--sizes 12" "--sizes 8Q" "--rounds 0" "--seconds 0" "--hosts 17" "--hosts 4 --np 6" "--under-way 1" "--hosts 2 memory" "tea"; do
        # shellcheck disable=SC2086 # an option and its value
        compare $words
        [ "$status" -eq 2 ]
        [[ "$output" == "compare: "*"${words##*[ ,]}"* ]]
    done
}

@test "a file that cannot be written is refused before anything is measured" {
    for option in --csv --markdown; do
        compare "$option" "$work/no/such" --np 2 --ops barrier --rounds 1 --seconds 0.05 operations
        [ "$status" -eq 1 ]
        [[ "$output" == *"$option"*"give a file that can be written"* ]]
        [[ "$output" != *barrier* ]]
    done
}

@test "without a build it says how to make one" {
    unset FTRUN
    compare --build "$work/nothing"
    [ "$status" -eq 1 ]
    [[ "$output" == *"cmake --build"* ]]
}

@test "a small run prints ftcoll's barrier and its distance from the floor" {
    compare --np 2 --ops barrier --sizes 8 --rounds 1 --seconds 0.05 \
        --csv "$work/csv" --markdown "$work/md" operations floor
    [ "$status" -eq 0 ]
    [ "$(grep -cE '^1,ftcoll,default,barrier,2,0,[1-9][0-9]*,[0-9.]+,[0-9.]+$' "$work/csv")" -eq 1 ]
    [ "$(grep -cE '^1,floor-(none|cores),[a-z]+,barrier,2,0,[1-9][0-9]*,[0-9.]+,[0-9.]+$' "$work/csv")" -eq 8 ]
    grep -qE '^\| 2 \|  \| [0-9.]+ \| - \| - \| - \| - \|$' "$work/md"
    grep -qE '^\| 2 \| none( \| [0-9.]+){5} \| - \|$' "$work/md"
}

@test "all operations come out right and are measured" {
    compare --np 3 --ops all --sizes 8,64K --rounds 1 --seconds 0.05 --csv "$work/csv" operations
    [ "$status" -eq 0 ]
    grep -qE "^1,ftcoll,default,barrier,3,0,[1-9]" "$work/csv"
    for operation in allreduce reduce bcast allgather gather scatter alltoall reduce_scatter scan; do
        for size in 8 65536; do
            grep -qE "^1,ftcoll,default,$operation,3,$size,[1-9]" "$work/csv"
        done
    done
}

@test "requests: one and several at a time, with their overlap" {
    compare --np 3 --ops all --sizes 8,16K --under-way 5 --rounds 1 --seconds 0.02 --csv "$work/csv" nonblocking
    [ "$status" -eq 0 ]
    for operation in allreduce reduce bcast allgather gather scatter alltoall reduce_scatter scan; do
        for size in 8 16384; do
            grep -qE "^1,ftcoll,default,i$operation,3,$size,[1-9]" "$work/csv"
            grep -qE "^1,ftcoll,default,i$operation-5-overlap,3,$size,[1-9][0-9]*,[0-9.]+$" "$work/csv"
        done
    done
    grep -qE "^1,ftcoll,default,ibarrier-5,3,0,[1-9]" "$work/csv"
}

@test "several requests at a time are left out where their buffers need too much memory" {
    compare --np 3 --ops gather,reduce --sizes 16M --under-way 2 --rounds 1 --seconds 0.02 --csv "$work/csv" nonblocking
    [ "$(cut -d , -f 4 "$work/csv" | grep -v overlap | tr '\n' ' ')" = "measurement igather ireduce ireduce-2 " ]
}

@test "communicators are made and freed" {
    compare --np 3 --rounds 1 --seconds 0.02 --csv "$work/csv" creation
    [ "$status" -eq 0 ]
    [ "$(grep -cE "^1,ftcoll,default,comm_(dup|split),3,0,[1-9][0-9]*,[0-9.]+,[0-9.]+$" "$work/csv")" -eq 2 ]
}

@test "messages come out right, and are measured in pairs" {
    compare --np 2,3 --sizes 8,64K,4M --rounds 1 --seconds 0.02 --csv "$work/csv" messages
    [ "$status" -eq 0 ]
    for np in 2 3; do
        [ "$(grep -cE "^1,ftcoll,default,pingpong,$np,(8|65536|4194304),[1-9][0-9]*,[0-9.]+,[0-9.]+$" "$work/csv")" -eq 3 ]
        [ "$(grep -cE "^1,ftcoll,default,rate,$np,(8|65536),[1-9][0-9]*,[0-9.]+,[0-9.]+$" "$work/csv")" -eq 2 ]
    done
    [ "$(grep -c rate "$work/csv")" -eq 4 ]
}

@test "start-up and memory of a small job" {
    compare --np 2 --rounds 1 --csv "$work/csv" startup memory
    [ "$status" -eq 0 ]
    [ "$(grep -cE '^1,ftcoll,default,(start|whole|memory),2,8,1,[0-9.]+$' "$work/csv")" -eq 3 ]
}

@test "ftcoll's failure is told, and is no figure" {
    printf "#!/bin/sh\n[ \"\$1\" = --version ] || { echo no luck today >&2; exit 7; }\n" >"$work/ftrun"
    chmod +x "$work/ftrun"
    FTRUN=$work/ftrun compare --np 2 --ops barrier --rounds 1 --seconds 0.05 operations
    [ "$status" -eq 1 ]
    [[ "$output" == *"exit code 7"*"no luck today"*failed* ]]
}

@test "an interrupted run leaves nothing behind" {
    "$COMPARE" --build "$BUILD" --no-mpich --no-openmpi --np 4 --ops barrier --seconds 30 operations 3>&- &
    local script=$! end=$((SECONDS + 20))
    until marked "$script" | grep -q .; do
        [ "$SECONDS" -lt "$end" ]
        sleep 0.1
    done
    kill -TERM "$script"
    wait "$script" || [ $? -eq 143 ]
    end=$((SECONDS + 20))
    while marked "$script" | grep -q .; do # the program is killed, but not yet gone
        [ "$SECONDS" -lt "$end" ]
        sleep 0.1
    done
    [ -z "$(ls -A "$work")" ]
}

# Prints the processes of that script's runs.
marked() { # PID
    grep -lzx "FTC_COMPARE=$1" /proc/[0-9]*/environ 2>/dev/null || true
}

@test "the ratio is the median over the rounds of the best peer's time over ftcoll's" {
    # Each round has MPICH, Open MPI's better setting, and ftcoll. So the ratios are
    # 30 / 10, 24 / 12 and 50 / 10.
    local out
    out=$(
        tables text <<'END'
round,library,settings,measurement,np,bytes,iterations,value,p99
1,ftcoll,default,allreduce,2,65536,9,10,11
1,mpich,default,allreduce,2,65536,9,40,41
1,openmpi,a,allreduce,2,65536,9,30,31
1,openmpi,b,allreduce,2,65536,9,35,36
2,ftcoll,default,allreduce,2,65536,9,12,13
2,mpich,default,allreduce,2,65536,9,24,25
2,openmpi,a,allreduce,2,65536,9,90,91
2,openmpi,b,allreduce,2,65536,9,60,61
3,ftcoll,default,allreduce,2,65536,9,10,11
3,mpich,default,allreduce,2,65536,0,timeout,
3,openmpi,a,allreduce,2,65536,9,70,71
3,openmpi,b,allreduce,2,65536,9,50,51
3,mpich,default,allreduce,16,65536,0,timeout,
END
    )
    echo "$out"
    grep -qxF ' 2 64K 10.0 32.0 50.0 3.00 2.00..5.00' <<<"$out"
    grep -qxF ' 16 64K - timeout - - -' <<<"$out"
}

@test "the overlap is that of the settings with the best time; the ratios are in one table" {
    local out
    out=$(
        tables markdown <<'END'
round,library,settings,measurement,np,bytes,iterations,value,p99
1,ftcoll,default,iallreduce-16,2,8,9,10,11
1,ftcoll,default,iallreduce-16-overlap,2,8,9,40.2
1,openmpi,a,iallreduce-16,2,8,9,30,31
1,openmpi,a,iallreduce-16-overlap,2,8,9,7.0
1,openmpi,b,iallreduce-16,2,8,9,35,36
1,openmpi,b,iallreduce-16-overlap,2,8,9,99.0
1,ftcoll,default,comm_dup,2,0,9,10,11
1,openmpi,a,comm_dup,2,0,9,5,6
END
    )
    echo "$out"
    grep -qxF '### iallreduce, 16 under way, us; then the overlap, %' <<<"$out"
    grep -qxF '| 2 | 8 | 10.0 | - | 30.0 | 3.00 | 3.00..3.00 | 40 | - | 7 |' <<<"$out"
    grep -qxF '| operation | np | no data | 8 |' <<<"$out"
    grep -qxF '| iallreduce-16 | 2 | - | 3.00 |' <<<"$out"
    grep -qxF '| comm_dup | 2 | 0.50 | - |' <<<"$out"
}

@test "the distance from the floor is that from the best way of waiting" {
    local out
    out=$(
        tables markdown <<'END'
round,library,settings,measurement,np,bytes,iterations,value,p99
1,floor-none,spin,barrier,4,0,9,5000,5001
1,floor-none,yield,barrier,4,0,9,2.5,3
1,floor-none,futex,barrier,4,0,9,40,41
1,floor-none,adaptive,barrier,4,0,9,3,3
1,ftcoll,default,barrier,4,0,9,5,6
1,ftcoll,default,allreduce,4,8,9,7.5,8
END
    )
    echo "$out"
    grep -qxF '| 4 | none | 5000 | 2.50 | 40.0 | 3.00 | 2.00 | 3.00 |' <<<"$out"
}
