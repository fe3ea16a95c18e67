#!/usr/bin/env bats
# Tests ftcoll-sim gossip. SIM is the program.
# shellcheck disable=SC2030,SC2031,SC2054,SC2154 # bats sets variables; commas belong to the words

bats_require_minimum_version 1.5.0

gossip() {
    run --separate-stderr "$SIM" gossip "$@"
}

# column NAME: prints a column of the rows of $output.
column() {
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' <<<"$output"
}

@test "a row for each combination that can be, and a word about the others" {
    gossip -n 8,16 --algorithm all --neighbourhood hypercube,directed-hypercube --turns on,off --repeat 2
    [ "$status" -eq 0 ]
    # Each of the two sizes has these rows: 4 algorithms in turns on the hypercube, 5 without turns
    # on it, and push-sum, push-flow and pflc without turns on the directed hypercube.
    [ "$(column algorithm | wc -l)" -eq $((2 * (4 + 5 + 3))) ]
    [[ $stderr == *" combinations are left out"* ]]
    [ "$(column runs | sort -u)" = 2 ]
}

@test "--help offers what gossip takes" {
    gossip --help
    [ "$status" -eq 0 ]
    [[ $output == *"--neighbourhood LIST"* && $output == *"--seed SEED"* && $output == *"--help"* ]]
    [[ $output != *"--scheme"* && $output != *"--masked"* ]]
}

@test "the default is pfcc in turns on a hypercube, and it converges" {
    gossip -n 16
    [ "$status" -eq 0 ]
    [ "$(column algorithm),$(column neighbourhood),$(column turns)" = pfcc,hypercube,on ]
    [ "$(column converged)" = 20 ]
    awk -v e="$(column error)" 'BEGIN { exit !(e <= 1e-9 && e > 0) }'
}

@test "a flip of each bit: pfcc answers it, push-sum is wrong" {
    gossip -n 16 -a pfcc,push-sum -e 1e-12 --flip any:weight:0@60 --bits 50..62 --repeat 5 --most 600
    [ "$status" -eq 0 ]
    [ "$(grep -c '^pfcc,.*,5,5,' <<<"$output")" -eq 13 ]
    [ "$(grep '^push-sum' <<<"$output" | grep -vc ',5,5,')" -ge 10 ]
}

@test "deterministic algorithms beside it: few messages, no neighbourhoods, and a flip is in the result" {
    gossip -n 32,100 -a doubling,rabenseifner,voted -b full,torus --turns off,on --cost hops
    [ "$status" -eq 0 ]
    [ "$(column algorithm | wc -l)" -eq 6 ] # the rows are not repeated for each neighbourhood
    [ "$(column converged | sort -u)" = 20 ]
    [ "$(column most | head -n 1)" = 5.0 ]
    gossip -n 32 -a doubling,voted -e 1e-14 --flip any:flow:0@150 --bits 50..62
    [ "$(grep -c '^doubling,.*,20,0,' <<<"$output")" -eq 13 ]
    [ "$(grep -c '^voted,.*,20,20,' <<<"$output")" -eq 13 ]
    gossip -n 32 -a doubling --loss 20 --repeat 3
    [ "$(column error)" = inf ]
}

@test "permuted schedules: pfcc needs fewer messages on a hypercube, and a flip costs it as little" {
    gossip -n 32 -a pfcc --turns off -e 1e-12
    drawn=$(column most)
    gossip -n 32 -a pfcc --turns off -e 1e-12 --schedule permuted
    permuted=$(column most)
    gossip -n 32 -a pfcc --turns off -e 1e-12 --schedule permuted --flip any:flow:60@100
    [ "$(column converged)" = 20 ]
    awk -v d="$drawn" -v p="$permuted" -v f="$(column most)" 'BEGIN { exit !(p < d && f < 1.05 * p) }'
}

@test "a damaged head of a message is dropped, and costs nothing" {
    gossip -n 16 -a pfcc,pflc -e 1e-9 --flip any:head.1:0@20 --bits 0..63 -r 5
    [ "$status" -eq 0 ]
    [ "$(column converged | sort -u)" = 5 ]
    [ "$(column flips | sort -u)" = 1 ]
    gossip -n 16 -a pfcc --sync --flip any:head:0@20
    [ "$status" -ne 0 ]
    [[ $stderr == *"messages in rounds have no heads"* ]]
}

