package scoring

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// TestCounts are the numbers a test command printed. Total is at least the sum
// of the others and more than 0.
type TestCounts struct {
	Passed int `json:"passed_tests"`
	Failed int `json:"failed_tests"`
	Errors int `json:"error_tests"`
	Total  int `json:"total_tests"`
}

// Bounds on test output.
const (
	maxCountedText = 1 << 20 // the end of the output that is searched
	maxCount       = 1_000_000_000
)

// CountTests reads test counts from a command's output: one JSON object with
// passed, failed, errors and total, or a JUnit report, or the last line of
// text that counts tests, such as "2 passed, 1 failed". Without any it is
// false.
func CountTests(stdout, stderr string) (TestCounts, bool) {
	text := strings.TrimSpace(stdout + "\n" + stderr)
	if len(text) > maxCountedText {
		return countText(text[len(text)-maxCountedText:])
	}
	if n, ok := countJSON(text); ok {
		return n, true
	}
	if n, ok := countXML(text); ok {
		return n, true
	}
	return countText(text)
}

// counts makes the four numbers consistent; an impossible one spoils them.
func counts(passed, failed, errs, total float64) (TestCounts, bool) {
	for _, v := range [...]float64{passed, failed, errs, total} {
		if math.IsNaN(v) || v < 0 || v > maxCount {
			return TestCounts{}, false
		}
	}
	n := TestCounts{Passed: int(passed), Failed: int(failed), Errors: int(errs), Total: int(total)}
	n.Total = max(n.Total, n.Passed+n.Failed+n.Errors)
	return n, n.Total > 0
}

func countJSON(text string) (TestCounts, bool) {
	if !strings.HasPrefix(text, "{") {
		return TestCounts{}, false
	}
	var report struct {
		Passed, Failed, Error, Total float64
		Errors                       *float64
	}
	if json.Unmarshal([]byte(text), &report) != nil {
		return TestCounts{}, false
	}
	if report.Errors != nil {
		report.Error = *report.Errors
	}
	return counts(report.Passed, report.Failed, report.Error, report.Total)
}

// suite is a JUnit testsuite or testsuites element.
type suite struct {
	XMLName  xml.Name
	Tests    int     `xml:"tests,attr"`
	Failures int     `xml:"failures,attr"`
	Errors   int     `xml:"errors,attr"`
	Suites   []suite `xml:"testsuite"`
}

func countXML(text string) (TestCounts, bool) {
	if !strings.HasPrefix(text, "<") {
		return TestCounts{}, false
	}
	var root suite
	if xml.NewDecoder(bytes.NewReader([]byte(text))).Decode(&root) != nil {
		return TestCounts{}, false
	}
	if root.XMLName.Local == "testsuites" && root.Tests <= 0 {
		for _, s := range root.Suites {
			root.Tests += s.Tests
			root.Failures += s.Failures
			root.Errors += s.Errors
		}
	} else if root.XMLName.Local != "testsuites" && root.XMLName.Local != "testsuite" {
		return TestCounts{}, false
	}
	passed := float64(root.Tests) - float64(root.Failures) - float64(root.Errors)
	return counts(max(passed, 0), float64(root.Failures), float64(root.Errors), float64(root.Tests))
}

var countWord = regexp.MustCompile(`(?i)(\d+)\s+(passed|failed|error|errors)\b`)

// countText takes the last line that counts anything. A test runner ends with
// its summary; what the code under test prints comes before it.
func countText(text string) (TestCounts, bool) {
	for text != "" {
		cut := strings.LastIndexAny(text, "\r\n")
		if n, ok := countLine(text[cut+1:]); ok {
			return n, true
		}
		text = text[:max(cut, 0)]
	}
	return TestCounts{}, false
}

func countLine(line string) (TestCounts, bool) {
	var passed, failed, errs float64
	for _, m := range countWord.FindAllStringSubmatch(line, -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return TestCounts{}, false
		}
		switch strings.ToLower(m[2]) {
		case "passed":
			passed += n
		case "failed":
			failed += n
		default:
			errs += n
		}
	}
	return counts(passed, failed, errs, 0)
}
