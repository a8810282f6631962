// Package infra holds the commands of what all runs share: providers, profiles, aliases,
// prices, and what may be spent.
package infra
