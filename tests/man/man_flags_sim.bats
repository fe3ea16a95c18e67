#!/usr/bin/env bats
# Every option that ftcoll-sim(1) lists does what the page says. Options that set a key come from
# the page, with their values. All other options are in a table here, which has to be the page's
# list.
# shellcheck disable=SC2016,SC2119,SC2153,SC2154 # bats and ctest set variables

load pages

setup_file() {
    render_pages
}

# The first function prints the options of all commands that do not set a key. The second one prints
# the options of the commands, as "COMMAND OPTION".
common_options() {
    section_of ftcoll-sim.1 "COMMON OPTIONS" | awk '
        function put() { if (names != "") print names; names = "" }
        /^       -/ { put(); names = $0 }
        /^           Sets / { names = "" }
        END { put() }' | sed 's/^ *//; s/, /\n/g' | sed 's/ .*//'
}

command_options() {
    section_of ftcoll-sim.1 COMMANDS | awk '
        /^   [a-z]+$/ { command = $1 }
        /^       -/ {
            gsub(/, -/, "\n" command " -")
            sub(/^ */, command " ")
            print
        }' | sed 's/^\([a-z]* [^ ]*\).*/\1/'
}

# Prints OPTION|SECTION.KEY|DEFAULT|ALLOWED.
setting_options() {
    section_of ftcoll-sim.1 "COMMON OPTIONS" | awk '
        /^       --/ { option = $1 }
        /^           Sets / {
            sub(/^ *Sets /, ""); sub(/\.$/, "")
            key = allowed = $0
            sub(/:.*/, "", key); sub(/^[^:]*: /, "", allowed)
            fallback = ""
            if (match(allowed, /; default [^;]*$/)) {
                fallback = substr(allowed, RSTART + 10)
                allowed = substr(allowed, 1, RSTART - 1)
            }
            print option "|" key "|" fallback "|" allowed
        }'
}

# Runs once without the options behind "--", with the output in base, and once with them, with the
# output in out.
changes() { # ARGUMENT... -- OPTION...
    local before=()
    while [ "$1" != -- ]; do
        before+=("$1")
        shift
    done
    shift
    sim "${before[@]}" >base
    sim "${before[@]}" "$@"
}
changed() { code 0 && ! alike <base; }
# Compares standard input with out, but ignores the memory that a run took.
alike() { cmp -s <(sed "s/; [0-9]* MiB;/;/") <(sed "s/; [0-9]* MiB;/;/" out); }
same() { code 0 && alike <base; }
csv() { [ "$(tail -n +2 out | cut -d, -f"$1" | sort -u | paste -sd' ')" = "$2" ]; } # FIELD VALUES
kept() { code 0 && grep -q "no promise was broken\|every promise is kept" out; }
drawn() { grep -q "<svg" a.svg || err gnuplot; }

@test "an option that sets a key does the same as --set, and refuses what the page does not allow" {
    local option key fallback allowed value good bad count=0
    local with=(-n 9 -f 1 allreduce reduce:3 bcast:1 bcast:2)
    cd "$BATS_TEST_TMPDIR"
    setting_options >options
    while IFS='|' read -r option key fallback allowed; do
        values_of "$key" "$fallback" "$allowed"
        for value in "${good[@]}"; do
            echo "$option \"$value\""
            sim "$option" "$value" "${with[@]}" >out
            if [[ $option == --dissemination && $value =~ ^(binomial|kary|lame)$ ]]; then
                sim --set broadcast.tree="$value" --set broadcast.dissemination=tree "${with[@]}" | alike
            else
                sim --set "$key=$value" "${with[@]}" | alike
            fi
        done
        for value in "${bad[@]}"; do
            echo "$option \"$value\""
            run sim "$option" "$value" "${with[@]}"
            [ "$status" -eq 2 ]
            [[ $output == "ftcoll-sim: $option: $key: "* ]]
        done
        count=$((count + 1))
    done <options
    [ "$count" -gt 15 ]
}

