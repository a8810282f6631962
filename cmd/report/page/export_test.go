package page

// What only tests look at by itself.
var Clip = clip

func (d Detail) Fit(room int) ([]byte, error) { return d.fit(room) }
