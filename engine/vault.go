package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentclash/agentclash/engine/event"
	"github.com/agentclash/agentclash/sandbox"
	"github.com/agentclash/agentclash/sandbox/egress"
)

// The mock vault of a pack with secrets of the location infisical-mock. Programs
// in the box find it at vaultPort; it is answered from here, so that it needs
// nothing of the image. It gives nothing away and writes down who asked.
const (
	vaultPort = 8888
	vaultLog  = sandbox.Workspace + "/agentclash/mock_agent_vault.log"

	maxVaultRequests = 1000    // that are written down, with where they meant to go; the rest are answered
	maxVaultPath     = 2 << 10 // bytes of one
	vaultHeaderTime  = 30 * time.Second
	maxVaultHeader   = 64 << 10 // bytes
)

// egressMockVault is why a program that took the vault for its proxy got no further.
const egressMockVault = "mock_vault"

// vaultVariables are an environment with how programs find the vault, and why
// they take it for their proxy. What the pack sets itself stays, for programs that
// look for the name in lower case as well.
func vaultVariables(own map[string]string) map[string]string {
	at := "http://127.0.0.1:" + strconv.Itoa(vaultPort)
	env := map[string]string{"HTTPS_PROXY": at, "HTTP_PROXY": at, "AGENT_VAULT_URL": at, "AGENT_VAULT_MOCK_LOG": vaultLog}
	maps.Copy(env, own)
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY"} {
		if lower := strings.ToLower(name); env[lower] == "" {
			env[lower] = env[name]
		}
	}
	return env
}

// vault answers the programs of one box.
type vault struct {
	decided func(egress.Decision)

	mu    sync.Mutex
	asked []event.VaultRequest
	said  int    // of asked
	full  bool   // more was asked
	log   []byte // a line for each of asked
}

// serve answers one connection.
func (v *vault) serve(ctx context.Context, conn net.Conn) {
	egress.ServeConn(ctx, conn, &http.Server{
		Handler: http.HandlerFunc(v.answer), ReadHeaderTimeout: vaultHeaderTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxVaultHeader,
	})
}

func (v *vault) answer(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == "/__healthz" && r.URL.Host == "" {
		reply(w, http.StatusOK, map[string]any{"ok": true})
		return
	}
	q := event.VaultRequest{Kind: "get", Method: r.Method, Path: event.Clip(r.RequestURI, maxVaultPath), Status: http.StatusOK, Client: "sandbox"}
	detail := "the mock vault holds no secrets and forwards nothing"
	switch r.Method {
	case http.MethodConnect:
		q.Kind, q.Status = "connect", http.StatusBadGateway
	case http.MethodPost, http.MethodPut, http.MethodPatch:
		q.Kind = "post"
	case http.MethodDelete:
		q.Kind = "delete"
	}
	switch kept, first := v.note(q); {
	case first:
		v.proxied(r.Host, "", egress.TooMany) // once: whatever follows is not written down
	case !kept:
	case r.Method == http.MethodConnect:
		v.proxied(r.Host, "", egressMockVault)
	case r.URL.Host != "":
		v.proxied(r.Host, r.URL.RequestURI(), egressMockVault)
	}
	reply(w, q.Status, map[string]any{"ok": false, "vault": "mock", "detail": detail})
}

// proxied states that a program wanted to go somewhere through the vault.
func (v *vault) proxied(address, path string, why egress.Reason) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = address, "80"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		n = 0 // what is said of one out of range is the highest there is
	}
	v.decided(egress.Decision{
		Via: egress.ViaProxy, Host: event.Clip(host, 253), Port: uint16(n), Path: event.Clip(path, maxVaultPath), Reason: why,
	})
}

func reply(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the program may have gone
}

// note keeps a request, unless there are too many. first says that this is the
// first that is not kept.
func (v *vault) note(q event.VaultRequest) (kept, first bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.asked) >= maxVaultRequests {
		first, v.full = !v.full, true
		return false, first
	}
	line, err := event.Marshal(q)
	if err != nil {
		return false, false // texts and a number always marshal
	}
	v.asked = append(v.asked, q)
	v.log = append(append(v.log, line...), '\n')
	return true, false
}

// news are the requests since it was asked last, and the whole log.
func (v *vault) news() ([]event.VaultRequest, []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fresh := v.asked[v.said:]
	v.said = len(v.asked)
	return fresh, v.log[:len(v.log):len(v.log)]
}

// stateVault states what programs asked of the vault since it was called last,
// and brings the log in the box up to date. A log whose place the agent has taken
// by something else is not written; the facts are.
func (a *attempt) stateVault(ctx context.Context) ending {
	if a.vault == nil {
		return ending{}
	}
	fresh, log := a.vault.news()
	for _, q := range fresh {
		a.log.emit(event.VaultAsked, q)
	}
	if len(fresh) == 0 {
		return ending{}
	}
	if err := a.box.WriteFile(ctx, vaultLog, log); broken(err) {
		return a.lost(ctx, phaseAgent, fmt.Errorf("write the mock vault's log: %w", err))
	}
	return ending{}
}
