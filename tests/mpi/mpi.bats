#!/usr/bin/env bats
# A program of MPI is compiled by ftcc, and runs under ftrun. FTRUN, FTCC (a folder), SOURCE and
# CFLAGS come from ctest.
# shellcheck disable=SC2030,SC2031,SC2086,SC2153,SC2154 # of one test; flags; of ctest and bats

setup_file() {
    export APP=$BATS_FILE_TMPDIR/mpi_app
    "$FTCC/ftcc" -std=gnu11 -O2 -Wall -Wextra -Werror $CFLAGS "$SOURCE/tests/mpi/mpi_app.c" -o "$APP"
    "$FTCC/ftcc" -std=gnu11 -O2 -Wall -Wextra -Werror $CFLAGS "$SOURCE/tests/mpi/mpi_messages_app.c" \
        -o "$BATS_FILE_TMPDIR/mpi_messages_app" -pthread
}

setup() {
    export TMPDIR=$BATS_TEST_TMPDIR
}

# run_app RANKS SURVIVORS STORY [OPTION...]: on the board, and by messages
run_app() {
    local ranks=$1 survivors=$2 story=$3 way
    shift 3
    for way in "" "--set collectives.algorithm=corrected"; do
        run timeout -s KILL 60 "$FTRUN" -np "$ranks" $way "$@" "$APP" "$story" 3>&-
        echo "$way $story: exit $status: $output"
        [ "$(grep -c "app: done" <<<"$output")" -eq "$survivors" ]
    done
}

@test "reductions with operators of MPI, of the program, and in the order of ranks" {
    run_app 1 1 reductions
    run_app 4 4 reductions
}

@test "derived datatypes" {
    run_app 1 1 derived
    run_app 5 5 derived
}

@test "blocks of different sizes, and requests" {
    run_app 5 5 vectors
    run_app 3 3 persistent
}

@test "communicators and groups" {
    run_app 5 5 communicators
}

@test "two groups, and what goes from one to the other" {
    run_app 5 5 intercommunicators
    run_app 4 4 intercommunicators
    run_app 4 3 crossing_death
}

# bats test_tags=threads
@test "agreements that overlap, and a revoke right after one" {
    run_app 2 2 agreed
    run_app 5 5 agreed
    MPI_APP_THREADS=all run_app 4 4 agreed
}

@test "neighbours, also where one is a neighbour twice" {
    local ranks
    for ranks in 1 2 5; do
        run_app $ranks $ranks neighbours
    done
}

# bats test_tags=threads
@test "several threads may call" {
    export MPI_APP_THREADS=all
    run_app 3 3 reductions
    run_app 3 3 vectors
    run_app 3 3 communicators
}

@test "a rank alone may call from several threads" {
    export MPI_APP_THREADS=first
    run_app 3 3 reductions
    run_app 4 4 agreed
}

@test "a dead rank is masked where errors are fatal" {
    run_app 4 3 masked --report report.json
    jq -e '[.ranks[] | select(.failed | not) | .masked] == [[1], [1], [1]]' report.json
}

@test "a dead rank is raised at all survivors where the program handles errors" {
    run_app 4 3 raised --report report.json
    jq -e '[.ranks[].masked_failures] | add == 0' report.json
}

@test "the setting mpi.failures decides for all communicators" {
    run timeout -s KILL 60 "$FTRUN" -np 4 --set mpi.failures=raise "$APP" masked 3>&-
    echo "$status: $output"
    [ "$status" -eq 101 ]
    [[ $output == *"ranks have failed, rank 1 the first"* ]]
}

@test "a broadcast from a dead root ends the job with its words" {
    run timeout -s KILL 60 "$FTRUN" -np 4 "$APP" fatal 3>&-
    echo "$status: $output"
    [ "$status" -eq 101 ]
    [[ $output == *"MPI_Bcast on MPI_COMM_WORLD: a rank has failed: "* ]]
}

# With one thread, and with several.
run_messages() { # RANKS SURVIVORS STORY [OPTION...]
    APP=$BATS_FILE_TMPDIR/mpi_messages_app run_app "$@"
    MPI_APP_THREADS=all APP=$BATS_FILE_TMPDIR/mpi_messages_app run_app "$@"
}

# bats test_tags=threads
@test "messages in all modes, of all datatypes, with wildcards" {
    local ranks story
    for ranks in 1 4; do
        for story in modes wildcards derived; do
            run_messages $ranks $ranks $story
        done
    done
}

# bats test_tags=threads
@test "requests of messages are started again, given up and cancelled" {
    run_messages 4 4 persistent
    run_messages 4 4 cancelled
    run_messages 1 1 cancelled_sends
    run_messages 4 4 cancelled_sends
}

# bats test_tags=threads
@test "threads exchange messages while another one makes collectives" {
    export MPI_APP_THREADS=all
    APP=$BATS_FILE_TMPDIR/mpi_messages_app run_app 3 3 threads
}

# bats test_tags=threads
@test "a receive from any rank goes on when a rank dies and errors are fatal" {
    run_messages 4 3 masked
}

# bats test_tags=threads
@test "a dead peer, and an interrupted receive, are raised where the program handles errors" {
    run_messages 4 3 raised
}

@test "a receive from a dead rank ends the job with its words" {
    run timeout -s KILL 60 "$FTRUN" -np 4 "$BATS_FILE_TMPDIR/mpi_messages_app" fatal 3>&-
    echo "$status: $output"
    [ "$status" -eq 101 ]
    [[ $output == *"MPI_Recv on MPI_COMM_WORLD: a rank has failed: rank 1 failed before the message"* ]]
}

@test "ftcc -show prints the command" {
    run "$FTCC/ftcc" -show a.c -o a
    echo "$output"
    [[ $output == "cc a.c -o a -I"*" -L"*" -Wl,-rpath,"*" -lmpi_abi" ]]
    FTCC_CC="gcc" run "$FTCC/ftcc" -c -show a.c
    [[ $output == "gcc -c a.c -I"* && $output != *-l* ]]
}

@test "a program in C++, and a tool that stands in front of MPI_Barrier" {
    command -v c++ || skip "no C++ compiler"
    cd "$BATS_TEST_TMPDIR"
    cat >app.cpp <<'END'
#include <mpi.h>
#include <cstdio>
static int calls;
extern "C" int MPI_Barrier(MPI_Comm comm)
{
    calls++;
    return PMPI_Barrier(comm);
}
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    std::printf("%d call\n", calls);
    MPI_Finalize();
}
END
    "$FTCC/ftc++" -Wall -Wextra -Werror $CFLAGS app.cpp -o app
    run timeout -s KILL 60 "$FTRUN" -np 2 ./app 3>&-
    [ "$(grep -c "^1 call" <<<"$output")" -eq 2 ]
}

@test "a program of CMake finds MPI" {
    cd "$BATS_TEST_TMPDIR"
    cp "$SOURCE"/tests/mpi/{mpi_app.c,check.h} .
    cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(app C)
find_package(MPI REQUIRED)
add_executable(app mpi_app.c)
target_link_libraries(app PRIVATE MPI::MPI_C)
END
    cmake -S . -B build -DMPI_C_COMPILER="$FTCC/ftcc" -DCMAKE_C_FLAGS="$CFLAGS" -DMPI_CXX_SKIP_MPICXX=ON
    cmake --build build
    run timeout -s KILL 60 "$FTRUN" -np 2 build/app reductions 3>&-
    [ "$(grep -c "mpi_app: done" <<<"$output")" -eq 2 ]
}
