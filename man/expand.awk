# Make the source of a page from its template in man/pages. Lines that begin with "@" are replaced:
#   @include FILE      a file of the directories in `path` (separated by ":")
#   @literal FILE      the same file in a literal block, unchanged
#   @prototypes NAME.. declarations of functions and types of the header
#   @doc NAME          the docstring above a declaration
#   @struct NAME       a struct, and what its fields mean
#   @paragraph WORD    the paragraph of the header's first comment that begins with WORD
#   @constants PREFIX  numbers of the header, and what they mean
#   @errors            error codes of the header, and what they mean
# Example:
#   awk -v header=include/ftcoll.h -v path=man/examples -f man/expand.awk man/pages/ftc_init.3.scd

function fail(why) {
    print "expand.awk: " FILENAME ": " why >"/dev/stderr"
    failed = 1
    exit 1
}

# --- the header ---

function escape(text) {
    gsub(/[]\\*_`#.+|[-]/, "\\\\&", text)
    return text
}

# Remove the comment signs from a line of a docstring.
function strip(line) {
    sub(/ *\*\/ *$/, "", line)
    sub(/^ *\/\* ?/, "", line)
    sub(/^ *\* ?/, "", line)
    return line
}

function name_of(text) {
    sub(/;[^;]*\*\/$/, ";", text)
    if (match(text, /[}] ftc_[a-z_0-9]+;$/))
        return substr(text, RSTART + 2, RLENGTH - 3)
    if (match(text, /ftc_[a-z_0-9]+\(/))
        return substr(text, RSTART, RLENGTH - 1)
    if (text ~ /^typedef/ && match(text, /[ *]ftc_[a-z_0-9]+;$/))
        return substr(text, RSTART + 1, RLENGTH - 2)
    return ""
}

function keep_declaration(text, comment, name) {
    name = name_of(text)
    sub(/^FTC_API /, "", text)
    declaration[name] = text
    docstring[name] = comment
}

function read_header(line, comment, text, inside, status) {
    comment = text = ""
    while ((status = (getline line <header)) > 0) {
        if (line ~ /^#define FTC_[A-Z_]+ +[0-9]+ +\/\*/) {
            split(line, word, " ")
            constant_name[++constants] = word[2]
            constant_value[constants] = word[3]
            sub(/^[^\/]*/, "", line)
            constant_text[constants] = strip(line)
        } else if (line ~ /^    X\(FTC_ERR_/) {
            split(line, word, /[(,"]/)
            error_name[++errors] = word[2]
            error_value[errors] = word[3] + 0
            error_text[errors] = word[5]
        }
        if (text != "" || line ~ /^(FTC_API|typedef) /) {
            text = text (text != "" ? "\n" : "") line
            if (text ~ /^typedef (struct|enum)[^;]*[{]/ ? line ~ /[}].*;$/ : line ~ /;( *\/\*.*\*\/)?$/) {
                keep_declaration(text, comment)
                text = ""
            }
        } else if (inside || line ~ /^\/\*/) {
            comment = (inside ? comment "\n" : "") strip(line)
            inside = line !~ /\*\/$/
            if (!inside && conventions == "")
                conventions = comment
        } else if (line == "") {
            comment = ""
        }
    }
    if (status < 0)
        fail("cannot read " header)
    close(header)
}

# --- declarations ---

# Break a long declaration into lines. Its further lines begin under the first argument.
function fold(text, column, indent, out, part, n, i, used) {
    gsub(/\n */, " ", text)
    n = split(text, part, ", ")
    out = part[1]
    indent = index(text, "(")
    used = length(out)
    for (i = 2; i <= n; i++) {
        used += 2 + length(part[i])
        if (used > 66) {
            out = out ",\n" sprintf("%" indent "s", "")
            used = indent + length(part[i])
        } else {
            out = out ", "
        }
        out = out part[i]
    }
    return out
}

function print_prototypes(names, name, n, i) {
    n = split(names, name, " ")
    print "```"
    for (i = 1; i <= n; i++) {
        if (!(name[i] in declaration))
            fail("the header has no " name[i])
        print (declaration[name[i]] ~ /[{]/ ? bare(declaration[name[i]]) : fold(declaration[name[i]]))
        if (i < n)
            print ""
    }
    print "```"
}

# Return a struct without its comments, with a line for each field.
function bare(text, line, n, i, out, inside) {
    if (text !~ /\n/) {
        sub(/[{] /, "{\n    ", text)
        gsub(/; /, ";\n    ", text)
        sub(/    [}]/, "}", text)
    }
    n = split(text, line, "\n")
    for (i = 1; i <= n; i++) {
        if (!inside && line[i] !~ /^ *\/\*/) {
            out = out (out != "" ? "\n" : "") line[i]
            sub(/ *\/\*.*$/, "", out)
        }
        inside = (inside || line[i] ~ /\/\*/) && line[i] !~ /\*\//
    }
    return out
}

# --- texts ---

function mark_up(text, out, found) {
    text = escape(text)
    while (match(text, /\\`[^`]*\\`/)) {
        found = substr(text, RSTART + 2, RLENGTH - 4)
        out = out substr(text, 1, RSTART - 1) "_" found "_"
        text = substr(text, RSTART + RLENGTH)
    }
    text = out text
    out = ""
    while (match(text, /(ftc\\_[a-z\\_]+\(\)|FTC(\\_[A-Z0-9]+)+(\\_\\\*)?)/)) {
        found = substr(text, RSTART, RLENGTH)
        out = out substr(text, 1, RSTART - 1) "*" found "*"
        text = substr(text, RSTART + RLENGTH)
    }
    return out text
}

function print_paragraph(word, line, n, i, paragraph) {
    n = split(conventions, line, "\n")
    for (i = 1; i <= n && index(line[i], word ". ") != 1; i++)
        continue
    for (; i <= n && line[i] != ""; i++)
        paragraph = paragraph " " line[i]
    if (paragraph == "")
        fail("the header's first comment has no paragraph " word)
    print mark_up(substr(paragraph, length(word) + 4)) "\n"
}

function print_doc(name, line, n, i, paragraph) {
    if (docstring[name] == "")
        fail("the header has no docstring of " name)
    n = split(docstring[name], line, "\n")
    for (i = 1; i <= n + 1; i++) {
        if (paragraph != "" && (i > n || line[i] == "" || line[i] ~ /^Errors: /)) {
            print mark_up(paragraph) "\n"
            paragraph = ""
        }
        if (i <= n && line[i] != "")
            paragraph = paragraph (paragraph != "" ? " " : "") line[i]
    }
}

function print_field(code, comment) {
    sub(/;.*$/, "", code)
    sub(/^ */, "", code)
    if (code == "" || comment == "")
        return
    print "*" escape(code) "*"
    print "\t" mark_up(comment) "\n"
}

# Print a struct and the comments of its fields. A comment is above its field, or behind it over one
# or more lines.
function print_struct(name, line, n, i, code, comment, before, inside, rest) {
    print_prototypes(name)
    print ""
    n = split(declaration[name], line, "\n")
    for (i = 2; i < n; i++) {
        rest = line[i]
        if (inside) {
            comment = comment " " strip(rest)
        } else if (match(rest, /\/\*/)) {
            if (substr(rest, 1, RSTART - 1) ~ /;/)
                code = substr(rest, 1, RSTART - 1)
            else
                code = ""
            comment = strip(substr(rest, RSTART))
        } else {
            print_field(rest, before)
            before = ""
            continue
        }
        inside = rest !~ /\*\//
        if (inside)
            continue
        sub(/^ +/, "", comment)
        if (code == "") {
            before = comment
        } else {
            print_field(code, comment)
            before = ""
        }
    }
}

function print_codes(prefix, name, value, text, n, i) {
    for (i = 1; i <= n; i++)
        if (index(name[i], prefix) == 1)
            print "*" escape(name[i]) "* (" escape(value[i]) ")\n\t" mark_up(text[i]) "\n"
}

# --- files ---

function print_file(name, literal, from, directory, n, i, line, status) {
    n = split(path, directory, ":")
    for (i = 1; i <= n; i++) {
        from = directory[i] "/" name
        if ((status = (getline line <from)) < 0)
            continue
        for (; status > 0; status = (getline line <from)) {
            if (literal)
                gsub(/\\/, "&&", line)
            print line
        }
        close(from)
        return
    }
    fail("no " name " in " path)
}

BEGIN { read_header() }
/^@include / { print_file($2, 0); next }
/^@literal / { print "```"; print_file($2, 1); print "```"; next }
/^@prototypes / { sub(/^@prototypes /, ""); print_prototypes($0); next }
/^@doc / { print_doc($2); next }
/^@paragraph / { print_paragraph($2); next }
/^@struct / { print_struct($2); next }
/^@errors$/ { print_codes("FTC_ERR_", error_name, error_value, error_text, errors); next }
/^@constants / { print_codes($2, constant_name, constant_value, constant_text, constants); next }
/^@/ { fail("unknown line " $0) }
{ print }
END { exit failed }
