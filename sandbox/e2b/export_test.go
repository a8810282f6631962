package e2b

// Packing compresses a guest once; see SharePacked.
var Packing = packing

// SharePacked gives a provider a guest that is compressed already: a test opens
// many providers, and to compress costs more than all they do.
func (p *Provider) SharePacked(packed func() ([]byte, int64, error)) { p.packed = packed }
