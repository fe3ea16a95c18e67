#!/usr/bin/env bats
# Every option that a page lists does what the page says. The lists of the pages and the tables here
# have to be the same, with short and long forms.
# shellcheck disable=SC2016,SC2119,SC2153,SC2154 # commands for ranks; bats and ctest set variables

load pages

setup_file() {
    render_pages
}

# Prints the options of a page's section, a line for each form.
options_in() { # PAGE HEADING
    section_of "$1" "$2" | sed -n 's/^       \(-.*\)/\1/p' | sed 's/, /\n/g' | sed 's/ .*//'
}

# Plays a Slurm allocation of two hosts. The file called gets the arguments of srun.
in_slurm() {
    SLURM_JOB_ID=12 SLURM_JOB_NUM_NODES=2 SRUN_CALLED=$PWD/called SRUN_DOES="exit 7" PATH=$SRUN_DIRECTORY:$PATH ftrun "$@"
}

# Runs ftcoll-status with these options inside a job of two ranks, and gives it the name of the job.
# A rank may run before ftrun has written down its pid.
inside() { # OPTION...
    ftrun -np 2 --max-failures 0 sh -c 'test "$FTCOLL_RANK" = 0 || exec sleep 60
        while "$STATUS" -n "$FTCOLL_JOB_SEGMENT" | grep -q "^[0-9].* not started "; do sleep 0.02; done
        "$STATUS" "$@" "$FTCOLL_JOB_SEGMENT"; exit 1' sh "$@" || true
}

# The same, while 17 or more ranks are there.
among_many() { # OPTION...
    ftrun -np 17 --max-failures 0 sh -c 'test "$FTCOLL_RANK" = 0 || exec sleep 60; "$STATUS" "$@" "$FTCOLL_JOB_SEGMENT"; exit 1' sh "$@" || true
}

# The same, while a rank has failed.
after_failure() { # OPTION...
    ftrun -np 2 sh -c 'test "$FTCOLL_RANK" = 0 || exit 5
        until "$STATUS" -n "$FTCOLL_JOB_SEGMENT" >/dev/null; [ $? -eq 3 ]; do sleep 0.02; done
        "$STATUS" "$@" "$FTCOLL_JOB_SEGMENT"' sh "$@" || true
}

# Runs ftcoll-status on a job that ends by itself meanwhile.
to_the_end() { # OPTION...
    ftrun -np 2 sh -c 'echo "$FTCOLL_JOB_SEGMENT" >job.$FTCOLL_RANK; exec "$APP" go 75' &
    wait_until '[ -e going ]'
    status "$@" "$(cat job.0)"
}

leave_behind() {
    "$FTRUN" -np 1 sh -c 'echo "$FTCOLL_JOB_SEGMENT" >job.new; mv job.new job; sleep 60' &
    wait_until '[ -e job ]'
    kill -KILL "$!"
    wait "$!" || true
}

