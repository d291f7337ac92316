package binaries

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lock excludes other processes, and other callers in this one, until unlock is called or the process dies. waits
// is called when the lock is not free at once.
func lock(ctx context.Context, path string, waits func()) (unlock func(), _ error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		waits()
		err = waitForLock(ctx, f)
	} else if err != nil {
		_ = f.Close()
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// waitForLock closes f if it returns an error.
func waitForLock(ctx context.Context, f *os.File) error {
	locked := make(chan error)
	go func() {
		err := error(syscall.EINTR)
		for errors.Is(err, syscall.EINTR) {
			err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		}
		select {
		case locked <- err:
		case <-ctx.Done():
			// The kernel's wait cannot be called off: a lock that comes late is given back.
			_ = f.Close()
		}
	}()
	select {
	case err := <-locked:
		if err != nil {
			_ = f.Close()
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// touch is best effort: a version that looks older than it is may be built again, nothing else.
func touch(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}
