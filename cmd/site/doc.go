// Package site shows runs in a browser: one page in a file, or served on loopback.
package site
