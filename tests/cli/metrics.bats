#!/usr/bin/env bats
# ftcoll-status --format openmetrics. A strict reader (openmetrics_check.c) must accept the output,
# and the output must agree with --json. CHECK names the reader, FTRUN and LOOP name the launcher
# and the program of a real job.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # bats runs tests in subshells; job, jobs and work are the helper's

load helper

# Reads and checks the metrics of one job, or of all. They go to $output, the tool's exit code to
# $status.
measure() {
    run "$STATUS_TOOL" --format openmetrics "$@"
    "$CHECK" <<<"$output" || {
        echo "$output"
        return 1
    }
}

# Turns the output of --json (standard input) into samples of the counters of each rank, sorted.
samples_of_json() {
    jq -r 'def padded: tostring | "000000000"[length:] + .;
        def seconds: "\(. / 1000000000 | floor).\(. % 1000000000 | padded)";
        .jobs[] | .job as $job | .ranks[] | "job=\"\($job)\",rank=\"\(.rank)\"" as $by | .counters as $c
        | "ftcoll_operations_called_total{\($by)} \(.called)", "ftcoll_operations_returned_total{\($by)} \(.returned)",
          "ftcoll_sent_bytes_total{\($by)} \($c.bytes)", "ftcoll_ballots_total{\($by)} \($c.ballots)",
          "ftcoll_dropped_messages_total{\($by)} \($c.dropped)",
          "ftcoll_suspicions_total{\($by)} \($c.suspicions)", "ftcoll_fencings_total{\($by)} \($c.fencings)",
          "ftcoll_retries_total{\($by)} \($c.rules.retry)", "ftcoll_rotations_total{\($by)} \($c.rules.rotate)",
          "ftcoll_masked_failures_total{\($by),as=\"group member\"} \($c.rules["write off group member"])",
          "ftcoll_masked_failures_total{\($by),as=\"child\"} \($c.rules["write off child"])",
          ($c.sent | to_entries[] | "ftcoll_sent_messages_total{\($by),kind=\"\(.key)\"} \(.value)"),
          "ftcoll_rank_failed{\($by)} \(if .failure then 1 else 0 end)",
          "ftcoll_known_failed_ranks{\($by)} \(.known | length)", "ftcoll_agreed_failed_ranks{\($by)} \(.agreed | length)",
          if .failure then "ftcoll_failure_detection_seconds{\($by)} \(.failure.declared_after_ns | seconds)" else empty end' |
        sort
}

# Gives the same samples from $output, without those of other families.
samples_of_metrics() {
    grep -v '^#' <<<"$output" | grep -vE '^ftcoll_(job_|rank_info|rank_peers|failure_info|heartbeats|multicast_|compared_|corrected_|detected_)' | sort
}

@test "no job: the end mark alone, and the exit code of a job that is not there" {
    run "$STATUS_TOOL" --format openmetrics 1.999
    [ "$status" -eq 1 ]
    [ "${lines[0]}" = "# EOF" ] || [ "${lines[1]}" = "# EOF" ]
    run bash -c '"$1" --format openmetrics 1.999 2>/dev/null' _ "$STATUS_TOOL"
    [ "$output" = "# EOF" ]
}

@test "every counter of every rank, as --json has it" {
    start 4 1
    tell "call 0 1 812" "out 1 813" "sent 0 0 17" "sent 0 2 4711" "sent 3 6 1" "traffic 0 1048576 3 2" "rule 1 33 5" \
        "suspect 2 2 1" "fail 2 3 0 -1"
    measure "$job"
    [ "$status" -eq 3 ]
    diff <("$STATUS_TOOL" --json "$job" | samples_of_json) <(samples_of_metrics)
    has "ftcoll_operations_called_total{job=\"$job\",rank=\"0\"} 813"
    has "ftcoll_operations_returned_total{job=\"$job\",rank=\"0\"} 812"
    has "ftcoll_sent_bytes_total{job=\"$job\",rank=\"0\"} 1048576"
    has "ftcoll_sent_messages_total{job=\"$job\",rank=\"0\",kind=\"DECIDE\"} 4711"
    has "ftcoll_suspicions_total{job=\"$job\",rank=\"2\"} 2"
    has "ftcoll_fencings_total{job=\"$job\",rank=\"2\"} 1"
    has "ftcoll_rank_failed{job=\"$job\",rank=\"1\"} 0"
    has "ftcoll_rank_failed{job=\"$job\",rank=\"2\"} 1"
    has "ftcoll_failure_info{job=\"$job\",rank=\"2\",cause=\"stalled\",seen_by=\"launcher\"} 1"
    has "ftcoll_failure_detection_seconds{job=\"$job\",rank=\"2\"} 0.0015"
    has "ftcoll_job_failed_ranks{job=\"$job\"} 1"
    has "ftcoll_rank_info{job=\"$job\",rank=\"2\",host=\"testnode\",state=\"failed\"} 1"
    [ "$(tail -n 1 <<<"$output")" = "# EOF" ]
}

