package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// startTime is when a process started, in the kernel's ticks. A zombie has ended.
func startTime(pid int) (string, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", err
	}
	// the program's name is in parentheses and may hold anything
	_, rest, ok := strings.Cut(string(b[strings.LastIndexByte(string(b), ')')+1:]), " ")
	field := strings.Fields(rest)
	if !ok || len(field) < 20 || field[0] == "Z" {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return field[19], nil
}
