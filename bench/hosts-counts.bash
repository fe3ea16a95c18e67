# What an operation costs a rank, for bench/hosts-floor --counts: system calls, packets, time in
# user space and in the kernel. They are counted while the operation runs again and again.
# shellcheck shell=bash disable=SC2154 # variables of the script

COUNTED_S=1 # of each point
calls=(sendmsg sendto sendmmsg write writev recvmsg recvfrom read readv epoll_wait epoll_pwait2 epoll_ctl poll ppoll
    futex sched_yield clock_nanosleep madvise mmap munmap)

check_counts() {
    command -v perf >/dev/null || die 1 "--counts: no perf; to have it: apt-get install linux-perf"
    [ -r /sys/kernel/tracing/events/syscalls ] ||
        die 1 "--counts: no events of system calls: mount -t tracefs none /sys/kernel/tracing"
}

ranks_of_run() { # PROGRAM: prints their pids
    local path name
    while read -r path; do
        path=${path%/environ}
        read -r name 2>/dev/null <"$path/comm" || continue
        [ "$name" != "$1" ] || echo "${path#/proc/}"
    done < <(grep -lzx "FTC_COMPARE=$$" /proc/[0-9]*/environ 2>/dev/null)
}

# Prints what the ranks have used so far: microseconds of user space, and of the kernel.
times_now() { # PID...
    local line fields user=0 kernel=0 pid tick_us
    tick_us=$((1000000 / $(getconf CLK_TCK)))
    for pid in "$@"; do
        read -r line 2>/dev/null <"/proc/$pid/stat" || die 1 "--counts: rank $pid has ended too early"
        read -ra fields <<<"${line##*) }"
        user=$((user + fields[11] * tick_us))
        kernel=$((kernel + fields[12] * tick_us))
    done
    echo "$user $kernel"
}

# Prints what went out of the hosts so far: packets, bytes, and segments of TCP.
packets_now() {
    local i
    for ((i = 1; i <= hosts; i++)); do "$cluster" exec "host$i" cat /proc/net/dev /proc/net/snmp; done | awk '
        $1 == "eth0:" { bytes += $10; packets += $11 }
        $1 == "Tcp:" && $12 ~ /^[0-9]/ { segments += $12 }
        END { printf "%.0f %.0f %.0f\n", packets, bytes, segments }'
}

# Wait until all ranks run. Sets the array `pids`.
await_ranks() { # NP PROGRAM
    local end=$((SECONDS + 30))
    while :; do
        mapfile -t pids < <(ranks_of_run "$2")
        ((${#pids[@]} < $1)) || return 0
        ((SECONDS < end)) || die 1 "--counts: $1 ranks did not start within 30 s"
        sleep 0.1
    done
}

# Runs beside the program: count in the middle of the point, which follows as long a warm-up.
count_run() { # NP PROGRAM SECONDS
    local pids before after packets events
    await_ranks "$1" "$2"
    sleep "$(awk "BEGIN { print $3 + ($3 - $COUNTED_S) / 2 }")"
    events=$(printf ',syscalls:sys_enter_%s' "${calls[@]}"),page-faults
    packets=$(packets_now)
    before=$(times_now "${pids[@]}")
    perf stat -x , -o "$work/calls" -e "${events#,}" -p "$(IFS=, && echo "${pids[*]}")" -- sleep "$COUNTED_S"
    after=$(times_now "${pids[@]}")
    echo "$before $packets $after $(packets_now)" >"$work/used"
}

# Print the figures of an operation of one rank.
print_counts() { # NP LINE: of the program
    local line operations
    read -ra line <<<"$2"
    # The counted part of the point had as many operations a second as all of it.
    operations=$(awk "BEGIN { print ${line[4]} * $COUNTED_S / $point_s * $1 }")
    awk -v operations="$operations" -v head="${line[0]} ${line[1]}, np ${line[2]}, ${line[3]} bytes: ${line[5]} us" '
        FNR == 1 && FILENAME ~ /used$/ {
            printf "%s; a rank: user %.1f us, kernel %.1f us, %.2f packets of %.0f bytes, %.2f segments;", head,
                ($6 - $1) / operations, ($7 - $2) / operations, ($8 - $3) / operations,
                ($8 > $3 ? ($9 - $4) / ($8 - $3) : 0), ($10 - $5) / operations
            FS = ","
            next
        }
        { count = split($0, part, ",") }
        count > 3 && part[1] / operations >= 0.005 {
            sub("syscalls:sys_enter_", "", part[3])
            printf " %s %.2f", part[3], part[1] / operations
        }
        END { print "" }' "$work/used" "$work/calls"
}

# Each point is a run of its own, so that it is known when it is measured.
count_points() { # NP LIBRARY SETTINGS
    local point line counter program=loop
    point_s=$((COUNTED_S + 3))
    set_run "$1" "$2" "$3"
    [ "$2" != floor ] || program=hosts_floor
    for point in "${all[@]}"; do
        count_run "$1" "$program" "$point_s" 2>"$work/counter" &
        counter=$!
        run $((2 * point_s + 40)) "${command[@]}" "$point_s" "$point"
        wait "$counter" || { cat "$work/counter" >&2 && continue; }
        line=$(tail -n 1 "$work/out")
        [ -z "$line" ] || print_counts "$1" "$line"
    done
}
