package inject

import (
	"context"
	"io"

	"refundlab/faults"
)

// Reply announces the answer of a client to its caller: each Write to the returned writer is one answer.
func Reply(w io.Writer, announcer *faults.Announcer) io.Writer {
	if announcer == nil {
		return w
	}
	return &replyWriter{w: w, gate: gate{announcer}}
}

type replyWriter struct {
	w    io.Writer
	gate gate
}

func (r *replyWriter) Write(p []byte) (int, error) {
	ctx := context.Background()
	r.gate.before(ctx, faults.CallerReply, faults.Announcement{})
	n, err := r.w.Write(p)
	r.gate.after(ctx, faults.CallerReply, faults.Announcement{})
	return n, err
}