@test "options of all commands" {
    walk "$(common_options)" <<'TABLE'
-n :: sim -n 5 allreduce :: out "5 ranks"
--ranks :: sim --ranks 5 allreduce :: out "5 ranks"
-f :: sim -n 5 -f 3 allreduce :: out "f = 3"
--masked :: sim -n 5 --masked 3 allreduce :: out "f = 3"
--ops :: changes -n 5 "barrier*3" bcast:2 -- :: same
--ops :: sim -n 5 bcast:2 barrier >base; sim -n 5 --ops bcast:2,barrier :: same
-s :: sim -n 5 -s 77 allreduce :: out "seed 77"
--seed :: sim -n 5 --seed 77 allreduce :: out "seed 77"
--fragment :: changes -n 9 -b 64 --dissemination multicast --set multicast.least_ranks=2 --trace bcast -- --fragment 1 :: code 0
--fragment :: sim -n 5 --fragment 65537 bcast :: code 2 && err "--fragment"
--config :: printf '[job]\nf = 3\n' >a; sim -n 5 --config a allreduce :: out "f = 3"
--config :: sim -n 5 --config none allreduce :: code 2 && err none
--set :: printf '[job]\nf = 3\n' >a; sim -n 5 --set job.f=2 --config a allreduce :: out "f = 2"
-h :: sim run -h :: code 0 && out "usage: ftcoll-sim [run]"
--help :: sim sweep --help :: code 0 && out "usage: ftcoll-sim sweep"
-V :: sim -V :: code 0 && grep -qxE "ftcoll-sim [0-9.]+" out
--version :: sim --version :: code 0 && grep -qxE "ftcoll-sim [0-9.]+" out
TABLE
}

