#!/bin/sh
# The main job with no key: two scripted agents on a built-in pack, a
# scorecard, a baseline and a comparison; then, where a Docker engine answers,
# a native pack in containers. Everything it keeps is in bin/quickstart.
set -eu
bin=$1
AGENTCLASH_HOME=$(dirname "$bin")/quickstart
export AGENTCLASH_HOME
rm -rf "$AGENTCLASH_HOME"

# run prints a command, then runs it; its status must be the first argument.
run() {
	want=$1
	shift
	printf '\n$ agentclash'
	printf ' %s' "$@"
	printf '\n'
	status=0
	"$bin" "$@" || status=$?
	if [ "$status" -ne "$want" ]; then
		echo "quickstart: exit status $status, want $want" >&2
		exit 1
	fi
}

good=scripted/builtin:quickstart-good
bad=scripted/builtin:quickstart-bad

run 0 eval start --pack builtin:quickstart --model "$good" --model "$bad" --name first --follow
run 0 eval scorecard first --agent quickstart-bad
run 0 baseline set first --agent quickstart-good
run 0 eval start --pack builtin:quickstart --model "$bad" --name second --follow
printf '\n# the gate refuses the second agent: exit status 1\n'
run 1 compare latest --gate

printf '\n'
if "$bin" doctor --json --query '.checks[] | select(.name == "docker") | .status' 2>/dev/null | grep -qx ok; then
	echo "# a Docker engine answers: the native pack runs in containers, on the built-in image"
	run 0 eval start --pack builtin:quickstart-native --image builtin --model scripted/builtin:quickstart-native-good \
		--model scripted/builtin:quickstart-native-bad --name native --follow
	run 0 eval scorecard native --agent quickstart-native-bad
else
	echo "# no Docker engine answers: the native pack, which runs programs in containers, was left out"
fi
printf '\nLook further: AGENTCLASH_HOME=%s %s run list\n' "$AGENTCLASH_HOME" "$bin"
