// Package verdict holds the commands that say how good a run is: scorecards, baselines,
// comparisons, gates, and the reports that are written of them.
package verdict
