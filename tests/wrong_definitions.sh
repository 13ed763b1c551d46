#!/bin/sh
# The numbers of every definition that public headers have, as C, for test_wrong_definitions.c: wrong_definitions.sh CC INCLUDE HEADER …
# Those of structs in definitions are among them; names and other addresses are not, nor what is true or false.
set -eu
cc=$1 include=$2
shift 2
for header in "$@"; do echo "#include <calder/$header>"; done > wrong_definitions_all.c
"$cc" -E -P -I "$include" wrong_definitions_all.c | tr '\n' ' ' | sed 's/typedef struct/\n&/g' | awk '
    /^typedef struct [a-z_]* *\{/ {
        name = $3
        body = $0; sub(/^[^{]*\{/, "", body); sub(/\}.*/, "", body)
        structs[name] = body
        if (name ~ /_def$/) definitions[++count] = name
    }
    # The fields of a struct, at a place inside of a definition.
    function list(definition, type, prefix,   parts, n, i, text, of, names, m, j, field) {
        n = split(structs[type], parts, ";")
        for (i = 1; i <= n; i++) {
            text = parts[i]; gsub(/ +/, " ", text); sub(/^ /, "", text); sub(/ $/, "", text)
            if (text == "" || text ~ /[*(]/) continue
            of = text; sub(/^(const |struct )+/, "", of); sub(/ .*/, "", of)
            sub(/^(const |struct )*[a-z0-9_]+ /, "", text)
            m = split(text, names, ",")
            for (j = 1; j <= m; j++) {
                field = names[j]; gsub(/ |\[[^]]*\]/, "", field)
                if (field == "cookie" || of ~ /^(bool|_Bool|char)$/) continue
                if (of in structs) list(definition, of, prefix field ".")
                else printf "    NUMBER(%s, %s, %s, %d)\n", definition, prefix field, of, of == "double"
            }
        }
    }
    END { for (i = 1; i <= count; i++) list(definitions[i], definitions[i], "") }'
rm -f wrong_definitions_all.c
