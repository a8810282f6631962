package pack_test

import (
	"testing"

	"github.com/agentclash/agentclash/pack"
)

// TestSecretUses: the host is named only where nothing of it is filled in, and only as
// a client would find it.
func TestSecretUses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://api.example.com/items/${sku}":           "api.example.com",
		"https://api.example.com:8443?q=${sku}":          "api.example.com:8443",
		"https://api.example.com#${sku}":                 "api.example.com",
		"https://[::1]:80/":                              "[::1]:80",
		"https://${sku}.example.com/":                    "",
		"https://api.example.com${sku}/":                 "",
		"https://api.example.com@${sku}/":                "",
		"https://api.example.com@elsewhere.example.org/": "",
		`https://api.example.com\@elsewhere.example.org`: "",
		"${sku}://api.example.com/":                      "",
		"${sku}":                                         "",
	} {
		p := pack.Pack{}
		p.Tools = map[string]any{"custom": []any{map[string]any{
			"name": "look_up", "parameters": map[string]any{"type": "object", "properties": map[string]any{"sku": map[string]any{"type": "string"}}},
			"implementation": map[string]any{"primitive": "http_request",
				"args": map[string]any{"method": "GET", "url": address, "headers": map[string]any{"Authorization": "${secrets.SHOP}"}}},
		}}}
		got := p.SecretUses()
		if len(got) != 1 || got[0] != (pack.SecretUse{Secret: "SHOP", Tool: "look_up", Host: want}) {
			t.Errorf("%s: %+v, want the host %q", address, got, want)
		}
	}
}
