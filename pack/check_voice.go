package pack

import "slices"

// checkVoice: a pack is text, or voice with both of its blocks.
func checkVoice(c *checker) {
	switch c.Modality {
	case "":
		if c.InterfaceSpec != nil {
			c.fail("modality", "is required beside interface_spec: write %s", Voice)
		}
		if c.Scenario != nil {
			c.fail("modality", "is required beside scenario: write %s", Voice)
		}
		return
	case Voice:
	default:
		c.fail("modality", "must be %s or left out%s", Voice, c.hint(c.Modality, []string{Voice}))
		return
	}
	checkInterface(c)
	if s := c.Scenario; s == nil {
		c.fail("scenario", "is required when modality is %s", Voice)
	} else {
		c.require("scenario.persona", s.Persona)
		c.require("scenario.language", s.Language)
		c.positive("scenario.max_turns", int64(s.MaxTurns))
		c.positive("scenario.max_duration_ms", s.MaxDurationMS)
	}
}

func checkInterface(c *checker) {
	s := c.InterfaceSpec
	if s == nil {
		c.fail("interface_spec", "is required when modality is %s", Voice)
		return
	}
	if len(s.Transports) == 0 {
		c.fail("interface_spec.transports", "must hold at least one transport")
	}
	known := []string{"text_sim", "webrtc", "sip", "pstn", "websocket"}
	seen := map[string]bool{}
	for i, transport := range s.Transports {
		at := indexed("interface_spec.transports", i)
		switch {
		case !slices.Contains(known, transport):
			c.fail(at, "%s", c.oneOf(transport, known))
		case seen[transport]:
			c.fail(at, "must be unique; %s is named above", transport)
		}
		seen[transport] = true
	}
	c.require("interface_spec.channel_profile", s.ChannelProfile)
}

func (c *checker) positive(field string, n int64) {
	if n <= 0 {
		c.fail(field, "must be greater than 0")
	}
}
