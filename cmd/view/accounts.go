package view

import (
	"io"
	"strconv"
	"time"
)

// Account is a provider account: how a provider is reached, and where its key is
// found.
type Account struct {
	ID         string `json:"provider_account_id"` // "" for an implicit one
	Name       string `json:"name"`
	Provider   string `json:"provider"`
	BaseURL    string `json:"base_url"`
	Credential string `json:"credential_reference"` // never the key
	// MaxConcurrent is how many calls may be under way at once; 0: any.
	MaxConcurrent int `json:"max_concurrent"`
	// Implicit: it is there because its provider's key is, and is not stored.
	Implicit  bool       `json:"implicit"`
	CreatedAt *time.Time `json:"created_at"`
}

// AccountList writes one row an account.
func AccountList(w io.Writer, page Page[Account], o Options) error {
	t := Table{Columns: []Column{
		whole("ID"), left("PROVIDER"), left("NAME"), left("BASE URL"), left("CREDENTIAL"), whole("CREATED"),
	}}
	for _, a := range page.Items {
		created := "implicit"
		if a.CreatedAt != nil {
			created = o.Time(*a.CreatedAt)
		}
		t.Add(Text(o.ID(a.ID)), Text(a.Provider), Text(a.Name), Text(a.BaseURL), Text(a.Credential), Text(created))
	}
	return t.Write(w, o)
}

// AccountDetails writes one account.
func AccountDetails(w io.Writer, a Account, o Options) error {
	p := newPrinter(w, o)
	var b Details
	b.Add("Name", a.Name)
	b.Add("ID", or(a.ID))
	b.Add("Provider", a.Provider)
	b.Add("Base URL", or(a.BaseURL))
	b.Add("Credential", or(a.Credential))
	if a.MaxConcurrent > 0 {
		b.Add("Calls at once", "at most "+strconv.Itoa(a.MaxConcurrent))
	}
	if a.CreatedAt != nil {
		b.Add("Created", o.Time(*a.CreatedAt))
	}
	p.details(b)
	return p.flush()
}

// AccountTest is what came of a small call with an account.
type AccountTest struct {
	Name       string `json:"name"`
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	Passed     bool   `json:"passed"`
	Status     string `json:"status"` // passed or failed
	Code       string `json:"code"`   // of the failure, as in model.call.failed
	Message    string `json:"message"`
	DurationMS int64  `json:"duration_ms"`
}

// AccountTested writes what came of it.
func AccountTested(w io.Writer, t AccountTest, o Options) error {
	p := newPrinter(w, o)
	var b Details
	b.Add("Account", t.Name)
	b.Add("Model", t.Provider+"/"+or(t.Model))
	b.Add("Result", t.Status)
	if !t.Passed {
		b.Add("Code", t.Code)
		b.Add("Message", t.Message)
	}
	b.Add("Duration", strconv.FormatInt(t.DurationMS, 10)+"ms")
	p.details(b)
	return p.flush()
}

// Model is a model that a provider offers. Prices are in US dollars for a
// million tokens; null: unknown.
type Model struct {
	ID          string   `json:"id"`
	DisplayName string   `json:"display_name"`
	InputUSD    *float64 `json:"input_cost_per_mtok"`
	OutputUSD   *float64 `json:"output_cost_per_mtok"`
	// PricingSource is live (the provider said so), static (our list prices) or
	// unknown.
	PricingSource string `json:"pricing_source"`
}

// ModelList writes one row a model.
func ModelList(w io.Writer, page Page[Model], o Options) error {
	t := Table{Columns: []Column{left("ID"), left("NAME"), right("INPUT/M"), right("OUTPUT/M"), left("PRICING")}}
	for _, m := range page.Items {
		t.Add(Text(m.ID), Text(m.DisplayName), Text(USD(m.InputUSD)), Text(USD(m.OutputUSD)), Text(m.PricingSource))
	}
	return t.Write(w, o)
}
