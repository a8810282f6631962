package gemini_test

import (
	"testing"

	"github.com/agentclash/agentclash/engine/provider"
	"github.com/agentclash/agentclash/engine/provider/gemini"
	"github.com/agentclash/agentclash/engine/provider/vendortest"
	"github.com/agentclash/agentclash/engine/provider/wire"
)

func TestSuite(t *testing.T) {
	vendortest.Run(t, vendortest.Subject{Dialect: vendortest.Gemini(), New: func(o wire.Options) (provider.Client, error) { return gemini.New(o) }})
}
