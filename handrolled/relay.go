package handrolled

import "context"

// relay delivers one notice that is due. It is marked after the receiver has acknowledged, never before; a relay that dies
// in between delivers it again, and the receiver removes the duplicate by operation id and revision.
func (e *Executor) relay(ctx context.Context) (bool, error) {
	pending, found, err := e.Journal.TakeNotice(ctx)
	if err != nil || !found {
		return false, err
	}
	ctx = context.WithoutCancel(ctx) // as every step: a stop does not cut it
	sending, cancel := context.WithTimeout(ctx, pending.Timeout)
	defer cancel()
	log := e.log().With("worker", e.Name, "operation", pending.Notice.OperationID, "revision", pending.Notice.Revision)
	if err := e.Notices.Send(sending, pending.Notice); err != nil {
		log.Warn("notice was not acknowledged, it is sent again", "error", err)
		return true, nil
	}
	err = e.Journal.MarkDelivered(ctx, pending.Notice, e.Name)
	return err == nil, err
}
