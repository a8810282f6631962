// Package page writes what came of a run as one HTML file that needs nothing but a
// browser: no other file, no address, no server. `serve` shows the same page of a
// run that goes on.
//
// It decides what the page holds, what is left out where a run is too large for
// one, and how text that a model, a pack or a tool wrote is made harmless there.
// Such text is written in two ways only: [inHTML] for the few words that stand in
// the document itself, and [inScript] for the data, which the page's own script
// shows as text and never as markup. It opens no file and no store; cmd hands in
// both.
package page
