package scoring

// Rules that no valid spec reaches at their edges.
var (
	LowerIsBetter  = lowerIsBetter
	HigherIsBetter = higherIsBetter
	ParseReference = parseReference
	Rotated        = rotated
	Shuffled       = shuffled
)