@test "the job: version, state, algorithm; its command is escaped" {
    start 2 1 './app "a b" C:\new ü' broadcast.algorithm=ccg
    measure "$job"
    [ "$status" -eq 0 ]
    has 'command="./app \"a b\" C:\\new ü"'
    has 'state="running",algorithm="tree",broadcast="CCG (gossip + checked)",scheme="list",share="piggyback",integrity="none"} 1'
    has "ftcoll_job_info{job=\"$job\",version=\"$("$STATUS_TOOL" --version | cut -d' ' -f2)\","
    tell end
    measure "$job"
    has 'state="ended"'
}

@test "what only some jobs have is there with them alone" {
    start 2 1
    measure "$job"
    lacks 'ftcoll_multicast_pieces_total{'
    lacks 'ftcoll_compared_operations_total{'
    start 2 1 ./app broadcast.dissemination=multicast
    tell "pieces 1 300 100 7" "datagrams 1 9 2 3"
    measure "$job"
    has "ftcoll_multicast_pieces_total{job=\"$job\",rank=\"1\",by=\"ring\"} 100"
    has "ftcoll_multicast_datagrams_total{job=\"$job\",rank=\"1\",kind=\"corrupt\"} 2"
    start 2 1 ./app integrity.mode=vote
    tell "results 0 900 2 1"
    measure "$job"
    has "ftcoll_compared_operations_total{job=\"$job\",rank=\"0\"} 900"
    has "ftcoll_corrected_operations_total{job=\"$job\",rank=\"0\"} 2"
    has "ftcoll_detected_operations_total{job=\"$job\",rank=\"0\"} 1"
}

@test "several jobs share the families" {
    start 3 1 ./first
    first=$job
    start 4 2 ./second
    tell "fail 0 1 9 -1"
    measure
    [ "$status" -eq 3 ]
    has "ftcoll_job_ranks{job=\"$first\"} 3"
    has "ftcoll_job_ranks{job=\"$job\"} 4"
    [ "$(grep -c '^# TYPE ftcoll_job_ranks ' <<<"$output")" -eq 1 ]
}

@test "several nodes: counters of this one's ranks, failures of all" {
    FAKE_NODES=3 start 6 1
    tell "fail 5 1 9 -1" "carriers 0 1 0 4"
    measure "$job"
    [ "$(grep -c '^ftcoll_operations_called_total{' <<<"$output")" -eq 2 ]
    [ "$(grep -c '^ftcoll_rank_failed{' <<<"$output")" -eq 6 ]
    has "ftcoll_rank_failed{job=\"$job\",rank=\"5\"} 1"
    has "ftcoll_rank_peers{job=\"$job\",rank=\"0\",carrier=\"tcp\"} 4"
    has "ftcoll_rank_info{job=\"$job\",rank=\"5\",host=\"testnode2\",state=\"failed\"} 1"
}

@test "slots full of junk, a command full of junk: still a text that can be read" {
    start 6 2 $'evil\n"\e[31mred \xff\\' broadcast.dissemination=multicast
    tell "junk 0 255" "junk 1 127" "junk 2 1" "junk 3 128"
    measure "$job"
    lacks $'\e'
}

@test "a rank is killed in a real job: what every rank did is what --json says" {
    local pid deadline=$((SECONDS + 50)) code=0
    cd "$work"
    # Ranks that are done stay, so that nothing changes between two looks.
    timeout -k 1 60 "$FTRUN" -np 4 -f 1 --kill 2@0.2 --set collectives.algorithm=corrected --set detector.heartbeat_timeout_ms=20000 \
        sh -c '"$LOOP" 100 5; code=$?; : >"ready.$FTCOLL_RANK"; until [ -e over ]; do sleep 0.05; done; exit $code' >out 2>err </dev/null 3>&- &
    pid=$!
    until [ -e ready.0 ] && [ -e ready.1 ] && [ -e ready.3 ]; do
        [ "$SECONDS" -lt "$deadline" ] || { cat out err; kill "$pid"; return 1; }
        sleep 0.1
    done
    job=$("$STATUS_TOOL" --json "$(pgrep -P "$pid")" | jq -r ".jobs[0].job") # pid is the process of timeout
    measure "$job"
    "$STATUS_TOOL" --json "$job" >json || true
    : >over
    wait "$pid" || code=$?
    [ "$code" -eq 0 ]
    [ "$status" -eq 3 ]
    diff <(samples_of_json <json) <(samples_of_metrics)
    has "ftcoll_failure_info{job=\"$job\",rank=\"2\",cause=\"drill\","
    has "ftcoll_operations_returned_total{job=\"$job\",rank=\"0\"} 10"
    has "ftcoll_agreed_failed_ranks{job=\"$job\",rank=\"0\"} 1"
    grep -qE "^ftcoll_sent_messages_total\{job=\"$job\",rank=\"0\",kind=\"UP\"\} [1-9]" <<<"$output"
    # The time is above 0, and below the duration of the job.
    grep -qE "^ftcoll_failure_detection_seconds\{job=\"$job\",rank=\"2\"\} [0-9]{1,2}\.0*[1-9]" <<<"$output"
}

