package outbox

// Value is a row, part of a row, or an action's payload. The outbox never looks
// inside one. A nil Value means there is none.
type Value interface {
	// Spread returns this value with the own properties of changes laid over
	// it, one level deep. Neither operand is changed.
	Spread(changes Value) Value
	// Covers reports whether this value has every property that other has.
	Covers(other Value) bool
}

// spread is Value.Spread where either side may be missing.
func spread(value, changes Value) Value {
	switch {
	case value == nil:
		return changes
	case changes == nil:
		return value
	}
	return value.Spread(changes)
}
