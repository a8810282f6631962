package cli

import (
	"context"
	"errors"
	"testing"
)

// TestKeychainThatHangs gives up a keychain that says nothing as soon as the command
// is ended.
func TestKeychainThatHangs(t *testing.T) {
	t.Parallel()
	asked, never := make(chan struct{}), make(chan struct{})
	defer close(never)
	ended := errors.New("ended by the user")
	ctx, end := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		end(ended)
	}()
	_, err := answered(ctx, func() (string, error) {
		close(asked)
		<-never
		return "", nil
	})
	if !errors.Is(err, ended) {
		t.Errorf("got %v, want %v", err, ended)
	}
	// what a keychain has answered it has done, also when the command ends just then
	for range 100 {
		both, stop := context.WithCancelCause(t.Context())
		v, err := answered(both, func() (string, error) {
			stop(ended)
			return "kept", nil
		})
		if (v == "kept") != (err == nil) {
			t.Fatalf("got %q, %v: one of the two", v, err)
		}
	}
	if v, err := answered(t.Context(), func() (string, error) { return "value", nil }); v != "value" || err != nil {
		t.Errorf("got %q, %v from a keychain that answers", v, err)
	}
}