@test "a rank that is stopped is suspected once, fenced once" {
    local pid deadline=$((SECONDS + 50)) code=0
    cd "$work"
    timeout -k 1 60 "$FTRUN" -np 2 -f 1 --set detector.heartbeat_timeout_ms=2000 \
        sh -c '[ "$FTCOLL_RANK" = 0 ] || kill -STOP $$; until [ -e over ]; do sleep 0.05; done; exec "$LOOP" 3' >out 2>err </dev/null 3>&- &
    pid=$!
    until grep -q "rank 1 failed" err; do
        [ "$SECONDS" -lt "$deadline" ] || { cat out err; kill "$pid"; return 1; }
        sleep 0.1
    done
    job=$("$STATUS_TOOL" --json "$(pgrep -P "$pid")" | jq -r ".jobs[0].job") # pid is the process of timeout
    measure "$job"
    : >over
    wait "$pid" || code=$?
    [ "$code" -eq 0 ]
    has "ftcoll_suspicions_total{job=\"$job\",rank=\"0\"} 0"
    has "ftcoll_fencings_total{job=\"$job\",rank=\"0\"} 0"
    has "ftcoll_suspicions_total{job=\"$job\",rank=\"1\"} 1"
    has "ftcoll_fencings_total{job=\"$job\",rank=\"1\"} 1"
    has "ftcoll_failure_info{job=\"$job\",rank=\"1\",cause=\"stopped\",seen_by=\"launcher\"} 1"
}

@test "promtool reads it, if it is there" {
    command -v promtool >/dev/null || skip "no promtool (package prometheus)"
    start 3 1 './app "a b"'
    tell "fail 1 1 9 -1" "call 0 1 812"
    measure "$job"
    # promtool reads the older text format. There the name of a counter has its _total in the
    # description, too, so promtool finds no help text.
    local code=0
    promtool check metrics <<<"$output" >"$work/lint" 2>&1 || code=$?
    cat "$work/lint"
    [ "$code" -eq 0 ] || [ "$code" -eq 3 ]
    run grep -vE '^ftcoll_[a-z_]+_total no help text$' "$work/lint"
    [ -z "$output" ]
}

@test "the reader of these tests refuses what is no OpenMetrics" {
    local wrong good=$'# TYPE a counter\n# HELP a It.\na_total{x="1"} 1\n# EOF'
    "$CHECK" <<<"$good"
    for wrong in '' '# TYPE a counter' "$good"$'\n' $'# TYPE a counter\na_total 1\n\n# EOF' $'# TYPE a counter\na 1\n# EOF' \
        $'a_total 1\n# EOF' $'# TYPE a counter\na_total -1\n# EOF' $'# TYPE a counter\na_total  1\n# EOF' \
        $'# TYPE a counter\na_total 1 \n# EOF' $'# TYPE a counter\na_total nine\n# EOF' $'# TYPE 1a gauge\n# EOF' \
        $'# TYPE a gauge\na{x=1} 1\n# EOF' $'# TYPE a gauge\na{x="1",x="2"} 1\n# EOF' $'# TYPE a gauge\na{x="1" ,y="2"} 1\n# EOF' \
        $'# TYPE a gauge\na{x="\\t"} 1\n# EOF' $'# TYPE a gauge\na{x="1} 1\n# EOF' $'# TYPE a gauge\na{x="\xff"} 1\n# EOF' \
        $'# TYPE a gauge\na{x:y="1"} 1\n# EOF' $'# TYPE a gauge\na{x="1",} 1\n# EOF' $'# TYPE a gauge\na 1\na 1\n# EOF' \
        $'# TYPE a gauge\n# UNIT a seconds\na 1\n# EOF' $'# TYPE a gauge\n# TYPE a gauge\n# EOF' $'# TYPE a gauge\na 1\n# HELP a Late.\n# EOF' \
        $'# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\n# TYPE a gauge\n# EOF' $'# TYPE a gauge\na 1\n# TYPE b gauge\na 1\n# EOF' \
        $'#TYPE a gauge\n# EOF' $'# TYPE a sort\n# EOF' $'# TYPE a_total counter\n# EOF' $'# TYPE a gauge\na{} 1 1.5 x\n# EOF'; do
        run "$CHECK" <<<"$wrong"
        [ "$status" -eq 1 ] || { printf 'taken:\n%s\n' "$wrong"; return 1; }
    done
}
