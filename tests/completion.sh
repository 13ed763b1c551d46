#!/usr/bin/env bash
# Completion and manual pages know every command and every option that the help knows: completion.sh COMMAND
set -euo pipefail
command=$1
fail() { echo "$*" >&2 && exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for shell in bash zsh fish; do "$command" completion $shell > "$work/$shell"; done
options_of() { "$command" "$@" --help | sed -n 's/^  --\([a-z-]*\).*/\1/p'; }

# What bash offers after some words.
source "$work/bash"
compopt() { :; }
offered() {
    COMP_WORDS=(calder "$@")
    COMP_CWORD=$#
    _calder
    printf '%s\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"}
}
has() { grep -qx -e "$1" <<< "$2" || fail "$3 does not offer '$1': $(tr '\n' ' ' <<< "$2")"; }
for name in sim info eval plan bench view report convert completion help; do has $name "$(offered '')" bash; done
has gear "$(offered sim --solver '')" bash
has gear "$(offered sim mobile --solver g)" bash
has humanoid "$(offered sim hum)" bash
has forward "$(offered bench '')" bash
[[ -z $(offered sim --time '') ]] || fail "bash offers something for a number"
for words in sim info eval plan view convert "bench forward" "bench world"; do
    known=$(offered $words --)
    page=$("$command" manual "calder-${words/ /-}.1" | sed 's/\\-/-/g')
    for option in $(options_of $words); do
        has "--$option" "$known" bash
        [[ $option == help ]] || grep -q "^.B --$option" <<< "$page" || fail "the page of $words lacks --$option"
    done
done

if command -v zsh > /dev/null; then
    zsh -n "$work/zsh"
    for option in $(options_of sim); do grep -q -e "--$option\[" "$work/zsh" || fail "zsh lacks --$option"; done
    zsh -fc "autoload -U compinit && compinit -D -u && source $work/zsh && [[ \$_comps[calder] == _calder ]]" || fail "zsh does not take it"
else echo "zsh is not installed: its completion is not tried"; fi
if command -v fish > /dev/null; then
    fish_offers() { HOME=$work fish -c "source $work/fish; complete -C '$1'" 2> /dev/null | cut -f 1; }
    has gear "$(fish_offers 'calder sim --solver ')" fish
    has view "$(fish_offers 'calder ')" fish
    has --solver "$(fish_offers 'calder sim --so')" fish
    has forward "$(fish_offers 'calder bench ')" fish
else echo "fish is not installed: its completion is not tried"; fi
if command -v groff > /dev/null; then
    for page in $("$command" manual); do
        complaints=$("$command" manual "$page" | groff -man -Tutf8 -K utf8 -ww -z 2>&1) || true
        [[ -z $complaints ]] || fail "$page: $complaints"
    done
else echo "groff is not installed: manual pages are not formatted"; fi
! "$command" completion tcsh 2> /dev/null || fail "an unknown shell is not refused"
! "$command" manual calder-nothing.1 2> /dev/null || fail "an unknown page is not refused"
