package soak

import "slices"

// minimal reduces a list to a smaller one for which fails still says true, by delta debugging: it tries parts and complements of
// the list in ever finer pieces. fails is asked about lists in the order of the given one and is true for it. When more is false
// nothing further is asked and the smallest list so far is the result.
func minimal[T any](list []T, fails func([]T) bool, more func() bool) []T {
	for pieces := 2; len(list) >= 1; {
		smaller, found := reduce(list, pieces, fails, more)
		switch {
		case found:
			pieces = max(2, min(pieces-1, len(smaller)))
			list = smaller
		case pieces >= len(list) || !more():
			return list
		default:
			pieces = min(2*pieces, len(list))
		}
	}
	return list
}

// reduce looks for a part of the list that fails alone, or for a part without which the rest fails.
func reduce[T any](list []T, pieces int, fails func([]T) bool, more func() bool) ([]T, bool) {
	parts := split(list, pieces)
	candidates := slices.Clone(parts)
	if pieces > 2 || len(list) == 1 { // of two parts the one is the other's complement
		candidates = nil
		for i := range parts {
			candidates = append(candidates, slices.Concat(slices.Concat(parts[:i]...), slices.Concat(parts[i+1:]...)))
		}
	}
	for _, candidate := range candidates {
		if len(candidate) < len(list) && more() && fails(candidate) {
			return candidate, true
		}
	}
	return nil, false
}

func split[T any](list []T, pieces int) [][]T {
	pieces = min(pieces, len(list))
	var parts [][]T
	for i := range pieces {
		parts = append(parts, list[i*len(list)/pieces:(i+1)*len(list)/pieces])
	}
	return parts
}
