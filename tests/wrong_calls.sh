#!/bin/sh
# Calls of every function that public headers declare, as C, for test_wrong_arguments.c: wrong_calls.sh CC INCLUDE HEADER …
# What stands for an argument is a macro of the test with the argument's type; a function that a header gets is among them from then on.
set -eu
cc=$1 include=$2
shift 2
for header in "$@"; do echo "#include <calder/$header>"; done > wrong_calls_all.c
"$cc" -E -P -I "$include" wrong_calls_all.c | tr '\n' ' ' |
    sed 's/__attribute__((format([^)]*)))//g; s/_Pragma([^)]*)//g; s/[;{}]/\n/g' | grep -v '^ *typedef\|static inline\|^ *#' |
    grep -E '^ *[a-z_][A-Za-z0-9_ *]*[ *]cal_[a-z0-9_]* *\(' | awk '
    { sub(/^ */, ""); gsub(/ +/, " ") }
    {
        open = index($0, "(")
        head = substr($0, 1, open - 1); list = substr($0, open + 1); sub(/\) *$/, "", list)
        name = head; sub(/.*[ *]/, "", name)
        type = substr(head, 1, length(head) - length(name)); sub(/ *$/, "", type)
        count = list == "void" ? 0 : split(list, parts, ", ")
        call = ""; has_error = 0; object = "0"; wrong = 0; id = 0; pointers = 0; numbers = 0
        for (i = 1; i <= count; i++) {
            call = call (i > 1 ? ", " : "") argument(parts[i], i)
        }
        printf "static bool call_%s(int k) {\n    (void)k;\n", name
        if (type == "cal_status") printf "    return %s(%s) == CAL_OK;\n", name, call
        else if (type == "void") printf "    %s(%s);\n    return true;\n", name, call
        else printf "    (void)%s(%s);\n    return true;\n", name, call
        print "}"
        table = table sprintf("    {\"%s\", call_%s, %s, %d, %d, %d, %d, %d, %d},\n", name, name, object, type == "cal_status", has_error, wrong, id, numbers, pointers)
    }
    # An argument of the kind that k asks for.
    function argument(text, place,   of, own) {
        if (text == "...") return "0"
        own = text; sub(/(\[[A-Za-z0-9_]*\])+ *$/, "*", own)
        if (own ~ /\*$/ && text ~ /\]/) { sub(/[A-Za-z0-9_]+\*$/, "*", own); of = own }
        else { of = text; sub(/[A-Za-z0-9_]+ *$/, "", of); sub(/ *$/, "", of) }
        own = text; sub(/(\[[A-Za-z0-9_]*\])+ *$/, "", own); sub(/.*[ *]/, "", own)
        if (of == "cal_error*") { has_error = 1; return "ERROR" }
        if (of ~ /^(const )?(struct )?cal_(model|sim|run|world|ensemble|rps|builder|machine|plan|state|dynamics|facts|snapshot)\*$/) {
            if (place == 1) object = "1"
            gsub(/const |struct |cal_|\*/, "", of)
            return "OBJECT(" of ", " pointers++ ")"
        }
        if (of ~ /^(const )?cal_(viewer|csv|glb|html|whole_file|callback_context|read_report)\*$/) {
            if (place == 1) object = "1"
            return "NULL"
        }
        if (of ~ /^cal_(body|multibody)_id$/) { wrong = id = 1; return "WRONG_ID(" of ")" }
        if (of == "const char*") return "WRONG_TEXT(" pointers++ ")"
        if (of ~ /^const cal_[a-z_]*_def\*$/) {
            gsub(/const |\*/, "", of); own = of; sub(/^cal_/, "cal_default_", own)
            return "WRONG_DEFINITION(" of ", " own ", " pointers++ ")"
        }
        if (of ~ /^cal_[a-z]*_(function|callback|visitor|runner)\*$/) return "NULL"
        if (of == "const double*") { numbers = 1; return "WRONG_NUMBERS(" pointers++ ")" }
        if (of ~ /\*$/) return "WRONG_POINTER(" of ", " pointers++ ")"
        if (of == "double") { wrong = 1; return "WRONG_NUMBER" }
        if (of == "size_t") return "WRONG_SIZE"
        if (of ~ /^(int|int64_t)$/ && own ~ /count|capacity|processors|steps|slots/) { return "WRONG_COUNT" }
        if (of ~ /^cal_/) { wrong = 1; return "WRONG_KIND(" of ")" }
        if (of ~ /^(int|unsigned|u?int(32|64)_t)$/) { wrong = 1; return "(" of ")WRONG_INDEX" }
        if (of ~ /^(_Bool|bool|char)$/) return "(" of ")(k > 1)"
        return "ARGUMENT_OF_UNKNOWN_TYPE(" of ")"
    }
    END { printf "static const wrong_call calls[] = {\n%s};\n", table }'
rm -f wrong_calls_all.c
