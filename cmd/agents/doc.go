// Package agents holds what is evaluated and how it is reached: deployments, builds,
// provider accounts, secrets, and the clients made of them. Providers of models are met
// in its wire.go.
package agents
