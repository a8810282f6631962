. ./solution.sh

passed=0
failed=0
check() {
	if [ "$1" = "$2" ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "got \"$1\", want \"$2\""
	fi
}

check "$(solve 1 2 3)" "6"
check "$(solve -5 5 40)" "40"
check "$(solve)" "0"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
