package budget_test

import (
	"context"
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentclash/agentclash/engine/budget"
	"github.com/agentclash/agentclash/engine/provider"
)

// perMillion is a price by dollars for a million tokens.
func perMillion(in, out float64) budget.Price {
	return func(i, o int64) float64 { return float64(i)/1e6*in + float64(o)/1e6*out }
}

// exact is the same, without floating point.
func exact(in, out float64, i, o int64) *big.Rat {
	sum := new(big.Rat).Mul(new(big.Rat).SetFloat64(in), big.NewRat(i, 1e6))
	return sum.Add(sum, new(big.Rat).Mul(new(big.Rat).SetFloat64(out), big.NewRat(o, 1e6)))
}

// slack is what floating point may be wrong by: a millionth of a millionth of a
// dollar for each call.
func slack(calls int) *big.Rat { return big.NewRat(int64(calls), 1e12) }

// Whatever prices, limits and usages are, what is used within the bounds never
// passes a limit, and a reply that Room allows always fits.
func TestLimitsAreNeverPassed(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		in, out := draw.Float64()*20, draw.Float64()*100
		price := perMillion(in, out)
		limits := budget.Limits{Tokens: draw.Int64N(200_000), USD: draw.Float64() * float64(draw.IntN(3))}
		var used budget.Use
		spent, tokens, calls := new(big.Rat), int64(0), 0
		for range 50 {
			input := draw.Int64N(20_000)
			output := min(1+draw.Int64N(10_000), limits.Room(used, price, input))
			if output < 1 {
				if most := price.Most(input, 1); limits.Over(used, most) == budget.None {
					t.Fatalf("no room for a token: %+v, %+v after %+v", limits, most, used)
				}
				continue
			}
			if over := limits.Over(used, price.Most(input, output)); over != budget.None {
				t.Fatalf("what there is room for passes %s: %+v after %+v", over, limits, used)
			}
			i, o := draw.Int64N(input+1), draw.Int64N(output+1)
			used = used.Plus(budget.Use{Tokens: i + o, USD: price(i, o)})
			spent, tokens, calls = spent.Add(spent, exact(in, out, i, o)), tokens+i+o, calls+1
		}
		if limits.Tokens > 0 && tokens > limits.Tokens {
			t.Fatalf("%d tokens of %d", tokens, limits.Tokens)
		}
		if allowed := new(big.Rat).SetFloat64(limits.USD); limits.USD > 0 && spent.Cmp(allowed.Add(allowed, slack(calls))) > 0 {
			t.Fatalf("%s dollars of %g", spent.FloatString(12), limits.USD)
		}
	}
}

// A purse that many reserve from at once is never passed either, everybody who
// asks is answered, and nobody is turned away while somebody else could still
// leave room.
func TestPurseIsNeverPassed(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			draw := rand.New(rand.NewPCG(seed, 7))
			in, out := draw.Float64()*20, draw.Float64()*100
			price, limit := perMillion(in, out), draw.Float64()
			before := limit * draw.Float64() / 2
			p := budget.NewPurse(limit, before)
			var mu sync.Mutex
			spent, calls, refused := new(big.Rat).SetFloat64(before), 0, 0
			number := func(n int64) int64 {
				mu.Lock()
				defer mu.Unlock()
				return draw.Int64N(n)
			}
			var all sync.WaitGroup
			for range 1 + draw.IntN(30) {
				all.Go(func() {
					for range 20 {
						i, o := number(20_000), number(10_000)
						ctx, stop := context.WithTimeout(t.Context(), time.Duration(1+number(100))*time.Second)
						hold, err := p.Reserve(ctx, price(i, o))
						stop()
						var reached *budget.Reached
						switch {
						case errors.As(err, &reached):
							mu.Lock()
							refused++
							mu.Unlock()
							return
						case err != nil:
							continue
						}
						time.Sleep(time.Duration(number(20)) * time.Second)
						i, o = number(i+1), number(o+1)
						hold.Settle(price(i, o))
						mu.Lock()
						spent, calls = spent.Add(spent, exact(in, out, i, o)), calls+1
						mu.Unlock()
					}
				})
			}
			all.Wait()
			if allowed := new(big.Rat).SetFloat64(limit); spent.Cmp(allowed.Add(allowed, slack(calls))) > 0 {
				t.Errorf("seed %d: %s dollars of %g", seed, spent.FloatString(12), limit)
			}
			if (refused > 0) != (p.Reached() != nil) {
				t.Errorf("seed %d: %d refused, closed: %v", seed, refused, p.Reached())
			}
		})
	}
}

