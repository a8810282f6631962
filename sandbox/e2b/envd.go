package e2b

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// envd is the daemon of one machine. Its procedures are Connect's: JSON in a
// POST; for a stream, JSON documents each behind five bytes. Two unary calls and
// one stream are all that is used, which is less code than a library's set-up.
type envd struct {
	a   *api
	m   machine
	url string
}

const (
	envdPort = "49983"
	// maxEnvelope bounds one document of a stream. A machine sends what a
	// process writes in pieces of some 32 KiB.
	maxEnvelope = 4 << 20
	// keepalive is how often a stream is asked to show that it lives, in
	// seconds: those between here and there end silent connections.
	keepalive = "20"
	// uploadTime is how long the guest may take to get there, at the least.
	uploadTime = 5 * time.Minute
)

func (a *api) envd(m machine) envd {
	at := a.o.SandboxURL
	if at == "" {
		at = "https://" + envdPort + "-" + m.SandboxID + "." + cmp.Or(m.Domain, defaultDomain)
	}
	return envd{a, m, at}
}

// header is what every request to a machine carries. The user is root: the
// guest makes the box, and is root no more in it.
func (e envd) header(kind string) http.Header {
	h := http.Header{
		"Content-Type": {kind}, "User-Agent": {"agentclash"}, "Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("root:"))},
		"E2b-Sandbox-Id": {e.m.SandboxID}, "E2b-Sandbox-Port": {envdPort},
	}
	if e.m.EnvdAccessToken != "" {
		h.Set("X-Access-Token", e.m.EnvdAccessToken)
	}
	return h
}

func (e envd) secrets() secrets { return secretsOf(e.header("")) }

// upload puts a file into the machine, and the directories above it.
func (e envd) upload(ctx context.Context, path string, data []byte) error {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("file", path)
	if err == nil {
		_, err = part.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	query := url.Values{"path": {path}, "username": {"root"}}
	c := call{
		doing: "put the guest into the sandbox", method: http.MethodPost, url: e.url + "/files?" + query.Encode(),
		header: e.header(w.FormDataContentType()), body: body.Bytes(), want: http.StatusOK, safe: true,
		within: max(e.a.o.Timeout, uploadTime),
	}
	_, err = e.a.do(ctx, c)
	return err
}

// unary calls a procedure that answers once, and with nothing that matters.
func (e envd) unary(ctx context.Context, procedure, doing string, request any, safe bool) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	h := e.header("application/json")
	h.Set("Connect-Protocol-Version", "1")
	_, err = e.a.do(ctx, call{
		doing: doing, method: http.MethodPost, url: e.url + "/process.Process/" + procedure, header: h, body: body,
		want: http.StatusOK, document: true, safe: safe, refused: []int{http.StatusTooManyRequests},
	})
	return err
}

// The messages of process.Process, as far as they are used; bytes are base64 in
// JSON on both sides.
type (
	startRequest struct {
		Process processConfig `json:"process"`
		Stdin   bool          `json:"stdin"`
	}
	processConfig struct {
		Cmd  string            `json:"cmd"`
		Args []string          `json:"args"`
		Envs map[string]string `json:"envs,omitempty"`
		Cwd  string            `json:"cwd"`
	}
	startResponse struct {
		Event struct {
			Start *struct {
				PID uint32 `json:"pid"`
			} `json:"start"`
			Data *struct {
				Stdout []byte `json:"stdout"`
				Stderr []byte `json:"stderr"`
			} `json:"data"`
			End *struct {
				ExitCode int    `json:"exitCode"`
				Exited   bool   `json:"exited"`
				Status   string `json:"status"`
				Error    string `json:"error"`
			} `json:"end"`
		} `json:"event"`
	}
	sendInputRequest struct {
		Process processSelector `json:"process"`
		Input   processInput    `json:"input"`
	}
	processSelector struct {
		PID uint32 `json:"pid"`
	}
	processInput struct {
		Stdin []byte `json:"stdin"`
	}
)

// sendInput gives a process more of its standard input. It is not repeated
// when nobody knows whether it arrived: the guest would read it twice.
func (e envd) sendInput(ctx context.Context, pid uint32, p []byte) error {
	return e.unary(ctx, "SendInput", "write to the sandbox", sendInputRequest{processSelector{pid}, processInput{p}}, false)
}

// start starts a process and returns the stream of what becomes of it, which
// lasts until ctx ends. Within the request's timeout it must have begun.
func (e envd) start(ctx context.Context, r startRequest) (io.ReadCloser, error) {
	const doing = "start the guest"
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	ctx, stop := context.WithCancelCause(ctx)
	late := time.AfterFunc(e.a.o.Timeout, func() { stop(fmt.Errorf("no answer within %s (E2B_REQUEST_TIMEOUT)", e.a.o.Timeout)) })
	defer late.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+"/process.Process/Start", bytes.NewReader(body))
	if err != nil {
		stop(nil)
		return nil, fmt.Errorf("%s: %w", doing, bare(err))
	}
	req.Header = e.header("application/connect+json")
	req.Header.Set("Connect-Protocol-Version", "1")
	req.Header.Set("Keepalive-Ping-Interval", keepalive)
	resp, err := e.a.http.Do(req)
	if err != nil {
		err = fmt.Errorf("%s: %w", doing, bare(err))
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%s: %w", doing, cause)
		}
		stop(nil)
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "application/connect+json" {
		defer stop(nil)
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxBody))
		if resp.StatusCode != http.StatusOK {
			return nil, refusal(doing, resp, text)
		}
		return nil, fmt.Errorf("%s: %w: %q instead of a stream", doing, errAnswer, e.secrets().clip(kind))
	}
	return &streamBody{resp.Body, stop}, nil
}

// streamBody ends its request when it is closed.
type streamBody struct {
	io.ReadCloser
	stop context.CancelCauseFunc
}

func (b *streamBody) Close() error {
	b.stop(nil)
	return b.ReadCloser.Close()
}

// The flags of an envelope.
const (
	flagCompressed = 1
	flagEnd        = 2
)

// next reads one document of a stream. io.EOF is a stream that said that it is
// over; one that just ends is io.ErrUnexpectedEOF.
func next(r io.Reader, hidden secrets) (startResponse, error) {
	var doc startResponse
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return doc, err
	}
	flags, n := head[0], binary.BigEndian.Uint32(head[1:])
	if n > maxEnvelope {
		return doc, fmt.Errorf("%w: a document of %d bytes in a stream", errAnswer, n)
	}
	if flags&^(flagCompressed|flagEnd) != 0 || flags&flagCompressed != 0 {
		return doc, fmt.Errorf("%w: a document with the flags %#x in a stream", errAnswer, flags)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return doc, io.ErrUnexpectedEOF
	}
	if flags&flagEnd != 0 {
		return doc, endOf(body, hidden)
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return doc, fmt.Errorf("%w: %s in a stream", errAnswer, strconv.Quote(hidden.clip(string(body))))
	}
	return doc, nil
}

// streamError is the error that a stream ended with.
type streamError struct{ code, text string }

func (e *streamError) Error() string {
	return fmt.Sprintf("E2B ended the stream: %s: %q", e.code, e.text)
}

func endOf(body []byte, hidden secrets) error {
	var end struct {
		Error *struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &end); err != nil {
		return fmt.Errorf("%w: the end of a stream: %s", errAnswer, strconv.Quote(hidden.clip(string(body))))
	}
	if end.Error != nil {
		return &streamError{hidden.clip(end.Error.Code), hidden.clip(end.Error.Message)}
	}
	return io.EOF
}
