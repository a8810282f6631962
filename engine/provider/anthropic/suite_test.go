package anthropic_test

import (
	"testing"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/anthropic"
	"github.com/agentclash/agentclash/engine/provider/vendortest"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

func TestSuite(t *testing.T) {
	vendortest.Run(t, vendortest.Subject{Dialect: vendortest.Anthropic(), New: func(o wire.Options) (provider.Client, error) {
		return anthropic.New(anthropic.Options{Options: o})
	}})
}
