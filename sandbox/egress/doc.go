// Package egress is the one way from a trial to the network: it decides which
// destinations are permitted, and makes the connections.
//
// Everything that an agent causes to be sent goes through a [Dialer], whether a
// program in the box sends it ([Dialer.Serve] answers the proxy that such
// programs find there) or the tool http_request ([Dialer.Do]). It is asked for
// names and addresses by whoever would like to reach what they must not: the
// machine it runs on, its neighbours, the metadata service of its cloud.
//
// # What is permitted
//
// Nothing, unless the [Policy] gives access. Then a destination is judged by its
// address, after its name was resolved here, and the address that was judged is
// the one that is connected to: no second answer of a name server counts, and
// each redirect is a new destination.
//
// Without an allowlist, public addresses are permitted, and a name is refused
// when any of its addresses is not public. With one, the addresses on it are
// permitted and nothing else is. What is not public (private and link-local
// networks, this machine, metadata services) has to be on it by an entry that
// lies within that range: 0.0.0.0/0 permits none of it. An address that names no
// single host is never permitted.
//
// The proxies of this process's environment are not used: what is behind them
// could not be judged.
package egress
