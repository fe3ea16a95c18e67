# What bench/compare and bench/hosts-floor share: they read their options, start a loop of each
# library in turn, and keep single figures. They set root, build, hosts, rounds, seconds, wanted,
# ftrun, ftrun_options and programs, and their traps call finish().
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the scripts

peers=$root/bench/peers
cluster=$root/tests/cluster/cluster

PEER_NP_MAX=64 # more MPI processes on a few cores can bring a machine down

die() { # CODE TEXT
    echo "${0##*/}: $2" >&2
    exit "$1"
}

# --- command line -------------------------------------------------------------------------------------

to_bytes() { # WORD
    local number=${1%[KM]}
    [[ $number =~ ^[1-9][0-9]{0,8}$ ]] || die 2 "--sizes: '$1' is not a size; wanted is a list such as 8,64K,1M"
    case $1 in
    *K) number=$((number * 1024)) ;;
    *M) number=$((number * 1024 * 1024)) ;;
    esac
    ((number % 8 == 0 && number <= 1 << 30)) || die 2 "--sizes: $1 is not a multiple of 8 bytes up to 1024M"
    echo "$number"
}

set_sizes() { # LIST
    local word words bytes
    IFS=, read -ra words <<<"$1"
    sizes=()
    for word in "${words[@]}"; do
        bytes=$(to_bytes "$word")
        sizes+=("$bytes")
    done
    ((${#sizes[@]} > 0)) || die 2 "--sizes: empty"
}

set_operations() { # LIST
    local word
    IFS=, read -ra operations <<<"$1"
    ((${#operations[@]} > 0)) || die 2 "--ops: empty"
    [ "$1" != all ] || operations=("${all_operations[@]}")
    for word in "${operations[@]}"; do
        [[ " ${all_operations[*]} " == *" $word "* ]] ||
            die 2 "--ops: no operation '$word'; there are ${all_operations[*]}, and all"
    done
}

# The numbers of all tables.
check_rounds() {
    [[ -z $np_list || $np_list =~ ^[1-9][0-9]{0,3}(,[1-9][0-9]{0,3})*$ ]] ||
        die 2 "--np: '$np_list' is no list of numbers of ranks such as 2,16"
    [[ $rounds =~ ^[1-9][0-9]{0,3}$ ]] || die 2 "--rounds: '$rounds' is not a number from 1 to 9999"
    [[ $seconds =~ ^[0-9]{1,3}(\.[0-9]+)?$ && $seconds =~ [1-9] ]] ||
        die 2 "--seconds: '$seconds' is not a time in seconds such as 0.3"
}

# All hosts are on this machine and share its processors.
check_hosts() {
    local np
    for np in ${np_list//,/ }; do
        ((np % hosts == 0)) || die 2 "--np: $np ranks are not as many on each of $hosts hosts"
    done
    "$cluster" check || die 1 "--hosts: no cluster can be made here"
}

# --- programs -----------------------------------------------------------------------------------------

# Check the file now, not after 20 minutes of measuring.
check_file() { # OPTION FILE
    [ -z "$2" ] || : 2>/dev/null >>"$2" || die 1 "$1 $2: cannot be opened; give a file that can be written"
}

find_ftcoll() { # PROGRAM...: of bench
    local program
    ftrun=${FTRUN:-$build/launcher/ftrun}
    for program in "$ftrun" "${@/#/$build/bench/}"; do
        [ -x "$program" ] ||
            die 1 "no $program; build first: cmake --preset release && cmake --build --preset release"
    done
    programs[ftcoll]=$build/bench/peers
}

build_peer() { # LIBRARY PACKAGES
    local out=$build/bench/peers/$1 program
    [ "${wanted[$1]}" = yes ] || return 0
    if ! command -v "mpicc.$1" >/dev/null || ! command -v "mpirun.$1" >/dev/null; then
        echo "${0##*/}: goes on without $1; to have it: apt-get install $2" >&2
        return 0
    fi
    mkdir -p "$out"
    for program in loop first; do
        # MPI_STATUSES_IGNORE of MPICH is the address 1, which gcc takes for an overflow.
        "mpicc.$1" -Wno-stringop-overflow -std=c11 -D_GNU_SOURCE -DPEER_MPI -O2 -I "$root" "$peers/$program.c" "$peers/series.c" \
            -o "$out/$program" || die 1 "mpicc.$1 cannot build $program.c"
    done
    programs[$1]=$out
}

# Set the array `launcher` to the command that starts a library with its settings.
set_launcher() { # LIBRARY SETTINGS NP
    local ob1=(--mca pml ob1 --mca btl "self,vader")
    local yield=(--oversubscribe --mca mpi_yield_when_idle 1)
    local hosted=("$cluster" run salloc -Q --no-kill "-N$hosts")
    local tcp=(mpirun.openmpi -n "$3" --oversubscribe --map-by "ppr:$(($3 / hosts)):node" --bind-to none --mca pml ob1 --mca btl "self,vader,tcp")
    case $1:$2 in
    ftcoll:tcp-*) launcher=("${hosted[@]}" "$ftrun" "${ftrun_options[@]}" -np "$3") ;;
    openmpi:tcp-spin) launcher=("${hosted[@]}" "${tcp[@]}") ;;
    openmpi:tcp-yield) launcher=("${hosted[@]}" "${tcp[@]}" --mca mpi_yield_when_idle 1) ;;
    mpich:tcp-default) launcher=("${hosted[@]}" mpirun.mpich -n "$3" -ppn "$(($3 / hosts))") ;;
    ftcoll:*) launcher=("$ftrun" "${ftrun_options[@]}" -np "$3") ;;
    mpich:*) launcher=(mpirun.mpich -n "$3") ;;
    openmpi:plain) launcher=(mpirun.openmpi -n "$3" --bind-to core "${ob1[@]}") ;;
    openmpi:coll-sm) launcher=(mpirun.openmpi -n "$3" --bind-to core "${ob1[@]}" --mca coll_sm_priority 100) ;;
    openmpi:bind-none) launcher=(mpirun.openmpi -n "$3" --bind-to none "${ob1[@]}" "${yield[@]}") ;;
    openmpi:coll-adapt)
        launcher=(mpirun.openmpi -n "$3" --bind-to none "${ob1[@]}" "${yield[@]}" --mca coll_adapt_priority 100)
        ;;
    openmpi:bind-core) launcher=(mpirun.openmpi -n "$3" --bind-to core:overload-allowed "${ob1[@]}" "${yield[@]}") ;;
    esac
}

