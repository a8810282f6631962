//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

const nativeTrials = 20

// nativeTrial compares one native trial (two tool calls) with what its
// container costs without us: create, start, one exec, remove, over the API.
func (b bench) nativeTrial() error {
	e := newEngine()
	if e.get("/_ping") != nil {
		fmt.Println("no Docker engine answers: the native trial was not measured")
		return nil
	}
	script := "default: [{tool_calls: [{name: exec, arguments: {command: [\"true\"]}}]}, {tool_calls: [{name: submit, arguments: {answer: word-0}}]}]\n"
	pack := strings.Replace(packOf("native", nativeTrials), "  evaluation_spec:", "  tool_policy: {allow_shell: true}\n  evaluation_spec:", 1)
	if err := b.write("native.yaml", pack); err != nil {
		return err
	}
	if err := b.write("native-agent.yaml", script); err != nil {
		return err
	}
	args := []string{"eval", "start", "--pack", "native.yaml", "--model", "scripted/native-agent.yaml", "--image", "builtin", "--concurrency", "1", "--quiet"}
	all, err := b.time(b.rounds, "native", b.bin, args...)
	if err != nil {
		return err
	}
	one, err := b.time(b.rounds, "native", b.bin, append(args, "--case", "case-00000")...)
	if err != nil {
		return err
	}
	trial := (all.wall - one.wall) / (nativeTrials - 1)
	row("one native trial, two tool calls, one at a time", sample{wall: trial, rss: all.rss}, "")
	raw, err := e.raw(4 * b.rounds)
	if err != nil {
		return err
	}
	row("its container alone: create, start, exec, remove", sample{wall: raw}, "")
	ratio("native trial / its container", trial, raw, "")
	return nil
}

// engineAPI speaks the few calls that the comparison needs.
type engineAPI struct{ client *http.Client }

func newEngine() engineAPI {
	socket := "/var/run/docker.sock"
	if path, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://"); ok {
		socket = path
	}
	return engineAPI{&http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}}
}

func (e engineAPI) get(path string) error { return e.call(http.MethodGet, path, nil, nil) }

func (e engineAPI) call(method, path string, body, into any) error {
	var payload bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&payload).Encode(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequest(method, "http://engine"+path, &payload)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := e.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode >= 400 {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// image is for the bare containers: the built-in one has no programs of its
// own. What is in an image does not change what its container costs.
const image = "agentclash/sandbox:local"

// raw is the median of n bare containers.
func (e engineAPI) raw(n int) (time.Duration, error) {
	if err := e.get("/images/" + image + "/json"); err != nil {
		return 0, fmt.Errorf("%w: make sandbox-image makes it", err)
	}
	var walls []time.Duration
	for range n {
		began := time.Now()
		if err := e.container(); err != nil {
			return 0, err
		}
		walls = append(walls, time.Since(began))
	}
	slices.Sort(walls)
	return walls[len(walls)/2], nil
}

func (e engineAPI) container() error {
	var made, run struct{ ID string }
	config := map[string]any{
		"Image": image, "Entrypoint": []string{"/bin/sleep", "60"},
		"Labels":     map[string]string{"dev.agentclash.bench": "1"},
		"HostConfig": map[string]any{"NetworkMode": "none"},
	}
	if err := e.call(http.MethodPost, "/containers/create", config, &made); err != nil {
		return err
	}
	remove := "/containers/" + made.ID + "?force=1"
	if err := e.call(http.MethodPost, "/containers/"+made.ID+"/start", nil, nil); err != nil {
		return errors.Join(err, e.call(http.MethodDelete, remove, nil, nil))
	}
	exec := map[string]any{"Cmd": []string{"/bin/true"}, "AttachStdout": true}
	if err := e.call(http.MethodPost, "/containers/"+made.ID+"/exec", exec, &run); err != nil {
		return err
	}
	if err := e.call(http.MethodPost, "/exec/"+run.ID+"/start", map[string]any{"Detach": false}, nil); err != nil {
		return err
	}
	return e.call(http.MethodDelete, remove, nil, nil)
}
