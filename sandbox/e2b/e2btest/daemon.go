package e2btest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

func decodeStrict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// daemon is what runs in every machine, reached through E2B's proxy.
func (s *Server) daemon(w http.ResponseWriter, r *http.Request, route Route) {
	s.mu.Lock()
	m := s.machines[r.Header.Get("E2b-Sandbox-Id")]
	s.mu.Unlock()
	switch {
	case r.Header.Get("X-Api-Key") != "":
		s.t.Error("the account's key was sent to a machine")
	case m == nil:
		refuse(w, http.StatusBadGateway, "The sandbox was not found")
		return
	case r.Header.Get("E2b-Sandbox-Port") != "49983":
		refuse(w, http.StatusBadGateway, "The sandbox is running but port is not open")
		return
	case r.Header.Get("X-Access-Token") != m.token:
		refuse(w, http.StatusUnauthorized, "unauthorized access, please provide a valid access token")
		return
	}
	if user, _, ok := r.BasicAuth(); route != Files && (!ok || user != "root") {
		refuse(w, http.StatusUnauthorized, "no user specified")
		return
	}
	switch route {
	case Files:
		s.upload(w, r, m)
	case Input:
		s.input(w, r, m)
	case Start:
		s.start(w, r, m)
	}
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request, m *machine) {
	form, err := r.MultipartReader()
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	part, err := form.NextPart()
	if err != nil || part.FormName() != "file" || r.URL.Query().Get("username") != "root" {
		refuse(w, http.StatusBadRequest, "expected a part named file, and a user")
		return
	}
	path := r.URL.Query().Get("path")
	if err := m.put(path, part); err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	// no type is said: some versions do not
	_ = json.NewEncoder(w).Encode([]map[string]string{{"path": path, "name": filepath.Base(path), "type": "file"}})
}

func (m *machine) put(path string, from io.Reader) error {
	at := filepath.Join(m.root, filepath.Clean("/"+path))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

func (s *Server) input(w http.ResponseWriter, r *http.Request, m *machine) {
	var body struct {
		Process struct {
			PID uint32 `json:"pid"`
		} `json:"process"`
		Input struct {
			Stdin string `json:"stdin"`
		} `json:"input"`
	}
	if r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Connect-Protocol-Version") != "1" {
		refuse(w, http.StatusUnsupportedMediaType, "not Connect's JSON")
		return
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	var data []byte
	if err == nil {
		raw, data, err = cutBase64(raw, `"stdin":"`)
	}
	if err == nil {
		err = decodeStrict(raw, &body)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	p := m.process(body.Process.PID)
	if p == nil {
		reply(w, http.StatusNotFound, map[string]string{"code": "not_found", "message": "process with pid " + strconv.Itoa(int(body.Process.PID)) + " not found"})
		return
	}
	if _, err := p.in.Write(data); err != nil {
		reply(w, http.StatusInternalServerError, map[string]string{"code": "internal", "message": "error writing to stdin: " + err.Error()})
		return
	}
	reply(w, http.StatusOK, struct{}{})
}

// cutBase64 takes a text of base64 out of a document and decodes it: megabytes of
// it go through a decoder of JSON slowly, and ten times so under the race
// detector.
func cutBase64(doc []byte, before string) (rest, data []byte, err error) {
	i := bytes.Index(doc, []byte(before))
	if i < 0 {
		return doc, nil, nil
	}
	i += len(before)
	n := bytes.IndexByte(doc[i:], '"')
	if n < 0 {
		return doc, nil, errors.New("a text without end")
	}
	data = make([]byte, base64.StdEncoding.DecodedLen(n))
	used, err := base64.StdEncoding.Decode(data, doc[i:i+n])
	return slices.Concat(doc[:i], doc[i+n:]), data[:used], err
}

type startBody struct {
	Process struct {
		Cmd  string            `json:"cmd"`
		Args []string          `json:"args"`
		Envs map[string]string `json:"envs"`
		Cwd  string            `json:"cwd"`
	} `json:"process"`
	Tag   string `json:"tag"`
	Stdin bool   `json:"stdin"`
}

func (s *Server) start(w http.ResponseWriter, r *http.Request, m *machine) {
	if r.Header.Get("Content-Type") != "application/connect+json" || r.Header.Get("Connect-Protocol-Version") != "1" {
		w.WriteHeader(http.StatusUnsupportedMediaType)
		return
	}
	var head [5]byte
	if _, err := io.ReadFull(r.Body, head[:]); err != nil || head[0] != 0 || binary.BigEndian.Uint32(head[1:]) > 1<<20 {
		refuse(w, http.StatusBadRequest, "no envelope")
		return
	}
	raw := make([]byte, binary.BigEndian.Uint32(head[1:]))
	var body startBody
	if _, err := io.ReadFull(r.Body, raw); err != nil || decodeStrict(raw, &body) != nil {
		refuse(w, http.StatusBadRequest, "no StartRequest")
		return
	}
	w.Header().Set("Content-Type", "application/connect+json")
	w.WriteHeader(http.StatusOK)
	out := &events{w: w, flush: http.NewResponseController(w).Flush, cut: make(chan struct{})}
	p, err := m.run(body)
	if err != nil {
		out.envelope(2, map[string]any{"error": map[string]string{"code": "invalid_argument", "message": err.Error()}})
		return
	}
	m.watch(out)
	out.event("start", map[string]any{"pid": p.pid})
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.follow(out, p)
	}()
	every, _ := strconv.Atoi(r.Header.Get("Keepalive-Ping-Interval"))
	tick := time.NewTicker(time.Duration(max(every, 1)) * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			out.event("keepalive", struct{}{})
		case <-r.Context().Done():
			out.close()
			return
		case <-out.cut:
			panic(http.ErrAbortHandler)
		case <-done:
			return
		}
	}
}

// follow passes on what a process says, and how it ends.
func (s *Server) follow(out *events, p *process) {
	ended := make(chan struct{}, 2)
	for name, from := range map[string]io.Reader{"stdout": p.out, "stderr": p.err} {
		go func() {
			buf := make([]byte, 32<<10)
			for {
				n, err := from.Read(buf)
				if n > 0 {
					out.event("data", map[string]string{name: base64.StdEncoding.EncodeToString(buf[:n])})
				}
				if err != nil {
					ended <- struct{}{}
					return
				}
			}
		}()
	}
	<-ended
	<-ended
	code, status := p.wait()
	out.event("end", map[string]any{"exitCode": code, "exited": true, "status": status})
	out.envelope(2, struct{}{})
}
