// Package faults holds the failures that a test asks the demo server to play.
//
// It promises that faults are tried in the order they were added, the first
// match wins, a fault with a number of times is matched no oftener, and
// clearing the list lets every held request go on. It decides only; failing,
// dropping and applying are the caller's.
package faults
