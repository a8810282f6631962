package e2b

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentclash/agentclash/sandbox"
)

const (
	// maxBody bounds every answer that is read whole.
	maxBody = 4 << 20
	// shownBody bounds how much of an answer an error repeats.
	shownBody = 300
	// tries is how often a request is made when E2B is over its limit or fails
	// at it; retryTime is how long all the waits of one may take together.
	tries     = 4
	retryTime = 2 * time.Minute
)

// api is E2B, and the one place where requests are made, waited for and tried
// again.
type api struct {
	o    Options
	http *http.Client
}

func newAPI(o Options) *api {
	t := &http.Transport{
		Proxy: o.Proxy, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 8, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}
	return &api{o: o, http: &http.Client{
		Transport: t,
		// A key must not follow a redirect to who knows where.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// statusError is an answer that is no success.
type statusError struct {
	doing  string
	status int
	text   string
	after  time.Duration // of Retry-After; 0 when it does not say
}

func (e *statusError) Error() string {
	s := fmt.Sprintf("%s: E2B answered %d %s", e.doing, e.status, http.StatusText(e.status))
	if e.text != "" {
		s += fmt.Sprintf(": %q", e.text)
	}
	return s
}

func statusOf(err error) int {
	var e *statusError
	if errors.As(err, &e) {
		return e.status
	}
	return 0
}

// call is one request to be.
type call struct {
	doing       string // for errors
	method, url string
	header      http.Header
	body        []byte
	want        int  // the status of success
	document    bool // success is JSON
	// safe: it may be made again when nobody knows whether it was done. Else
	// only after an answer that says that it was not.
	safe    bool
	refused []int         // the statuses that say so
	within  time.Duration // 0: as the options say
}

type answer struct {
	body   []byte
	header http.Header
}

// again tells whether a request that failed may be made once more, and when.
func (c call) again(err error, n int, def time.Duration) (time.Duration, bool) {
	short := time.Duration(n*n) * 200 * time.Millisecond
	var e *statusError
	if !errors.As(err, &e) {
		return short, c.safe && !errors.Is(err, errAnswer)
	}
	if !c.safe && !slices.Contains(c.refused, e.status) {
		return 0, false
	}
	switch e.status {
	case http.StatusTooManyRequests:
		return cmp.Or(e.after, def), true
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return max(e.after, short), true
	}
	return 0, false
}

// do makes a request until it succeeds, is refused for good, or its time is
// over.
func (a *api) do(ctx context.Context, c call) (answer, error) {
	began := time.Now()
	for n := 1; ; n++ {
		got, err := a.once(ctx, c)
		if err == nil || ctx.Err() != nil || n == tries {
			return got, err
		}
		wait, ok := c.again(err, n, a.o.RetryAfter)
		if !ok || time.Since(began)+wait > retryTime {
			return answer{}, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return answer{}, fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

// errAnswer is an answer of the right status that makes no sense.
var errAnswer = errors.New("an answer that E2B does not give")

func (a *api) once(ctx context.Context, c call) (answer, error) {
	limit := cmp.Or(c.within, a.o.Timeout)
	within, stop := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s (E2B_REQUEST_TIMEOUT)", limit))
	defer stop()
	req, err := http.NewRequestWithContext(within, c.method, c.url, bytes.NewReader(c.body))
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", c.doing, bare(err))
	}
	req.Header = c.header.Clone()
	resp, err := a.http.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", c.doing, unanswered(ctx, within, err))
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return answer{}, fmt.Errorf("%s: read the answer: %w", c.doing, unanswered(ctx, within, err))
	}
	if resp.StatusCode != c.want {
		return answer{}, refusal(c.doing, resp, body)
	}
	if len(body) > maxBody {
		return answer{}, fmt.Errorf("%s: %w: more than %d MiB", c.doing, errAnswer, maxBody>>20)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); c.document && kind != "application/json" {
		return answer{}, fmt.Errorf("%s: %w: %q instead of JSON; is the address E2B's?", c.doing, errAnswer, secretsOf(c.header).clip(kind))
	}
	return answer{body, resp.Header}, nil
}

// refusal is an answer of another status than the one hoped for.
func refusal(doing string, resp *http.Response, body []byte) error {
	e := &statusError{doing: doing, status: resp.StatusCode, text: message(body, secretsOf(resp.Request.Header))}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 {
		e.after = time.Duration(min(s, 3600)) * time.Second
	}
	return e
}

// message is what an answer says for people: its message when it is a document
// of E2B's, else its beginning.
func message(body []byte, hidden secrets) string {
	var doc struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &doc) == nil && doc.Message != "" {
		return hidden.clip(doc.Message)
	}
	return hidden.clip(string(body))
}

// secrets are what no error repeats, whoever says it.
type secrets []string

// secretsOf are the keys and tokens that a request carries.
func secretsOf(h http.Header) secrets {
	var all secrets
	for _, name := range []string{"X-Api-Key", "X-Access-Token"} {
		if s := h.Get(name); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// clip is clip of a text that may hold them.
func (all secrets) clip(text string) string {
	for _, s := range all {
		text = strings.ReplaceAll(text, s, "[redacted]")
	}
	return clip(text)
}

// clip makes a short line of a text from outside.
func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > shownBody {
		s = s[:shownBody]
	}
	return strings.TrimSpace(strings.ToValidUTF8(s, ""))
}

// unanswered says why no answer came: the caller's own end before anything
// else, and never the request itself.
func unanswered(ctx, within context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if within.Err() != nil {
		return context.Cause(within)
	}
	return bare(err)
}

// bare takes the address from an error, which may be long and is known.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func (a *api) header() http.Header {
	return http.Header{"X-Api-Key": {a.o.Key}, "Content-Type": {"application/json"}, "User-Agent": {"agentclash"}}
}

// newSandbox asks for a machine. Names are E2B's.
type newSandbox struct {
	TemplateID          string            `json:"templateID"`
	Timeout             int               `json:"timeout"` // seconds
	Metadata            map[string]string `json:"metadata"`
	Secure              bool              `json:"secure"`
	AllowInternetAccess bool              `json:"allow_internet_access"`
	AutoPause           bool              `json:"autoPause"`
}

// machine is what E2B says of one that it made.
type machine struct {
	SandboxID       string `json:"sandboxID"`
	TemplateID      string `json:"templateID"`
	Domain          string `json:"domain"`
	EnvdVersion     string `json:"envdVersion"`
	EnvdAccessToken string `json:"envdAccessToken"`
}

// listed is a machine in a list.
type listed struct {
	SandboxID string            `json:"sandboxID"`
	Metadata  map[string]string `json:"metadata"`
}

// create makes a machine. When its error is not one of E2B's refusals the
// machine may be there all the same.
func (a *api) create(ctx context.Context, n newSandbox) (machine, error) {
	body, err := json.Marshal(n)
	if err != nil {
		return machine{}, err
	}
	doing := "make a sandbox of the template " + strconv.Quote(clip(n.TemplateID))
	got, err := a.do(ctx, call{
		doing: doing, method: http.MethodPost, url: a.o.BaseURL + "/sandboxes", header: a.header(), body: body,
		want: http.StatusCreated, document: true, refused: []int{http.StatusTooManyRequests, http.StatusServiceUnavailable},
	})
	if err != nil {
		return machine{}, err
	}
	var m machine
	if err := json.Unmarshal(got.body, &m); err != nil {
		return machine{}, fmt.Errorf("%s: %w: %w", doing, errAnswer, err)
	}
	if !plainName(m.SandboxID) || m.Domain != "" && !hostName(m.Domain) || !visible(m.EnvdAccessToken) {
		return machine{}, fmt.Errorf("%s: %w: a sandbox, a domain or a token that can be none", doing, errAnswer)
	}
	return m, nil
}

// plainName tells whether an id can stand in a path and a host's name.
func plainName(s string) bool {
	return s != "" && len(s) <= 128 && strings.IndexFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

func hostName(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if !plainName(label) {
			return false
		}
	}
	return len(s) <= 253
}

func visible(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// kill removes a machine. One that is gone is removed.
func (a *api) kill(ctx context.Context, id string) error {
	_, err := a.do(ctx, call{
		doing: "remove the sandbox " + id, method: http.MethodDelete, url: a.o.BaseURL + "/sandboxes/" + id, header: a.header(),
		want: http.StatusNoContent, safe: true,
	})
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// keep renews a machine's lease, from now on.
func (a *api) keep(ctx context.Context, id string, lease time.Duration) error {
	_, err := a.do(ctx, call{
		doing: "keep the sandbox " + id, method: http.MethodPost, url: a.o.BaseURL + "/sandboxes/" + id + "/timeout", header: a.header(),
		body: fmt.Appendf(nil, `{"timeout":%d}`, seconds(lease)), want: http.StatusNoContent, safe: true,
	})
	return err
}

// there tells whether E2B still has a machine.
func (a *api) there(ctx context.Context, id string) (bool, error) {
	_, err := a.do(ctx, call{
		doing: "look for the sandbox " + id, method: http.MethodGet, url: a.o.BaseURL + "/sandboxes/" + id, header: a.header(),
		want: http.StatusOK, document: true, safe: true,
	})
	if statusOf(err) == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

// maxPages bounds a list.
const maxPages = 50

// list returns the machines whose labels include these.
func (a *api) list(ctx context.Context, labels map[string]string) ([]listed, error) {
	pairs := url.Values{}
	for k, v := range labels {
		pairs.Set(url.QueryEscape(k), url.QueryEscape(v))
	}
	query := url.Values{"metadata": {pairs.Encode()}, "limit": {"100"}}
	var all []listed
	for range maxPages {
		page, next, err := a.page(ctx, query)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		query.Set("nextToken", next)
	}
	return all, nil
}

func (a *api) page(ctx context.Context, query url.Values) (page []listed, next string, err error) {
	const doing = "list the sandboxes"
	got, err := a.do(ctx, call{
		doing: doing, method: http.MethodGet, url: a.o.BaseURL + "/v2/sandboxes?" + query.Encode(), header: a.header(),
		want: http.StatusOK, document: true, safe: true,
	})
	if err != nil {
		return nil, "", err
	}
	if err := json.Unmarshal(got.body, &page); err != nil {
		return nil, "", fmt.Errorf("%s: %w: %w", doing, errAnswer, err)
	}
	page = slices.DeleteFunc(page, func(l listed) bool { return !plainName(l.SandboxID) })
	return page, got.header.Get("X-Next-Token"), nil
}

func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// boxError puts a failure of E2B's into the port's words.
func boxError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	var known *sandbox.BoxError
	if errors.As(err, &known) {
		return err
	}
	switch statusOf(err) {
	case http.StatusUnauthorized, http.StatusForbidden:
		return &sandbox.BoxError{Kind: sandbox.Engine, Err: fmt.Errorf("%w: what is in E2B_API_KEY was refused: %w", sandbox.ErrKey, err)}
	}
	return &sandbox.BoxError{Kind: sandbox.Engine, Err: err}
}
