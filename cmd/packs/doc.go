// Package packs holds the commands of challenge packs: write, check, show, store.
package packs
