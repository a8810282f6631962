package guest

// capture bounds one stream of a program: the first head bytes are passed on at
// once, of the others the last tail bytes are kept, and all are counted.
type capture struct {
	head, tail int
	total      int64
	ring       []byte
	next       int // where the ring continues, once it is full
}

// write counts p and returns the part of it that belongs to the head.
func (c *capture) write(p []byte) []byte {
	c.total += int64(len(p))
	n := min(len(p), c.head)
	c.head -= n
	c.keep(p[n:])
	return p[:n]
}

func (c *capture) keep(p []byte) {
	if c.tail == 0 {
		return
	}
	if len(p) > c.tail {
		p = p[len(p)-c.tail:]
	}
	if room := c.tail - len(c.ring); room > 0 {
		n := min(room, len(p))
		c.ring = append(c.ring, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(c.ring[c.next:], p)
		c.next = (c.next + n) % c.tail
		p = p[n:]
	}
}

// end returns what is left to pass on, in order and in two parts.
func (c *capture) end() [2][]byte {
	if len(c.ring) < c.tail {
		return [2][]byte{c.ring}
	}
	return [2][]byte{c.ring[c.next:], c.ring[:c.next]}
}