@test "ftrun(1)" {
    walk "$(options_in ftrun.1 OPTIONS)" <<'TABLE'
-np :: ftrun -np 3 echo x :: code 0 && lines 3
-n :: ftrun -n 3 echo x :: code 0 && lines 3
-f :: ftrun -np 3 -f 2 --report report true :: holds ".f == 2" report
-x :: OTHER=there ftrun -np 1 -x ONE=1 -x OTHER sh -c 'echo "$ONE $OTHER"' :: grep -qx "1 there" out
--engine :: in_slurm --engine slurm -np 2 true :: code 7 && [ -s called ]
--engine :: in_slurm --engine auto -np 2 true :: code 7 && [ -s called ]
--engine :: in_slurm --engine local -np 2 echo here :: code 0 && lines 2 && [ ! -e called ]
--engine :: ftrun --engine local -np 2 "$FTRUN" --engine pmix -np 4 sh -c 'echo "$FTCOLL_RANK"' :: code 0 && lines 4
--hosts :: FTRUN_SSH="$SRUN_DIRECTORY/remote_shell" ftrun --hosts a:2,b -np 3 sh -c 'echo "$PPID"' :: code 0 && lines 3 && [ "$(sort -u out | wc -l)" = 2 ]
--hostfile :: printf "a slots=2\n# b\n" >list; FTRUN_SSH="$SRUN_DIRECTORY/remote_shell" ftrun --hostfile list -np 3 echo x :: code 0 && lines 3
--ssh :: ftrun --ssh "$SRUN_DIRECTORY/remote_shell" --hosts unknown -np 1 true :: code 1 && grep -q "^unknown: ssh: Could not resolve" err
--nodes :: in_slurm --nodes 1 -np 2 true :: code 7 && grep -qE -- "^(-N|--nodes=?)?1$" called
--ranks-per-node :: in_slurm --ranks-per-node 1 -np 3 true :: code 2 && [ ! -e called ]
--ranks-per-node :: in_slurm --ranks-per-node 1 -np 2 true :: code 7 && grep -q -- "--ranks-per-node" called
--config :: printf '[job]\nf = 3\n' >a; ftrun --config a --print-config :: grep -qx "f = 3" out
--set :: ftrun --set job.f=3 --set job.f=4 --print-config :: grep -qx "f = 4" out
--print-algorithms :: ftrun --print-algorithms -np 2 :: code 0 && grep -qx "barrier, validate: board" out
--print-config :: ftrun --print-config :: code 0 && out "[detector]" && out "Set by: default"
--all :: ftrun --print-config --all :: code 0 && out "[drill]"
--wdir :: mkdir d; ftrun -np 1 --wdir d pwd :: grep -qx "$PWD/d" out
--bind-to :: ftrun -np 1 --bind-to core grep Cpus_allowed_list /proc/self/status :: grep -qE "[[:blank:]][0-9]+$" out
--bind-to :: ftrun -np 1 --bind-to none grep Cpus_allowed_list /proc/self/status :: cmp out <(grep Cpus_allowed_list /proc/self/status)
--tag-output :: ftrun -np 2 --tag-output echo x :: lines 2 && out "[0] x" && out "[1] x"
--timestamp-output :: ftrun -np 1 --timestamp-output echo x :: grep -qE "^[0-9]{4}-[0-9]{2}-[0-9]{2}.[0-9]{2}:[0-9]{2}:.* x$" out
--output-filename :: ftrun -np 2 --output-filename d sh -c 'echo x; echo y >&2' :: lines 0 && grep -qx x d/rank.1.out && grep -qx y d/rank.1.err
--timeout :: ftrun -np 2 --timeout 0.2 sleep 60 :: code 124 && err "who waits for whom"
--max-failures :: ftrun -np 3 --max-failures 0 sh -c 'test "$FTCOLL_RANK" = 0 || exec sleep 60; exit 5' :: code 5 && err "killing the others"
--max-failures :: ftrun -np 3 --max-failures 1 sh -c 'test "$FTCOLL_RANK" = 0 && exit 5; true' :: code 0
--kill :: ftrun -np 3 --kill 0@0.1 --kill 2@0.2 sleep 2 :: code 0 && err "rank 0 failed: killed by --kill" && err "rank 2 failed: killed by --kill"
--report :: ftrun -np 2 --report report true :: holds ".schema == 1 and .np == 2 and .exit_code == 0" report
--report :: ftrun -np 2 --report - true :: holds ".np == 2" out
--trace :: ftrun -np 2 --trace trace true :: holds '.traceEvents | map(select(.name == "thread_name")) | length == 2' trace
--help :: ftrun --help :: code 0 && out "usage: ftrun"
-h :: ftrun -h :: code 0 && out "usage: ftrun"
--version :: ftrun --version :: code 0 && grep -qxE "ftrun [0-9.]+" out
-V :: ftrun -V :: code 0 && grep -qxE "ftrun [0-9.]+" out
TABLE
}

@test "long options of ftrun have one dash too, and may be cut short" {
    [ "$("$FTRUN" -print-c --se job.f=3 | grep -x "f = .*")" = "f = 3" ]
    run "$FTRUN" --t 1 -np 1 true
    [ "$status" -eq 2 ]
    [[ $output == *ambiguous* ]]
}

@test "ftcoll-status(1)" {
    walk "$(options_in ftcoll-status.1 OPTIONS)" <<'TABLE'
-w :: to_the_end -w :: code 0 && [ "$(grep -c "^--- " out)" -ge 2 ]
--watch :: to_the_end --watch :: code 0 && [ "$(grep -c "^--- " out)" -ge 2 ]
-f :: after_failure -f :: out "FAILED" && out "exit 5" && ! out "OPERATION"
--failed :: after_failure --failed :: out "FAILED" && out "exit 5" && ! out "OPERATION"
-a :: among_many -n -a :: [ "$(grep -cE "^[0-9]+ +(spawned|not started) " out)" -eq 17 ]
--all :: among_many -n --all :: [ "$(grep -cE "^[0-9]+ +(spawned|not started) " out)" -eq 17 ]
-l :: ftrun -np 1 sh -c '"$STATUS" -l; echo "$FTCOLL_JOB_SEGMENT" >job' :: grep -q "^JOB " out && grep -q "^$(cat job) " out
--list :: ftrun -np 1 sh -c '"$STATUS" --list; echo "$FTCOLL_JOB_SEGMENT" >job' :: grep -q "^JOB " out && grep -q "^$(cat job) " out
--format :: inside --format text :: grep -q "^RANK " out
--format :: inside --format json :: holds ".schema == 1" out
--format :: inside --format openmetrics :: grep -q "^ftcoll_job_info{" out && [ "$(tail -n 1 out)" = "# EOF" ]
-j :: inside -n -j :: holds ".schema == 1 and .jobs[0].np == 2" out
--json :: inside -n --json :: holds ".schema == 1 and .jobs[0].np == 2" out
-s :: inside -n -s :: grep -q "STACK of rank 0" out
--stacks :: inside -n --stacks :: grep -q "STACK of rank 0" out
--history :: inside -n --history 0 :: grep -q "HISTORY of rank 0" out && ! grep -q "HISTORY of rank 1" out
--history :: inside -n --history all :: grep -q "HISTORY of rank 1" out
-n :: inside -n :: grep -q "^RANK " out
--no-sample :: inside --no-sample :: grep -q "^RANK " out
--gc :: leave_behind; status --gc :: grep -qE "^removed [1-9]" out || [ -z "$(compgen -G "/dev/shm/ftcoll-*-$(cat job)")" ]
-h :: status -h :: code 0 && out "usage: ftcoll-status"
--help :: status --help :: code 0 && out "usage: ftcoll-status"
-V :: status -V :: code 0 && grep -qxE "ftcoll-status [0-9.]+" out
--version :: status --version :: code 0 && grep -qxE "ftcoll-status [0-9.]+" out
TABLE
}

