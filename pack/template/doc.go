// Package template owns the small languages inside a pack: the {{name}}
// placeholders that a case fills, the tool kinds, the built-in tools with the
// arguments they take, and the `tools` block with the ${name} placeholders that
// the call of a composed tool fills.
//
// It decides what a placeholder is and what it becomes, which tools a policy
// unlocks, and what a tool of the pack's own may say ([ReadTools]). It knows
// neither files nor engines: both ask it, so that a check made when a pack is
// written and the run made later cannot disagree.
package template
