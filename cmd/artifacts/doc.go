// Package artifacts holds the commands of files that people attach to runs.
package artifacts
