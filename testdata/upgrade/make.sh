#!/bin/sh
# Makes a store of the schema of the binary that it is given, packed into FILE:
#
#   make.sh BINARY FILE
#
# TestUpgrade (upgrade_test.go) wants the same of every such store, so that a store which an older
# binary made is no other than one of today.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
file=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/*.yaml "$work"
cd "$work"
AGENTCLASH_HOME=$work/home AGENTCLASH_SECRET_STORE=file CI=1
export AGENTCLASH_HOME AGENTCLASH_SECRET_STORE CI

# want runs a command whose status must be the first argument.
want() {
	expected=$1
	shift
	status=0
	"$bin" "$@" >>log 2>&1 || status=$?
	[ "$status" -eq "$expected" ] || { cat log >&2; echo "$*: exit status $status, want $expected" >&2; exit 1; }
}

good=scripted/builtin:quickstart-good
bad=scripted/builtin:quickstart-bad

want 0 eval start --pack builtin:quickstart --model "$good" --model "$bad" --name first
want 0 baseline set first --agent quickstart-bad
want 0 baseline set first --agent quickstart-good
want 0 eval start --pack builtin:quickstart --model "$bad" --name second
want 1 compare latest --gate
want 0 eval start --pack builtin:quickstart --model "$bad" --repetitions 3 --name thrice
want 0 eval start --pack builtin:quickstart --model scripted/lost.yaml --retry-invalid 0 --name lost
want 0 eval start --pack files.yaml --model scripted/tools.yaml --sandbox scratch --name files
want 0 deployment create --name kept --model "$good"

# a run that is killed in the second of its four cases
"$bin" eval start --pack builtin:quickstart --model scripted/slow.yaml --concurrency 1 --name killed --follow --json >killed.log 2>&1 &
pid=$!
until grep '"event_type":"model.call.started"' killed.log | grep -q '"case_key":"capital"'; do
	kill -0 "$pid" 2>/dev/null || { cat killed.log >&2; exit 1; }
	sleep 0.05
done
sleep 0.5 # facts are stored a few milliseconds after they are shown
kill -9 "$pid"
wait "$pid" 2>/dev/null || true

# what later schemas hold besides
if "$bin" eval --help | grep -q '^  rescore '; then
	want 0 eval rescore first
fi
if "$bin" --help | grep -q '^  infra '; then
	want 0 infra provider-account create --name house --provider openai --base-url http://localhost:9/v1
fi
if "$bin" baseline set --help | grep -q -- --name; then
	want 0 baseline set thrice --name nightly
fi
if "$bin" eval start --help | grep -q -- --session; then
	want 0 eval start --pack builtin:quickstart --model "$bad" --session evening --name evening
fi

want 0 run list
[ ! -s home/agentclash.db-wal ] || { echo "the log of the store was not folded in" >&2; exit 1; }
gzip -9 -n -c home/agentclash.db >"$file"
echo "$file: $(wc -c <"$file") bytes"