rows() { grep -v "^#" out | grep -c .; }

@test "ftcoll-perf(1)" {
    walk "$(options_in ftcoll-perf.1 OPTIONS)" <<'TABLE'
-m :: perf -m 8:32 -i 2 allreduce :: [ "$(rows)" -eq 3 ]
--sizes :: perf --sizes 16 -i 2 --csv allreduce :: lines 2 && grep -q "^allreduce,self,1,16," out
-t :: perf -m 8 -t 0.05 --csv allreduce :: lines 2
--time :: perf -m 8 --time 0.05 --csv allreduce :: lines 2
-i :: perf -m 8 -i 7 --csv allreduce :: grep -q "^allreduce,self,1,8,7," out
--iterations :: perf -m 8 --iterations 7 --csv allreduce :: grep -q "^allreduce,self,1,8,7," out
-w :: perf -m 8 -i 2 -w 0 --json allreduce :: code 0 && holds ".schema == 1" out
--warm-up :: perf -m 8 -i 2 --warm-up x allreduce :: code 2 && err "--warm-up"
-b :: ftrun -np 2 "$PERF" -m 8 -i 2 -b --csv bcast :: code 0 && grep -q "^bcast,board,2,8,2,1," out
--synchronise :: ftrun -np 2 "$PERF" -m 8 -i 2 --synchronise --csv bcast :: code 0 && grep -q "^bcast,board,2,8,2,1," out
-n :: perf -m 8 -i 2 -n --csv allreduce :: lines 2 && grep -q ",under_way,compute_us,overlapped_us,overlap_percent$" out
--nonblocking :: perf -m 8 -i 2 --nonblocking --json allreduce :: holds ".under_way == 1 and .tables[0].rows[0].overlap.percent <= 100" out
-u :: perf -m 8 -i 2 -u 3 allreduce :: out ", 3 under way"
--under-way :: perf -m 8 -i 2 --under-way 3 --json allreduce :: holds ".under_way == 3" out
-k :: ftrun -np 3 "$PERF" -k 1 allreduce :: code 0 && err "1 of 3 ranks failed"
--kill :: ftrun -np 3 "$PERF" --kill 1 --seed 7 allreduce :: code 0 && err "1 of 3 ranks failed" && out "seed 7"
-s :: ftrun -np 3 "$PERF" --kill 1 -s 7 allreduce :: code 0 && out "seed 7"
--seed :: ftrun -np 3 "$PERF" --kill 1 --seed 8 allreduce :: code 0 && out "seed 8"
-r :: perf -m 8 -i 2 -r --csv allreduce :: grep -q "^allreduce,self,1,8,2,0," out
--per-rank :: perf -m 8 -i 2 --per-rank bcast :: grep -q "^# slowest rank" out
-j :: perf -m 8 -i 2 -j allreduce :: holds ".schema == 1 and (.tables | length == 1)" out
--json :: perf -m 8 -i 2 --json allreduce :: holds ".schema == 1 and (.tables | length == 1)" out
-c :: perf -m 8 -i 2 -c allreduce :: lines 2 && grep -q "^operation,algorithm,ranks" out
--csv :: perf -m 8 -i 2 --csv allreduce :: lines 2 && grep -q "^operation,algorithm,ranks" out
-p :: perf -m 8:16 -i 2 -p a.svg allreduce :: grep -q "<svg" a.svg || err gnuplot
--plot :: perf -m 8:16 -i 2 --plot a.svg allreduce :: grep -q "<svg" a.svg || err gnuplot
-h :: perf -h :: code 0 && out "usage: ftrun -np N ftcoll-perf"
--help :: perf --help :: code 0 && out "usage: ftrun -np N ftcoll-perf"
-V :: perf -V :: code 0 && grep -qxE "ftcoll-perf [0-9.]+" out
--version :: perf --version :: code 0 && grep -qxE "ftcoll-perf [0-9.]+" out
TABLE
}