@test "options of each command" {
    walk "$(command_options)" <<'TABLE'
run -c :: changes -n 8 allreduce -- -c tcp :: changed
run --cost :: sim -n 8 --cost tcp allreduce >base; sim run -n 8 -c tcp allreduce :: same
run -b :: changes -n 8 allreduce -- -b 4096 :: changed && out "4096-byte"
run --bytes :: sim -n 8 --bytes 4096 allreduce :: out "4096-byte"
run --topology :: sim -n 8 --topology torus allreduce :: out torus
run --hop :: sim -n 8 --topology torus --hop 1us allreduce :: out "torus, 1000 ns per further hop"
run --think :: changes -n 8 allreduce -- --think 10us :: changed
run --detect :: changes -n 8 --kill 1 allreduce -- --detect 5ms :: changed && out "notices 5 ms"
run --jitter :: changes -n 8 --kill 1 allreduce -- --jitter 5ms :: changed
run --kill-kind :: sim -n 8 --kill 1 --kill-kind coordinator allreduce :: out "1 death: rank 0"
run --kill-at :: changes -n 8 --kill 1 allreduce -- --kill-at start :: changed && out "1 death: rank"
run --burst :: changes -n 8 --kill 3 allreduce -- --burst :: changed
run -k :: sim -n 8 -k 2 allreduce :: out "2 deaths"
run --kill :: sim -n 8 --kill 2 allreduce :: out "2 deaths"
run --stall :: changes -n 7 allreduce -- --stall 1@1us:5ms :: changed
run --stall :: sim -n 7 --stall 7@1us:5ms allreduce :: code 2 && err "0 to 6"
run -t :: sim -n 4 -t allreduce :: out "rank 1  calls allreduce, op 0"
run --draw :: sim -n 4 --draw allreduce :: out '1 -> 0 [label="0,1,2,3"]'
run --trace :: sim -n 4 --trace allreduce :: out "rank 1  calls allreduce, op 0"
run -j :: sim -n 4 -j allreduce :: holds ".schema == 1 and .ranks == 4" out
run --json :: sim -n 4 --json allreduce :: holds ".schema == 1 and .ranks == 4" out
explore --crashes :: sim explore -n 2 --crashes 0 --json allreduce >base; sim explore -n 2 --crashes 1 --json allreduce
    :: [ "$(jq .states base)" -lt "$(jq .states out)" ]
explore --unfenced :: sim explore -n 3 -f 1 --unfenced --crashes 1 allreduce allreduce :: code 3 && out VIOLATION
explore --nodes :: sim explore -n 3 --nodes 2 allreduce :: kept
explore --late-word :: sim explore -n 3 --nodes 2 --crashes 2 --json bcast:1 allreduce >base;
    sim explore -n 3 --nodes 2 --crashes 2 --late-word --json bcast:1 allreduce :: code 0 && [ "$(jq .states base)" -ne "$(jq .states out)" ]
explore --no-epoch :: sim explore -n 3 --nodes 2 --crashes 2 --no-epoch --late-word allreduce allreduce :: code 3 && out VIOLATION
explore --late-look :: sim explore -n 4 -f 1 --nodes 2 --crashes 2 --late-look allreduce :: code 3 && out VIOLATION
explore --far-ahead :: sim explore -n 4 -f 1 --nodes 2 --crashes 0 --far-ahead "bcast:1*3" :: code 3 && out VIOLATION
explore --go-on :: changes explore -n 4 --nodes 2 reduce:1 -- --go-on :: changed
explore --no-reduction :: sim explore -n 2 --json allreduce >base; sim explore -n 2 --no-reduction --json allreduce
    :: [ "$(jq .transitions base)" -le "$(jq .transitions out)" ] && holds '.verdict == "kept"' out
explore --max-states :: sim explore -n 3 --max-states 10 allreduce :: code 4
explore --memory :: sim explore -n 4 -f 1 --crashes 2 --memory 0.01 allreduce bcast:1 allreduce :: code 4 && out "NOT EXHAUSTIVE"
explore --program :: sim explore -n 2 --crashes 0 --program "dup iallreduce@child" :: kept
explore --threads :: sim explore -n 2 -f 1 --crashes 0 --program "dup idup allreduce@1" --json >base;
    sim explore -n 2 -f 1 --crashes 0 --program "dup idup allreduce@1" --threads 2 --json
    :: [ "$(jq .states base)" -lt "$(jq .states out)" ]
explore --json :: sim explore -n 2 --json allreduce :: holds '.schema == 1 and .verdict == "kept"' out
storm -r :: sim storm -r 20 :: kept && out "20 of 20 runs"
storm --runs :: sim storm --runs 20 :: kept && out "20 of 20 runs"
storm -n :: sim storm -r 20 -n 3-5 :: kept
storm --ranks :: sim storm -r 20 --ranks 1-x :: code 2 && err "1-x"
storm -j :: sim storm -r 20 -j 1 :: out "(1 jobs"
storm --jobs :: sim storm -r 20 --jobs 2 :: out "(2 jobs"
storm --rules :: changes storm -r 20 -j 1 -- --rules :: code 0 && [ "$(wc -l <base)" -lt "$(wc -l <out)" ]
storm --json :: sim storm -r 20 --json :: holds ".schema == 1" out
replay --crash :: sim replay -n 4 --trace --crash 0@2 allreduce :: code 0 && grep -qi "rank 0 .*\(dies\|crash\)" out
replay --lose :: changes replay -n 4 --trace --crash 0@2 allreduce -- --lose 0:2@0 :: code 0
replay --lose :: sim replay -n 4 --lose x allreduce :: code 2 && err "FROM:TO"
replay --schedule :: changes replay -n 4 --trace allreduce -- --schedule 2:1 :: changed
replay --trace :: sim replay -n 4 --trace allreduce :: out "rank 0   calls operation 0, allreduce"
reach -r :: sim reach -r 7 -n 4 --dissemination lame --correction checked :: grep -qE "^lame\+checked +7 " out
reach --runs :: sim reach --runs 7 -n 4 --dissemination lame --correction checked :: grep -qE "^lame\+checked +7 " out
reach -n :: changes reach -r 7 --dissemination lame --correction checked -- -n 50-60 :: changed
reach --ranks :: sim reach -r 7 --ranks 5-4 :: code 2 && err "5-4"
broadcast -n :: sim broadcast -n 4,8 -C ocg -r 1 :: csv 3 "4 8"
broadcast --ranks :: sim broadcast --ranks 4..16 -C ocg -r 1 :: csv 3 "16 4 8"
broadcast -C :: sim broadcast -n 8 -C lame+checked,ocg -r 1 :: tail -n +2 out | cut -d, -f1 | sort | paste -sd' ' | grep -q "checked"
broadcast --combination :: sim broadcast -n 8 --combination binomial+none -r 1 :: csv 1 "binomial+none"
broadcast -k :: sim broadcast -n 8 -C ocg -r 1 -k 0,1 :: csv 4 "0 1"
broadcast --failed :: sim broadcast -n 8 -C ocg -r 1 --failed 2 :: csv 4 2
broadcast --loss :: sim broadcast -n 8 -C multicast+ring -r 1 --loss 10 :: csv 6 10
broadcast -c :: sim broadcast -n 8 -C ocg -r 1 -c tcp :: csv 2 tcp
broadcast --cost :: sim broadcast -n 8 -C ocg -r 1 --cost rdma,tcp :: csv 2 "rdma tcp"
broadcast --noise :: changes broadcast -n 8 -C binomial+none -r 1 -- --noise 2us :: changed
broadcast -b :: changes broadcast -n 8 -C binomial+none -c tcp -r 1 -- -b 100000 :: changed
broadcast --bytes :: changes broadcast -n 8 -C binomial+none -c tcp -r 1 -- --bytes 100000 :: changed
broadcast -r :: sim broadcast -n 8 -C ocg -r 3 :: csv 7 3
broadcast --repeat :: sim broadcast -n 8 -C ocg --repeat 3 :: csv 7 3
broadcast -J :: changes broadcast -n 8 -C ocg -r 2 -- -J 1 :: same
broadcast --jobs :: changes broadcast -n 8 -C ocg -r 2 -- --jobs 2 :: same
broadcast --plot-latency :: sim broadcast -n 8,16 -C ocg -r 1 --plot-latency a.svg :: drawn
broadcast --plot-messages :: sim broadcast -n 8,16 -C ocg -r 1 --plot-messages a.svg :: drawn
broadcast --plot-skew :: sim broadcast -n 8,16 -C ocg -r 1 --plot-skew a.svg :: drawn
broadcast --per-rank :: sim broadcast -n 4 -C multicast+ring --per-rank :: csv 7 "1 2 3"
broadcast --plot-ranks :: sim broadcast -n 8,16 -C ocg -r 1 --per-rank --plot-ranks a.svg :: drawn
broadcast --from-csv :: sim broadcast -n 8,16 -C ocg -r 1 >table; sim broadcast -n 8,16 -C ocg -r 1 --from-csv table --plot-latency a.svg :: drawn
gossip -n :: sim gossip -n 4,8 -r 1 :: csv 4 "4 8"
gossip --ranks :: sim gossip --ranks 4..16 -r 1 :: csv 4 "16 4 8"
gossip -a :: sim gossip -n 8 -r 1 -a push-sum :: csv 1 push-sum
gossip --algorithm :: sim gossip -n 8 -r 1 --algorithm pflc,doubling :: csv 1 "doubling pflc"
gossip -b :: sim gossip -n 8 -r 1 -b full :: csv 2 full
gossip --neighbourhood :: sim gossip -n 8 -r 1 --neighbourhood full,torus :: csv 2 "full torus"
gossip -t :: sim gossip -n 8 -r 1 -t off :: csv 3 off
gossip --turns :: sim gossip -n 8 -r 1 --turns on,off :: csv 3 "off on"
gossip --schedule :: changes gossip -n 8 -r 1 -t off -- --schedule permuted :: changed
gossip -e :: sim gossip -n 8 -r 1 -e 1e-3 :: csv 5 0.001
gossip --accuracy :: sim gossip -n 8 -r 1 --accuracy 1e-3 :: csv 5 0.001
gossip --count :: changes gossip -n 8 -r 1 -- --count 9 :: changed
gossip --inputs :: changes gossip -n 8 -r 1 -- --inputs spike :: changed
gossip --cost :: changes gossip -n 8 -r 1 -- --cost random :: changed
gossip --loss :: sim gossip -n 8 -r 1 --loss 5 :: csv 6 5
gossip --after-loss :: changes gossip -n 8 -r 1 --loss 20 -- --after-loss sends :: changed
gossip --patience :: changes gossip -n 8 -r 1 --loss 20 -- --patience 2 :: changed
gossip --flip :: sim gossip -n 8 -r 1 --flip 1:flow:60@20 :: csv 22 1
gossip --bits :: sim gossip -n 8 -r 1 --flip 1:flow:0@20 --bits 3,5 :: csv 7 "3 5"
gossip --flip-rate :: changes gossip -n 8 -r 1 -- --flip-rate 0.1 :: changed
gossip --only-flips :: sim gossip -n 8 -r 9 --flip-rate 0.01 --only-flips 0,1 :: csv 9 "0 1"
gossip --crowd :: changes gossip -n 8 -r 1 --loss 40 -- --crowd 100 :: changed
gossip --flips-end :: changes gossip -n 8 -r 1 --flip-rate 0.1 -- --flips-end 2 :: changed
gossip --tau :: sim gossip -n 8 -r 1 --tau x :: code 2 && err "--tau"
gossip --kill :: changes gossip -n 8 -r 1 -- --kill 1@5 :: changed
gossip --sync :: changes gossip -n 8 -r 1 -- --sync :: changed
gossip --stop :: changes gossip -n 8 -r 1 -- --stop first :: changed
gossip --most :: sim gossip -n 8 -r 1 --most 3 :: csv 11 0
gossip -r :: sim gossip -n 8 -r 3 :: csv 10 3
gossip --repeat :: sim gossip -n 8 --repeat 3 :: csv 10 3
gossip --fit :: changes gossip -n 4..16 -r 1 -- --fit :: code 0 && ! cat base err | cmp -s - out
gossip --plot-messages :: sim gossip -n 4,8 -r 1 --plot-messages a.svg :: drawn
gossip --plot-time :: sim gossip -n 4,8 -r 1 --plot-time a.svg :: drawn
gossip --plot-boxes :: sim gossip -n 4,8 -r 1 --plot-boxes a.svg :: drawn
gossip --relative :: sim gossip -n 4,8 -r 1 --relative first --plot-messages a.svg :: drawn
gossip --plot-error :: sim gossip -n 4,8 -r 1 --plot-error a.svg :: drawn
gossip --plot-history :: sim gossip -n 4,8 -r 1 --plot-history a.svg :: drawn
gossip --plot-flows :: sim gossip -n 4,8 -r 1 --plot-flows a.svg :: drawn
gossip --from-csv :: sim gossip -n 4,8 -r 1 >table; sim gossip -n 4,8 -r 1 --from-csv table --plot-messages a.svg :: drawn
gossip -j :: changes gossip -n 8 -r 2 -- -j 1 :: same
gossip --jobs :: changes gossip -n 8 -r 2 -- --jobs 2 :: same
nodes -r :: sim nodes -r 7 :: code 0 && out "7 of 7 runs"
nodes --runs :: sim nodes --runs 7 :: code 0 && out "7 of 7 runs"
nodes --nodes :: sim nodes -r 10 --nodes 3 :: out "  30 nodes"
nodes --trace :: changes nodes -r 1 -- --trace :: [ "$(wc -l <base)" -lt "$(wc -l <out)" ]
nodes --spread :: sim nodes --spread 8 :: [ "$(wc -l <out)" -eq 4 ] && out "8,0,5,"
nodes --beats :: sim nodes --beats 16 :: [ "$(wc -l <out)" -eq 3 ] && out "16,72.0,"
nodes --cost :: changes nodes --spread 8 -- --cost rdma :: changed
nodes -c :: sim nodes --spread 8 --cost rdma >base; sim nodes --spread 8 -c rdma :: same
nodes --fault :: sim nodes --fault unchecked :: code 3
nodes --fault :: sim nodes -r 200 --fault by-l :: code 0
large -r :: sim large -r 7 :: kept && out "7 of 7 runs"
large --runs :: sim large --runs 7 :: kept && out "7 of 7 runs"
large --trace :: changes large -r 1 -- --trace :: [ "$(wc -l <base)" -lt "$(wc -l <out)" ]
messages -r :: sim messages -r 300 :: kept && out "300 runs"
messages --runs :: sim messages --runs 300 :: kept && out "300 runs"
messages --trace :: sim messages --trace :: code 0 && out "starts send"
communicators -r :: sim communicators -r 7 :: kept && out "7 of 7 runs"
communicators --runs :: sim communicators --runs 7 :: kept && out "7 of 7 runs"
communicators --trace :: changes communicators -r 1 -- --trace :: [ "$(wc -l <base)" -lt "$(wc -l <out)" ]
sweep -n :: sim sweep -n 4,6 allreduce :: csv 3 "4 6"
sweep --ranks :: sim sweep --ranks 2..8 allreduce :: csv 3 "2 4 8"
sweep -f :: sim sweep -n 8 -f 0..2 allreduce :: csv 4 "0 1 2"
sweep --masked :: sim sweep -n 8 --masked 3 allreduce :: csv 4 3
sweep -k :: sim sweep -n 8 -k 0,f -r 1 allreduce :: csv 5 "0 1"
sweep --kills :: sim sweep -n 8 --kills 2 -r 1 allreduce :: csv 5 2
sweep -c :: sim sweep -n 8 -c tcp allreduce :: csv 2 tcp
sweep --cost :: sim sweep -n 8 --cost rdma,tcp allreduce :: csv 2 "rdma tcp"
sweep -b :: changes sweep -n 8 allreduce -- -b 100000 :: changed
sweep --bytes :: changes sweep -n 8 allreduce -- --bytes 100000 :: changed
sweep --topology :: changes sweep -n 64 allreduce -- --topology torus :: changed
sweep --hop :: changes sweep -n 64 --topology torus allreduce -- --hop 1us :: changed
sweep --think :: changes sweep -n 8 allreduce -- --think 10us :: changed
sweep --detect :: changes sweep -n 8 -k 2 -r 1 allreduce -- --detect 5ms :: changed
sweep --jitter :: changes sweep -n 8 -k 2 -r 1 allreduce -- --jitter 5ms :: changed
sweep --kill-kind :: changes sweep -n 16 -f 2 -k 2 -r 1 allreduce -- --kill-kind coordinator :: changed
sweep --kill-at :: changes sweep -n 8 -k 1 -r 1 allreduce -- --kill-at start :: changed
sweep --burst :: changes sweep -n 16 -f 1 -k 3 -r 5 allreduce -- --burst :: changed
sweep --stall :: sim sweep -n 8 --stall 1@1us:1ms,1s reduce :: csv 7 "1000000 1000000000"
sweep -r :: sim sweep -n 8 -k 1 -r 3 allreduce :: csv 6 3
sweep --repeat :: sim sweep -n 8 -k 1 --repeat 3 allreduce :: csv 6 3
sweep -J :: changes sweep -n 4,8 allreduce -- -J 1 :: same
sweep --jobs :: changes sweep -n 4,8 allreduce -- --jobs 2 :: same
sweep --plot :: sim sweep -n 2..8 --plot a.svg allreduce :: drawn
sweep --from-csv :: sim sweep -n 2..8 allreduce >table; sim sweep -n 2..8 --from-csv table --plot a.svg allreduce :: drawn
TABLE
}
