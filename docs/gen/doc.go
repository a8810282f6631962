// Command gen writes what is made of the program's own help: manual pages and completion
// scripts for releases (-out DIR) and the pages of docs/reference (-reference DIR). It
// is no part of the product, which therefore does not link what writes manual pages.
package main
