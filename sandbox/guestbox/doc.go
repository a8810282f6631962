// Package guestbox is what every box with our guest in it answers: the calls of
// [sandbox.Session], made over a guest's stream and put into the port's words.
//
// It decides how a command, a file, a listing and an error of the guest's
// protocol look through the port. What a box is made of, what ended it and how
// it is removed is the business of the provider, which keeps a [Calls] in each
// of its boxes (sandbox/docker, sandbox/e2b). What they have in common stands
// here too: whose a box is and when nobody looks after it any more, and what a
// guest must find in every one.
package guestbox
