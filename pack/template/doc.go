// Package template owns the small languages inside a pack: the {{name}}
// placeholders that a case fills, the tool kinds, and the built-in tools with
// the arguments they take.
//
// It decides what a placeholder is and what it becomes, and which tools a
// policy unlocks. It knows neither packs nor engines: both ask it, so that a
// check made when a pack is written and the run made later cannot disagree.
package template
