# Cells and rows of tables in text or Markdown (-v format=text or markdown), for the scripts that
# follow this one.

# Sort list[1..count].
function sort(list, count,    i, j, item) {
    for (i = 2; i <= count; i++) {
        item = list[i]
        for (j = i - 1; j > 0 && list[j] > item; j--)
            list[j + 1] = list[j]
        list[j + 1] = item
    }
}

# Put the keys of `set` into list[1..] as sorted numbers. Returns how many there are.
function sorted_keys(set, list,    key, count) {
    for (key in set)
        list[++count] = key + 0
    sort(list, count)
    return count
}

function median(list, count) {
    sort(list, count)
    return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
}

function number(x) {
    return sprintf(x < 9.995 ? "%.2f" : x < 99.95 ? "%.1f" : "%.0f", x)
}

# "64K" for 65536, and "" for an operation without data.
function size_text(bytes) {
    return !bytes ? "" : bytes % 1048576 == 0 ? bytes / 1048576 "M" : bytes % 1024 == 0 ? bytes / 1024 "K" : bytes
}

function title(text) {
    printf format == "markdown" ? "\n### %s\n\n" : "\n%s\n", text
}

function row(cells, count,    i) {
    for (i = 1; i <= count; i++)
        printf format == "markdown" ? "| %s " : i < 3 ? "%6s" : i < 7 ? "%14s" : "%16s", cells[i]
    print format == "markdown" ? "|" : ""
}

function header(text,    cells) {
    header_row(cells, split(text, cells, "|"))
}

function header_row(cells, count,    i) {
    row(cells, count)
    for (i = 1; format == "markdown" && i <= count; i++)
        printf "|--:%s", i < count ? "" : "|\n"
}
