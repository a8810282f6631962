// Package datasets holds the commands that take over cases from other tools' files.
package datasets
