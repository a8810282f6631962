// Package web answers the questions of a browser on this machine about the runs of
// a store: the list of runs, a run's page, the evidence of a trial, files that were
// captured. It changes nothing.
//
// It decides who is answered: a request for a loopback name and this port, that no
// other site has sent, with GET or HEAD. A page elsewhere can thus read nothing,
// also not by a name of its own that leads here. What is answered comes from a
// [Source], which cmd makes of the store.
package web
