#!/bin/sh
# Two processes compute a report together over loopback; a third reads it. Four people make two pairs.
#
#     sh examples/two_terminals.sh          # port 9137
#     sh examples/two_terminals.sh 9500     # another port
#
# Needs dpairs with the extras "cli" and "pairs" (`make setup` installs both). Each `dpairs pair` is a process
# of its own, as in two terminals. The pairs' noise is fresh, so a second run decodes other symbols.
set -eu

port=${1:-9137}
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
dpairs=$(command -v dpairs || echo "$here/.venv/bin/dpairs")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

echo "== everybody: the public study, and who meets whom"
"$dpairs" study create kendall_tau --protocol pairwise --epsilon 2 \
    --domain levels:1,2,3,4,5 --domain levels:1,2,3,4,5 --seed 1 --out study.json
"$dpairs" study pairs study.json --people 4

meet() { # pair, garbler's x and y, evaluator's x and y
    echo "== pair $1: one listens and garbles, the other connects and evaluates"
    "$dpairs" pair study.json --number "$1" --people 4 --listen "127.0.0.1:$port" \
        --x "$2" --y "$3" --out garblers.jsonl &
    garbler=$!
    "$dpairs" pair study.json --number "$1" --people 4 --connect "127.0.0.1:$port" \
        --x "$4" --y "$5" --out evaluators.jsonl
    wait "$garbler"
}
meet 0 4 5 2 1
meet 64 3 3 5 4

echo "== the collector: both files, and only now can anybody read a symbol"
"$dpairs" decode study.json garblers.jsonl evaluators.jsonl --people 4 --out reports.jsonl
"$dpairs" tally study.json reports.jsonl --out tally.json

echo "== the analyst: two pairs are far too few, for the value and for its interval"
"$dpairs" estimate study.json tally.json
