#!/usr/bin/env bats
# The tests kill checkpoint.c in part and altogether, also while it writes. FTRUN and EXAMPLES (a
# folder) come from ctest.
# shellcheck disable=SC2016,SC2154 # conditions to wait for; of the helpers

# shellcheck source-path=SCRIPTDIR source=../launcher/helper.bash
source "$BATS_TEST_DIRNAME/../launcher/helper.bash"
# shellcheck source-path=SCRIPTDIR source=kills.bash
source "$BATS_TEST_DIRNAME/kills.bash"

# total STEPS: prints the total when no rank dies.
total() {
    rm -rf undisturbed
    "$EXAMPLES/checkpoint" undisturbed "$1" | sed -n 's/.*total //p'
}

# All survivors have the total TOTAL.
came_to() {
    [ "$(sed -n 's/^rank .* total //p' <<<"$output" | sort -u)" = "$1" ]
}

# The files that `latest` names exist and are whole. Their step goes to $saved.
whole() {
    local number shard
    saved=0
    [ -e state/latest ] || return 0
    read -r _ saved _ number _ <state/latest
    grep -qx "step $saved value $number whole" state/latest
    for ((shard = 0; shard < 16; shard++)); do
        grep -qx "step $saved value [0-9]* whole" "state/shard-$shard.$((number % 2))"
    done
}

@test "whoever dies, the survivors go back to the last whole checkpoint, and on to the same total" {
    seed_kills
    want=$(total 400)
    for round in 1 2 3; do
        rm -rf state
        kills $((round * 2)) 8 400
        launch -np 8 -f 2 "${kill[@]}" "$EXAMPLES/checkpoint" state 400 10 5
        [ "$status" -eq 0 ]
        came_to "$want"
        whole
        [ "$saved" -eq 400 ]
        [ -z "$(find state -name 'unfinished-*')" ]
    done
}

@test "a rank dies on the way: all survivors go back, once" {
    want=$(total 1200)
    start -np 4 -f 1 "$EXAMPLES/checkpoint" state 1200 10 5
    wait_until '[ -e state/latest ]'
    kill -9 "$(pgrep -P "$pid" | head -n 1)"
    finish
    output=$(cat out)
    echo "exit $status: $output"
    [ "$status" -eq 0 ]
    came_to "$want"
    [ "$(grep -c "went back 1 times" out)" -eq 3 ]
}

@test "with every failure-information scheme, and by messages" {
    seed_kills
    want=$(total 200)
    for setting in scheme=count scheme=bit share=off; do
        rm -rf state
        kills 3 6 400
        launch -np 6 -f 1 --set "failure_info.$setting" --set collectives.algorithm=corrected "${kill[@]}" \
            "$EXAMPLES/checkpoint" state 200 10 5
        [ "$status" -eq 0 ]
        came_to "$want"
    done
}

@test "a job that is killed altogether, again and again, goes on with any number of ranks" {
    seed_kills
    want=$(total 600)
    before=0
    for np in 4 3 5 8 2; do
        kills "$np" "$np" 500
        launch -np "$np" -f 1 "${kill[@]}" "$EXAMPLES/checkpoint" state 600 10 5
        whole
        [ "$saved" -ge "$before" ]
        before=$saved
    done
    launch -np 3 "$EXAMPLES/checkpoint" state 600 10
    [ "$status" -eq 0 ]
    came_to "$want"
    [[ $output == *"from step $before to 600"* ]]
}

# struck MOMENT: either half of each shard is written, or all shards and half of the next `latest`
# are.
struck() {
    local halves shards
    halves=$(find state -name 'unfinished-*' -size +0c | wc -l)
    shards=$(grep -lx 'step 120 value [0-9]* whole' state/shard-* | wc -l)
    [ "$1,$halves,$shards" = shards,16,0 ] || [ "$1,$halves,$shards" = latest,1,16 ]
}

@test "half a checkpoint is never taken for a whole one" {
    want=$(total 200)
    for moment in shards latest; do
        rm -rf state
        launch -np 4 "$EXAMPLES/checkpoint" state 100 20
        whole
        [ "$saved" -eq 100 ]
        cp state/latest before
        start -np 16 "$EXAMPLES/checkpoint" state 200 20 4000 # it pauses four seconds in the middle of each write
        wait_until "struck $moment"
        mapfile -t ranks < <(pgrep -P "$pid")
        kill -9 "$pid" # its ranks end with it
        wait_until 'gone "${ranks[@]}"'
        struck "$moment"
        cmp before state/latest
        whole
        launch -np 3 "$EXAMPLES/checkpoint" state 200 20
        [ "$status" -eq 0 ]
        [[ $output == *"from step 100 to 200"* ]]
        came_to "$want"
    done
}

@test "a job waits for the last ranks of the one before" {
    launch -np 2 "$EXAMPLES/checkpoint" state 20 20
    flock --shared state/lock sleep 1 3>&- & # this process takes the place of such a rank
    local holder=$!
    wait_until '! flock --nonblock state/lock true'
    launch -np 2 "$EXAMPLES/checkpoint" state 40 20
    [ "$status" -eq 0 ]
    gone "$holder"
}

@test "a damaged shard ends the job with its name, not with a wrong total" {
    launch -np 2 "$EXAMPLES/checkpoint" state 40 20
    whole
    read -r _ _ _ number _ <state/latest
    truncate -s 12 "state/shard-5.$((number % 2))"
    launch -np 2 "$EXAMPLES/checkpoint" state 80 20
    [ "$status" -eq 1 ]
    [[ $output == *"shard-5.$((number % 2)): Bad message"* ]]
}

@test "a disk that is full ends the job; the checkpoint before stays" {
    [ -c /dev/full ] || skip "no /dev/full"
    launch -np 2 "$EXAMPLES/checkpoint" state 40 20
    ln -sf /dev/full state/unfinished-1
    launch -np 2 "$EXAMPLES/checkpoint" state 80 20
    [ "$status" -eq 1 ]
    [[ $output == *"No space left on device"* ]]
    whole
    [ "$saved" -eq 40 ]
}

@test "wrong arguments are refused" {
    run "$EXAMPLES/checkpoint" state
    [ "$status" -eq 2 ]
    [[ $output == *"usage:"* ]]
}
