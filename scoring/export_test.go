package scoring

// Rules that no valid spec reaches at their edges.
var (
	LowerIsBetter  = lowerIsBetter
	HigherIsBetter = higherIsBetter
	ParsePath      = parsePath
	ParseReference = parseReference
	Pipeline       = pipeline
	Rotated        = rotated
	Shuffled       = shuffled
)
