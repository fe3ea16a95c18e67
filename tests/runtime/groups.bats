#!/usr/bin/env bats
# Communicators other than the world, in jobs on one node, by messages, and on two nodes. FTRUN and
# GROUPS_APP come from ctest. The suite has a /dev/shm of its own.
# shellcheck disable=SC2153,SC2154 # bats and ctest set variables

setup() {
    export TMPDIR=$BATS_TEST_TMPDIR/tmp XDG_CONFIG_HOME=$BATS_TEST_TMPDIR
    mkdir "$TMPDIR"
    # A busy machine that stands still for some seconds must not count as a failure.
    printf "[detector]\nheartbeat_timeout_ms = 20000\n" >"$XDG_CONFIG_HOME/ftcoll.ini"
}

# play STORY WAY: $status and $output are those of the story.
play() {
    local command=("$FTRUN" -np 6 --timeout ${GROUPS_LOOPS:+3}250)
    case $2 in
    board) ;;
    messages) command+=(--set collectives.algorithm=corrected) ;;
    nodes) command=("$FTRUN" --engine local -np 2 "$FTRUN" --engine pmix -np 6 --timeout ${GROUPS_LOOPS:+3}250) ;;
    esac
    run timeout -s KILL ${GROUPS_LOOPS:+3}280 "${command[@]}" "$GROUPS_APP" "$1" 3>&-
    echo "$1, $2: exit code $status: $output"
}

# tells STORY SURVIVORS WAY...: the story ends well at the survivors, in each of these ways.
tells() {
    local story=$1 survivors=$2 way
    shift 2
    for way; do
        play "$story" "$way"
        [ "$status" -eq 0 ]
        [ "$(grep -c "^rank .: well$" <<<"$output")" -eq "$survivors" ]
        [ -z "${OWN_SHM:-}" ] || [ -z "$(find /dev/shm -name "ftcoll-*")" ]
        [ -z "$(ls -A "$TMPDIR")" ]
    done
}

@test "dup, split by key, ranks of no color, translation and names" {
    tells shapes 6 board messages nodes
}

@test "a rank that dies has failed in all communicators; the survivors shrink, twice" {
    tells deaths 4 board messages nodes
}

@test "communicators go over two levels where the world does, or have a board" {
    tells ways 6 board messages nodes
}

@test "delegates of a communicator on two nodes die at any step" {
    local point
    for point in call:20 return:20 deliver:20 send:40 send:41 send:42 send:43 send:44 send:45; do
        FTCOLL_TEST_DIE="5@$point,2@$point" tells delegates 4 nodes
    done
}

@test "a rank frees what others wait in: the job ends with 116, and a line says so" {
    local way
    for way in board messages nodes; do
        play leaves "$way"
        [ "$status" -eq 116 ]
        grep "rank 1 has freed the communicator" <<<"$output" | grep -q "in allreduce"
    done
}

@test "where a rank lacks the memory of a communicator, all go by messages" {
    [ -n "${OWN_SHM:-}" ] || skip "no /dev/shm of its own: that takes root"
    tells lacks 6 board nodes
}

@test "the listed ranks alone make groups, of which two overlap, and one lists a dead rank" {
    tells groups 5 board messages nodes
}

@test "a group is made while a copy of its ranks is under way" {
    tells beside-requests 6 board messages nodes
}

@test "communicators are freed in different orders, while others go on" {
    tells frees 6 board messages nodes
}

@test "one rank revokes what the others wait in, and they go on in a shrunk one" {
    tells revokes 6 board messages nodes
}

@test "a rank revokes and dies at once" {
    tells revokes-and-dies 5 board messages nodes
}

@test "no revoke ends an agree" {
    tells revokes-and-agrees 5 board messages nodes
    tells agrees-on 6 board messages nodes
}

@test "the world is revoked" {
    tells revokes-world 6 board messages nodes
}

@test "the world is revoked while it is finalized" {
    tells revokes-at-the-end 6 board messages nodes
}

@test "finalize is refused while a thread is in a call on another communicator" {
    tells finalizes-early 6 board messages nodes
}

@test "two threads use two communicators at the same time" {
    tells threads 6 board messages nodes
}

@test "a thousand communicators live at once" {
    tells many 6 board messages nodes
}

# bats test_tags=optimised
@test "communicators come and go by the thousand, on the board, and leave nothing" {
    tells loop 6 board
}

# bats test_tags=optimised
@test "communicators come and go by the thousand, by messages, and leave nothing" {
    tells loop 6 messages
}