// A call that does not fit waits for those under way, and the budget is reached
// only when none is.
func TestPurseWaitsForWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := budget.NewPurse(1, 0)
		first, err := p.Reserve(t.Context(), 0.9)
		if err != nil {
			t.Fatal(err)
		}
		var second *budget.Hold
		go func() { second, err = p.Reserve(t.Context(), 0.5) }()
		synctest.Wait()
		if second != nil || p.Reached() != nil {
			t.Fatalf("got %v, %v before the first had ended", second, p.Reached())
		}
		first.Settle(0.2)
		synctest.Wait()
		if second == nil || err != nil {
			t.Fatalf("got %v, %v", second, err)
		}
		second.Settle(0.5)
		_, err = p.Reserve(t.Context(), 0.4)
		var reached *budget.Reached
		if !errors.As(err, &reached) || reached.UsedUSD != 0.7 || reached.AllowedUSD != 1 || reached.NeededUSD != 0.4 {
			t.Fatalf("got %v", err)
		}
		if _, err := p.Reserve(t.Context(), 0.01); err == nil {
			t.Error("a closed purse let a call in")
		}
	})
}

func TestNoPurse(t *testing.T) {
	t.Parallel()
	p := budget.NewPurse(0, 5)
	hold, err := p.Reserve(t.Context(), 1e9)
	hold.Settle(3)
	if p != nil || err != nil || p.Reached() != nil || p.UsedUSD() != 0 {
		t.Errorf("got %v, %v", p, err)
	}
}

// What is known of a conversation's beginning stands in place of its bytes, and
// only where it is the same conversation.
func TestMostInput(t *testing.T) {
	t.Parallel()
	question := provider.Message{Role: provider.User, Content: strings.Repeat("words ", 1000)}
	answer := provider.Message{Role: provider.Assistant, Content: strings.Repeat("more ", 1000)}
	thanks := provider.Message{Role: provider.User, Content: "Thank you."}
	first := provider.Request{Messages: []provider.Message{question}}
	next := provider.Request{Messages: []provider.Message{question, answer, thanks}}
	other := provider.Request{Messages: []provider.Message{question, thanks, thanks}}
	var c budget.Conversation
	whole := c.MostInput(next)
	if whole < 11_000 || whole != budget.MostInput(next) {
		t.Errorf("nothing is known: got %d", whole)
	}
	c.Heard(first, &provider.Usage{Input: 1005, Output: 1003})
	if got := c.MostInput(next); got < 2018 || got > 2200 {
		t.Errorf("the beginning is known: got %d", got)
	}
	if got := c.MostInput(other); got != budget.MostInput(other) {
		t.Errorf("another conversation: got %d", got)
	}
	if got := c.MostInput(first); got != budget.MostInput(first) {
		t.Errorf("the same request again: got %d", got)
	}
	c.Heard(first, &provider.Usage{Input: 1e9, Output: 1})
	if got := c.MostInput(next); got != whole {
		t.Errorf("more than its bytes: got %d, want %d", got, whole)
	}
	c.Heard(first, nil)
	if got := c.MostInput(next); got != whole {
		t.Errorf("a reply that does not say: got %d", got)
	}
	tools := provider.Request{Tools: []provider.Tool{{Name: "t", Description: strings.Repeat("d", 100), Parameters: []byte(`{"type":"object"}`)}}}
	if got := budget.MostInput(tools) - budget.MostInput(provider.Request{}); got < 118 {
		t.Errorf("tools: got %d", got)
	}
}

// What people are told is in plain decimals, however small or large.
func TestDecimals(t *testing.T) {
	t.Parallel()
	for x, want := range map[float64]string{
		0: "0", 0.00001: "0.00001", 1e-9: "0.000000001", 1e-10: "0", 0.1 + 0.2: "0.3", 2.5: "2.5", 1234567: "1234567", 12345678901: "12345678901",
	} {
		if got := budget.Decimal(x); got != want {
			t.Errorf("%g: got %q, want %q", x, got, want)
		}
	}
	reached := &budget.Reached{AllowedUSD: 0.00001, NeededUSD: 0.0000025}
	if want := "the run's budget of $0.00001 is reached: $0 is used, and the next call can cost $0.0000025"; reached.Error() != want {
		t.Errorf("got %q, want %q", reached, want)
	}
}
