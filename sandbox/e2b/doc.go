// Package e2b opens boxes as machines of E2B's API: one small virtual machine
// for each box, and in it our guest, which makes the box and speaks over the
// streams of one process.
//
// It decides how the two halves of that API are spoken to: the control plane
// (make, keep, list, remove a machine) and the daemon that every machine has
// (put a file there, start a process, feed it, read it). It uses as little of
// the second as can be: the guest's file goes in, the guest is started, and all
// that a box does from then on is the guest's own protocol, so that links,
// bounds, timeouts and the killing of process trees are what they are in every
// other box. What happens in there is sandbox/guest's business.
//
// # What holds for every machine
//
// It is made without access to the internet and with its daemon secured by a
// token. Inside, the guest gives programs namespaces with no interface but lo, a
// root that cannot be written to and a user who is not root; this is checked
// before a box is handed out. The network that a box may be given is a tunnel
// through the guest's stream, so the policy is the host's own and none of
// E2B's is needed. Memory and processors are those of the template.
//
// A machine lives on a short lease that its owner renews, so one whose owner
// died ends by itself within minutes; what carries our labels and was left all
// the same is found by [Reap].
//
// The key and the tokens of machines are sent where they belong and appear
// nowhere else: no error, no listing, no argument holds one.
package e2b
