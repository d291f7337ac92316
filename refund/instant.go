package refund

import "time"

// Instant is a point in time: milliseconds since 1970 in UTC, as it stands in every store. Zero means "not set".
type Instant int64

// At converts t, cutting off what is finer than a millisecond.
func At(t time.Time) Instant { return Instant(t.UnixMilli()) }

// Add returns the instant d later; d is cut to whole milliseconds.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d.Milliseconds()) }

// Sub returns the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i-j) * time.Millisecond }

// Before tells whether i is earlier than j. A deadline d is over at d itself: in time means Before(d).
func (i Instant) Before(j Instant) bool { return i < j }

// Time converts i to a time in UTC.
func (i Instant) Time() time.Time { return time.UnixMilli(int64(i)).UTC() }

// String prints i in UTC with milliseconds, or "-" when it is not set.
func (i Instant) String() string {
	if i == 0 {
		return "-"
	}
	return i.Time().Format("2006-01-02T15:04:05.000Z")
}
