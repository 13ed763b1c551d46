#!/bin/sh
# A compiler's launcher: reuse.sh BUILD COMPILER ARGUMENT…, with BUILD a build of the same sources. An object that the same command has made
# there is copied, and everything else is compiled: so a project that has Calder inside is built as a whole in seconds.
build=$1
shift
object=
previous=
for word in "$@"; do
    [ "$previous" != -o ] || object=$word
    previous=$word
done
# In the folder of the other build, whose top is the library's.
made=CMakeFiles/${object#*CMakeFiles/}
# The same command: the same options in the same order, without those that only decide what is said.
same='function options(text,   words, count, i, out) {
    count = split(text, words, " ")
    for (i = 1; i <= count; i++)
        if (words[i] ~ /^-/ && words[i] !~ /^-(Werror|o|c|M[DTF])/) out = out " " words[i]
    return out
}
index($0, "\"command\"") && index($0, "-o " object " ") {
    sub(/.*"command": "/, "")
    gsub(/\\"/, "\"")
    if (options($0) == options(here)) print "same"
    exit
}'
if [ -n "$object" ] && [ -f "$build/$made" ] &&
    [ "$(awk -v "object=$made" -v "here=$*" "$same" "$build/compile_commands.json")" = same ]; then
    exec cp "$build/$made" "$object"
fi
exec "$@"
