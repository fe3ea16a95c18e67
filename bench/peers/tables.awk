# Make the tables of bench/compare from its single figures (CSV), with cells.awk before it; -v format=text or
# markdown. If a library ran with several settings, its best figure of each round counts.

BEGIN { FS = "," }

NR == 1 { next }

# The overlap of requests follows their time. That of the settings with the best time counts.
$4 ~ /-overlap$/ {
    key = $2 SUBSEP substr($4, 1, length($4) - length("-overlap")) SUBSEP $5 SUBSEP $6
    if (best[key, $1] == $3)
        overlap[key, $1] = $8
    next
}

{
    if (match($4, /-[0-9]+$/))
        under_way[substr($4, RSTART + 1) + 0]
    key = $2 SUBSEP $4 SUBSEP $5 SUBSEP $6
    if ($2 ~ /^floor/) {
        key = key SUBSEP $3
        floor_seen = 1
        nps_floor[$5 + 0]
    } else {
        seen[$4, $5, $6]
        nps[$5 + 0]
        bytes[$6 + 0]
        measured[$4]
    }
    if ($8 !~ /^[0-9]/)
        outcome[key] = $8
    else if (!((key, $1) in value) || $8 + 0 < value[key, $1]) {
        value[key, $1] = $8 + 0
        best[key, $1] = $3
    }
    if ($1 > rounds)
        rounds = $1
}

END {
    operation_table("allreduce", "allreduce, us")
    operation_table("reduce", "reduce to a fixed root, pipelined, us")
    operation_table("bcast", "broadcast from a fixed root, pipelined, us")
    operation_table("barrier", "barrier, us")
    operation_table("allgather", "allgather, bytes of a block, us")
    operation_table("gather", "gather to a fixed root, pipelined, bytes of a block, us")
    operation_table("scatter", "scatter from a fixed root, pipelined, bytes of a block, us")
    operation_table("alltoall", "alltoall, bytes of a block, us")
    operation_table("reduce_scatter", "reduce_scatter, bytes of a block, us")
    operation_table("scan", "scan, us")
    request_tables("allreduce reduce bcast barrier allgather gather scatter alltoall reduce_scatter scan")
    operation_table("comm_dup", "comm_dup and comm_free, us")
    operation_table("comm_split", "comm_split into even and odd ranks, and comm_free, us")
    operation_table("pingpong", "ping-pong in pairs of ranks, half of the time there and back, us")
    operation_table("rate", "messages in pairs of ranks, 64 under way, us for one")
    ratio_table()
    floor_table()
    operation_table("start", "start of the launcher to the first allreduce on the last rank, ms")
    operation_table("whole", "the whole of such a job, to the end of the launcher, ms")
    operation_table("memory", "memory of a rank after it (Pss), KiB")
}

# The figure of a round, or 0 if there is none. A plain array access would create an element.
function get(key, round) {
    return (key, round) in value ? value[key, round] : 0
}

# The median over the rounds, or the reason why there is none.
function figure(key,    round, list, count) {
    for (round = 1; round <= rounds; round++)
        if ((key, round) in value)
            list[++count] = value[key, round]
    return count ? number(median(list, count)) : key in outcome ? outcome[key] : "-"
}

# The figure of the better peer of a round, or 0 if there is none.
function best_peer(point, round,    mpich, openmpi) {
    mpich = get("mpich" SUBSEP point, round)
    openmpi = get("openmpi" SUBSEP point, round)
    return !mpich || (openmpi && openmpi < mpich) ? openmpi : mpich
}

# Set cells[at] to the median of the rounds' ratios, and cells[at + 1] to their range.
function set_ratio(cells, at, point,    round, list, count, ftcoll, peer) {
    for (round = 1; round <= rounds; round++) {
        ftcoll = get("ftcoll" SUBSEP point, round)
        peer = best_peer(point, round)
        if (ftcoll && peer)
            list[++count] = peer / ftcoll
    }
    cells[at] = count ? sprintf("%.2f", median(list, count)) : "-"
    cells[at + 1] = count ? sprintf("%.2f..%.2f", list[1], list[count]) : "-"
}

function operation_table(measurement, text, overlaps,    np_list, byte_list, np_count, byte_count, i, j) {
    if (!(measurement in measured))
        return
    tables[++table_count] = measurement
    title(text)
    header("np|bytes|ftcoll|MPICH|Open MPI|ratio|range" (overlaps ? "|ftcoll, %|MPICH, %|Open MPI, %" : ""))
    np_count = sorted_keys(nps, np_list)
    byte_count = sorted_keys(bytes, byte_list)
    for (i = 1; i <= byte_count; i++)
        for (j = 1; j <= np_count; j++)
            if ((measurement, np_list[j], byte_list[i]) in seen)
                operation_row(measurement SUBSEP np_list[j] SUBSEP byte_list[i], np_list[j], byte_list[i], overlaps)
}

