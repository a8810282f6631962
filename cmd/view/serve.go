package view

import "io"

// Served is where `serve --json` says that it answers.
type Served struct {
	Address string `json:"address"`
	Port    int    `json:"port"`
}

// Serving says where runs are shown.
func Serving(w io.Writer, s Served) error {
	_, err := io.WriteString(w, "Runs are shown at "+s.Address+"\n")
	return err
}