@test "loss, deaths, vectors and other inputs: the same command is the same table" {
    args=(-n 27 -b torus -a pflc,pfcc --turns off --loss 0,10 --kill 2@30 --count 5 --inputs exponential --cost random)
    args+=(--flip-rate 0.001 --flips-end 100 --repeat 3 --seed 5)
    gossip "${args[@]}"
    [ "$status" -eq 0 ]
    [ "$(column converged | sort -u)" = 3 ]
    [ "$(column flips | sort -g | tail -n 1)" != 0 ]
    first=$output
    gossip "${args[@]}" --jobs 1
    [ "$output" = "$first" ]
    gossip "${args[@]}" --seed 6
    [ "$output" != "$first" ]
}

@test "--sync counts rounds, --stop first ends earlier, --fit prints the model" {
    gossip -n 64,128,256,512 -a push-sum -b full --sync --fit -e 1e-6 --repeat 3
    [ "$status" -eq 0 ]
    all=$(column most | tail -n 1)
    [[ $stderr =~ log2\(n.*/\ gap.*R\^2\ [0-9.]+\ over\ 4\ numbers ]]
    gossip -n 512 -a push-sum -b full --sync -e 1e-6 --repeat 3 --stop first
    awk -v a="$all" -v f="$(column most)" 'BEGIN { exit !(f < a) }'
}

@test "a lost message silences its receiver, or costs 1 / (1 - p) if the receiver sends all the same" {
    gossip -n 32 -a push-flow --turns off -e 1e-14 --loss 0,5,20 --after-loss waits,sends --repeat 10
    [ "$status" -eq 0 ]
    [ "$(column converged | sort -u)" = 10 ]
    mapfile -t most < <(column most)
    awk -v q="${most[0]}" -v w="${most[1]}" 'BEGIN { exit !(w < 0.8 * q) }'
    [ "${most[3]}" = "${most[0]}" ] # where nothing is lost, they are the same
    awk -v q="${most[3]}" -v s="${most[4]}" 'BEGIN { r = s / q * 0.95; exit !(r > 0.93 && r < 1.07) }'
    awk -v q="${most[3]}" -v s="${most[5]}" 'BEGIN { r = s / q * 0.8; exit !(r > 0.93 && r < 1.07) }'
}

@test "a message costs what its distance says, and a round what its most expensive message does" {
    gossip -n 64 -a push-sum,doubling -b full,torus --sync --cost hops --repeat 3
    [ "$status" -eq 0 ]
    # the torus is 4 x 4 x 4: 6 hops at most; gossip on a torus goes one hop
    awk -F, '$1 == "push-sum" && $2 == "full" { exit !($20 < 0 + $21 && $21 > 5 * $12 && $21 <= 6 * $12) }' <<<"$output"
    awk -F, '$2 == "torus" { exit $21 != $12 }' <<<"$output"
    awk -F, '$1 == "doubling" { exit !($21 > 4 * $12 && $21 <= 6 * $12) }' <<<"$output"
    gossip -n 16 -a doubling --cost fat-tree:4 --repeat 1
    [ "$(column time)" = 8.0 ] # two steps of one hop, two of three
    gossip -n 32 -a doubling --cost 4=2,16=2.5,all=5 --repeat 1
    [ "$(column time)" = 14.0 ] # 2 + 2, 2.5 + 2.5, 5
    gossip -n 32 -a push-sum --cost 4=2,16=2.5,all=5 --repeat 1
    awk -v t="$(column time)" -v m="$(column mean)" 'BEGIN { exit !(t > 2 * m && t < 5 * m) }'
}

@test "--only-flips counts the runs with so many flips, and has their quartiles" {
    gossip -n 16 -a pfcc --turns off --flip-rate 1e-3 --only-flips 0..31 --repeat 20 -e 1e-6
    [ "$status" -eq 0 ]
    [ "$(column runs | awk '{ s += $1 } END { print s }')" -eq 20 ]
    [ "$(column runs | grep -vc '^0$')" -gt 1 ]
    awk -F, '$10 > 0 && NR > 1 && !($14 <= $15 && $15 <= $16 && $16 <= $17 && $17 <= $18 && $22 == $9) { exit 1 }' <<<"$output"
}

@test "figures relative to another algorithm, to the first point and to another table" {
    cd "$BATS_TEST_TMPDIR"
    args=(-n 16,32,64 -a push-sum,doubling --repeat 2)
    gossip "${args[@]}" --sync
    cat >rounds.csv <<<"$output"
    for base in doubling first rounds.csv; do
        gossip "${args[@]}" --relative $base --plot-messages m.svg --plot-time t.svg --plot-boxes b.svg
        [ "$status" -eq 0 ]
        grep -q 'relative to' m.svg
        grep -q 'relative to' t.svg
    done
    gossip -n 16 -a push-flow,pfcc --turns off --loss 0,10 --relative first --plot-messages l.svg --repeat 2
    grep -q '1 / (1 - p)' l.svg
    gossip -n 64,128,256,512,1024 -a push-sum -b hypercube,torus --sync --fit --repeat 1 -e 1e-3 --plot-messages f.svg
    [[ $stderr == *"no model for a torus of 1024"* ]]
    [ "$(column neighbourhood | grep -c torus)" -eq 2 ] # 64 and 512 are cubes
}

@test "figures" {
    cd "$BATS_TEST_TMPDIR"
    gossip -n 16 -a push-flow,pfcc --turns off --flip 3:flow:56@60 --bits 0..5 --repeat 1 --plot-messages m.svg \
        --plot-error e.svg --plot-history h.svg --plot-flows f.svg
    [ "$status" -eq 0 ]
    for file in m e h f; do
        grep -q '</svg>' $file.svg
    done
    grep -q 'flipped bit' m.svg
    grep -q 'greatest entry of the flow of each link' f.svg
    [ "$(grep -c 'id="gnuplot_plot_' f.svg)" -ge 32 ] # a 4-cube has 32 edges
    gossip -n 64 -a doubling,push-flow --repeat 1 --plot-flows f.svg --plot-history h.svg
    [ "$status" -eq 0 ]
    grep -q 'greatest entry of a flow' f.svg
}

@test "wrong use has one line with cause and remedy" {
    refused() {
        gossip "$@"
        [ "$status" -eq 2 ]
        [ "${#stderr_lines[@]}" -eq 1 ]
    }
    refused
    [[ $stderr == *"give -n 32..512"* ]]
    refused -n 16 -a rumour
    refused -n 16 -b street
    refused -n 16 -e 0
    refused -n 16 --loss 100
    refused -n 16 --turns sometimes
    refused -n 16 --bits 3
    [[ $stderr == *"give --flip"* ]]
    refused -n 16 --flip 3:flow:64@1
    refused -n 16 --flip 16:flow:1@1
    refused -n 16 --flip any:flow:1@1 --bits 60..64
    refused -n 16 --kill 3
    refused -n 16 -a pfcc -b directed-hypercube
    [[ $stderr == *"take hypercube"* ]]
    refused -n 16 allreduce
    refused -n 16 -f 2
    refused -n 16 --scheme bit
    [[ $stderr == *"failure_info.scheme (--scheme): leave it out" ]]
    refused -n 16 --inputs none
    refused -n 16 --schedule weekly
    refused -n 16 --schedule permuted --turns on
    refused -n 16 -a voted --kill 1@3
    refused -n 16 --stop never
    refused -n 16 --cost miles
    refused -n 16 --cost 16=2
    [[ $stderr == *"as all=5"* ]]
    refused -n 16 --cost 16=2,4=3,all=5
    refused -n 16 --cost fat-tree:1
    refused -n 16 --after-loss shouts
    refused -n 16 --after-loss sends --sync
    [[ $stderr == *"leave out --after-loss"* ]]
    refused -n 16 --only-flips 4..2
    refused -n 16 --relative nothing
    [[ $stderr == *"no algorithm of this table"* ]]
}
