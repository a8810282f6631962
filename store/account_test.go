package store_test

import (
	"errors"
	"testing"

	"github.com/agentclash/agentclash/engine/plan"

	"github.com/agentclash/agentclash/store"
)

func TestAccounts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := fresh(t)
	work := plan.Account{Name: "Work", Provider: "openai", Credential: "env://WORK_KEY"}
	kept, err := db.SaveAccount(ctx, "", work)
	if err != nil || kept.Account != work || kept.ID == "" {
		t.Fatalf("got %+v, %v", kept, err)
	}
	if again, err := db.SaveAccount(ctx, "", work); err != nil || again.ID != kept.ID {
		t.Errorf("the same again: got %+v, %v", again, err)
	}
	other := work
	other.Name, other.BaseURL = "WORK", "http://localhost/v1"
	if _, err := db.SaveAccount(ctx, "", other); !errors.Is(err, store.ErrConflict) {
		t.Errorf("another of the name: got %v", err)
	}
	for _, selector := range []string{"work", kept.ID, kept.ID[len(kept.ID)-8:]} {
		if got, err := db.Account(ctx, "", selector); err != nil || got.ID != kept.ID {
			t.Errorf("%q: got %+v, %v", selector, got, err)
		}
	}
	if _, err := db.Account(ctx, "elsewhere", "work"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("in another workspace: got %v", err)
	}
	if _, err := db.SaveDeployment(ctx, "", plan.Deployment{Name: "d", Provider: "openai", Model: "m", Account: "work"}); err != nil {
		t.Fatal(err)
	}
	if err := db.DeleteAccount(ctx, kept.ID); !errors.Is(err, store.ErrConflict) {
		t.Errorf("one that is used: got %v", err)
	}
	spare, err := db.SaveAccount(ctx, "", plan.Account{Name: "a spare", Provider: "openai"})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := db.Accounts(ctx, ""); err != nil || len(list) != 2 || list[0].ID != spare.ID {
		t.Errorf("got %+v, %v", list, err)
	}
	if err := db.DeleteAccount(ctx, spare.ID); err != nil {
		t.Error(err)
	}
	if err := db.DeleteAccount(ctx, spare.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted twice: got %v", err)
	}
}

// A store from before there were accounts has none, and gets them when it is
// written.
func TestAccountsOfAnOlderStore(t *testing.T) {
	t.Parallel()
	file := schema1(t)
	db, err := store.Open(t.Context(), store.Options{Path: file, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := db.Accounts(t.Context(), ""); err != nil || len(list) != 0 {
		t.Errorf("got %v, %v", list, err)
	}
	if _, err := db.Account(t.Context(), "", "work"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, file).SaveAccount(t.Context(), "", plan.Account{Name: "n", Provider: "openai"}); err != nil {
		t.Error(err)
	}
}
