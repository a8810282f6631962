package budget

import (
	"errors"
	"math"
	"net"
	"net/http"

	"github.com/agentclash/agentclash/engine/provider"
)

// Use is what calls used, or can use at most.
type Use struct {
	Tokens int64
	USD    float64
}

// Plus adds up.
func (u Use) Plus(v Use) Use { return Use{plus(u.Tokens, v.Tokens), u.USD + v.USD} }

// Minus takes away what is a part of it.
func (u Use) Minus(v Use) Use { return Use{max(u.Tokens-v.Tokens, 0), max(u.USD-v.USD, 0)} }

// plus does not wrap around: an output bound may be any number.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Price is what tokens cost, in US dollars.
type Price func(input, output int64) float64

// Most is what a call can use at most: its tokens, at their price.
func (p Price) Most(input, output int64) Use {
	return Use{plus(input, output), p(input, output)}
}

// Limits are caps on what calls may use together; 0 is none.
type Limits struct {
	Tokens int64
	USD    float64
}

// Limit names one of them.
type Limit string

// The limits; None is the answer that nothing is passed.
const (
	None   Limit = ""
	Tokens Limit = "tokens"
	USD    Limit = "usd"
)

// Over says which limit a call could pass that can use most, after calls that
// used so much.
func (l Limits) Over(used, most Use) Limit {
	switch {
	case l.Tokens > 0 && plus(used.Tokens, most.Tokens) > l.Tokens:
		return Tokens
	case l.USD > 0 && nano(used.USD)+nano(most.USD) > nano(l.USD):
		return USD
	}
	return None
}

// Room is how many tokens a reply may have so that a call with this input
// passes no limit; less than 1 when there is no room for one.
func (l Limits) Room(used Use, price Price, input int64) int64 {
	room := int64(math.MaxInt64)
	if l.Tokens > 0 {
		room = l.Tokens - used.Tokens - input
	}
	if l.USD <= 0 {
		return room
	}
	left := l.USD - used.USD - price(input, 0)
	if left < 0 {
		return 0
	}
	if million := price(0, 1e6); million > 0 {
		room = min(room, int64(math.Min(left/million*1e6, math.MaxInt64/2)))
	}
	for room > 0 && l.Over(used, price.Most(input, room)) != None { // a rounding's worth
		room -= max(room/1000, 1)
	}
	return room
}

// nanoUSD is money as it is counted: in billionths of a dollar, so that sums are
// exact. What is less is rounded up, and what floating point adds to a number
// that was whole is not.
type nanoUSD int64

func nano(usd float64) nanoUSD {
	return nanoUSD(math.Min(math.Ceil(usd*1e9-1e-3), math.MaxInt64/4))
}

func (n nanoUSD) usd() float64 { return float64(n) / 1e9 }

// MayCost says that a failed try may be paid for although nothing was heard of
// its reply: the server has neither refused it nor been out of reach. It is an
// assumption: no provider tells.
func MayCost(e *provider.Error) bool {
	var op *net.OpError
	if e.FromRecording || e.Unsent || errors.As(e, &op) && op.Op == "dial" {
		return false
	}
	if e.Final {
		return true
	}
	switch e.Status {
	case 0, http.StatusOK, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return false
}
