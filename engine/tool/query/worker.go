package query

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// statusMemory is the exit status of a process that was out of memory before
// the system said so.
const statusMemory = 3

// Main is the process that answers: one question from in, one answer to out.
// It returns its exit status, unless exit is called before: when the question
// takes too much memory or time.
func Main(in io.Reader, out, errs io.Writer, exit func(status int)) int {
	if err := confine(); err != nil {
		fmt.Fprintf(errs, "%s: %v\n", Subcommand, err)
		return 1
	}
	debug.SetMemoryLimit(maxMemory * 3 / 4)
	go watch(exit)
	q, err := receive(in)
	if err != nil {
		fmt.Fprintf(errs, "%s: read the question: %v\n", Subcommand, err)
		return 1
	}
	o := &output{}
	if err := send(out, o, work(q, o)); err != nil {
		return 1
	}
	return 0
}

// watch ends the process when the question outgrows its bounds. Where the
// system keeps to them by itself this is the second fence, elsewhere the first.
func watch(exit func(int)) {
	began := time.Now()
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for {
		metrics.Read(heap)
		switch {
		case heap[0].Value.Uint64() > maxMemory:
			exit(statusMemory)
		case time.Since(began) > maxTime+5*time.Second:
			exit(1) // whoever asked is gone
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func receive(in io.Reader) (Question, error) {
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err != nil {
		return Question{}, err
	}
	var head header
	if err := json.Unmarshal(line, &head); err != nil {
		return Question{}, err
	}
	if head.Data < 0 || head.WAL < 0 || head.Data > MaxData || head.WAL > MaxData {
		return Question{}, errors.New("its size is out of bounds")
	}
	q := Question{Language: head.Language, Query: head.Query, Data: make([]byte, head.Data), WAL: make([]byte, head.WAL)}
	if _, err := io.ReadFull(r, q.Data); err != nil {
		return Question{}, err
	}
	_, err = io.ReadFull(r, q.WAL)
	return q, err
}

// work answers a question. A panic is the question's fault as well.
func work(q Question, o *output) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = refuse("the query could not be worked out: %v", r)
		}
	}()
	switch q.Language {
	case JQ:
		return runJQ(q, o)
	case SQLite:
		return runSQL(q, o)
	}
	return refuse("there is no query language %q", q.Language)
}