# The overlap of a library, in percent: the median over the rounds.
function overlap_of(key,    round, list, count) {
    for (round = 1; round <= rounds; round++)
        if ((key, round) in overlap)
            list[++count] = overlap[key, round]
    return count ? sprintf("%.0f", median(list, count)) : "-"
}

# Non-blocking operations, one request at a time and several.
function request_tables(names,    name, name_count, counts, number_of_counts, i, j) {
    name_count = split(names, name, " ")
    number_of_counts = sorted_keys(under_way, counts)
    for (i = 1; i <= name_count; i++) {
        operation_table("i" name[i], "i" name[i] ", us; then the overlap with a computation, %", 1)
        for (j = 1; j <= number_of_counts; j++)
            operation_table("i" name[i] "-" counts[j], "i" name[i] ", " counts[j] " under way, us; then the overlap, %", 1)
    }
}

# The ratios of all operations that have a table so far: a line for each operation and np.
function ratio_table(    np_list, byte_list, np_count, byte_count, cells, lines, i, j) {
    np_count = sorted_keys(nps, np_list)
    byte_count = sorted_keys(bytes, byte_list)
    for (i = 1; i <= table_count; i++)
        for (j = 1; j <= np_count; j++) {
            if (!set_ratios(cells, tables[i] SUBSEP np_list[j], byte_list, byte_count))
                continue
            if (!lines++)
                ratio_head(byte_list, byte_count)
            cells[1] = operation_cell(tables[i])
            cells[2] = np_list[j]
            row(cells, 2 + byte_count)
        }
}

# Names are longer than the other first cells.
function operation_cell(name) {
    return format == "markdown" ? name : sprintf("%-22s", name)
}

function ratio_head(byte_list, byte_count,    cells, k) {
    title("ratio: best peer / ftcoll, by bytes")
    cells[1] = operation_cell("operation")
    cells[2] = "np"
    for (k = 1; k <= byte_count; k++)
        cells[2 + k] = byte_list[k] ? size_text(byte_list[k]) : "no data"
    header_row(cells, 2 + byte_count)
}

# Set cells[3..] to the ratios at each size. Returns how many there are.
function set_ratios(cells, point, byte_list, byte_count,    ratio, found, k) {
    for (k = 1; k <= byte_count; k++) {
        set_ratio(ratio, 1, point SUBSEP byte_list[k])
        cells[2 + k] = ratio[1]
        found += ratio[1] != "-"
    }
    return found
}

function operation_row(point, np, size, overlaps,    cells) {
    cells[1] = np
    cells[2] = size_text(size)
    cells[3] = figure("ftcoll" SUBSEP point)
    cells[4] = figure("mpich" SUBSEP point)
    cells[5] = figure("openmpi" SUBSEP point)
    set_ratio(cells, 6, point)
    cells[8] = overlap_of("ftcoll" SUBSEP point)
    cells[9] = overlap_of("mpich" SUBSEP point)
    cells[10] = overlap_of("openmpi" SUBSEP point)
    row(cells, overlaps ? 10 : 7)
}

function floor_table(    np_list, np_count, i) {
    if (!floor_seen)
        return
    title("floor: a bare counter barrier without any library, us; then ftcoll (8 B) / the best of the row")
    header("np|bind|spin|yield|futex|yield, futex|barrier|allreduce")
    np_count = sorted_keys(nps_floor, np_list)
    for (i = 1; i <= np_count; i++) {
        floor_row(np_list[i], "none")
        floor_row(np_list[i], "cores")
    }
}

function floor_row(np, bind,    cells, point) {
    point = "floor-" bind SUBSEP "barrier" SUBSEP np SUBSEP 0 SUBSEP
    cells[1] = np
    cells[2] = bind
    cells[3] = figure(point "spin")
    cells[4] = figure(point "yield")
    cells[5] = figure(point "futex")
    cells[6] = figure(point "adaptive")
    cells[7] = floor_ratio(point, "ftcoll" SUBSEP "barrier" SUBSEP np SUBSEP 0)
    cells[8] = floor_ratio(point, "ftcoll" SUBSEP "allreduce" SUBSEP np SUBSEP 8)
    row(cells, 8)
}

# How many times as long as the best floor of the round ftcoll takes, as the median over the rounds.
function floor_ratio(point, ftcoll,    round, list, count, best) {
    for (round = 1; round <= rounds; round++) {
        best = best_floor(point, round)
        if (best && get(ftcoll, round))
            list[++count] = get(ftcoll, round) / best
    }
    return count ? sprintf("%.2f", median(list, count)) : "-"
}

function best_floor(point, round,    waits, count, i, best, candidate) {
    count = split("spin yield futex adaptive", waits, " ")
    for (i = 1; i <= count; i++) {
        candidate = get(point waits[i], round)
        if (candidate && (!best || candidate < best))
            best = candidate
    }
    return best
}