# --- one run ------------------------------------------------------------------------------------------

# Kill the processes that are left of the runs of this script. Each has FTC_COMPARE in its
# environment.
sweep() {
    local path
    while read -r path; do
        path=${path#/proc/}
        kill -KILL "${path%/environ}" 2>/dev/null || true
    done < <(grep -lzx "FTC_COMPARE=$$" /proc/[0-9]*/environ 2>/dev/null)
}

# timeout passes the signal on, so that launchers can clean up. It kills a launcher that ignores it.
finish() {
    if [ -n "$running" ] && kill -TERM "$running"; then
        wait "$running" || true
    fi
    sweep
    ((hosts == 1)) || "$cluster" down || true
    rm -rf "$work"
}

progress() { # TEXT
    [ ! -t 2 ] || printf '\r\033[K%s' "$1" >&2
}

# Run a command. Its output within the time limit is in $work/out. Sets `outcome` to finished,
# timeout or failed.
run() { # LIMIT_S COMMAND...
    local limit=$1 code=0
    shift
    # The command runs in the background, so that the script reacts to an interrupt at once.
    FTC_COMPARE=$$ timeout -k 5 "$limit" "$@" >"$work/out" 2>"$work/errors" </dev/null &
    running=$!
    wait "$running" || code=$?
    running=
    case $code in
    0) outcome=finished ;;
    124 | 137) outcome=timeout ;;
    *) outcome=failed ;;
    esac
    [ "$outcome" = finished ] || sweep
    if [ "$outcome" = failed ]; then
        progress ""
        echo "${0##*/}: exit code $code of: $*" >&2
        tail -n 5 "$work/errors" >&2
    fi
}

record() { # ROUND LIBRARY SETTINGS MEASUREMENT NP BYTES ITERATIONS VALUE [P99]
    local IFS=,
    echo "$*" >>"$work/csv"
}

# Note the line that the loop has printed for a point, or if there is none, the outcome of the run.
record_point() { # ROUND LIBRARY SETTINGS NP OPERATION BYTES
    local line
    read -ra line < <(grep "^$2 $5 $4 $6 " "$work/out") || line=(- - - - 0 "$outcome")
    record "$1" "$2" "$3" "$5" "$4" "$6" "${line[@]:4:3}"
    ((${#line[@]} < 8)) || record "$1" "$2" "$3" "$5-overlap" "$4" "$6" "${line[4]}" "${line[7]}"
}

# Make the directory for figures, and the cluster if there are several hosts. The end of the script
# removes both.
start_measuring() {
    # In containers the user is often root. Open MPI runs as root only with these variables.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    work=$(mktemp -d)
    running=
    trap finish EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    if ((hosts > 1)); then
        export FTC_CLUSTER_NAME=measure$$
        "$cluster" up --hosts "$hosts" --share "$build" >/dev/null
    fi
}

# --- output -------------------------------------------------------------------------------------------

versions() {
    "$ftrun" --version | sed 's/^ftrun/ftcoll/'
    [ -z "${programs[mpich]-}" ] || mpirun.mpich --version | awk '$1 == "Version:" { print "MPICH", $2 }'
    [ -z "${programs[openmpi]-}" ] || mpirun.openmpi --version | awk 'NR == 1 { print "Open MPI", $NF }'
}
