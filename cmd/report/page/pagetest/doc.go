// Package pagetest makes reports of runs that never were, of any size, for tests of
// pages in this program and in a browser.
package pagetest
