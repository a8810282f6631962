// Package config decides what settings there are, which values they take and
// where a value comes from: flag, environment, the project's file, the user's
// file, or what is built in, in this order.
//
// It reads no file and no environment itself: both are handed in. Keys never
// stand in these files; they are secrets.
package config
