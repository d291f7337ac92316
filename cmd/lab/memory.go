package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"time"
)

// memoryWatch samples how much memory this process and its children use together. Pages that processes share count once
// for each, so the sum is an upper bound.
type memoryWatch struct {
	cancel context.CancelFunc
	peak   chan int64
}

const memoryInterval = 250 * time.Millisecond

func watchMemory(ctx context.Context) *memoryWatch {
	ctx, cancel := context.WithCancel(ctx)
	w := &memoryWatch{cancel: cancel, peak: make(chan int64, 1)}
	go func() {
		ticker := time.NewTicker(memoryInterval)
		defer ticker.Stop()
		var peak int64
		for {
			peak = max(peak, residentMemory(os.Getpid()))
			select {
			case <-ticker.C:
			case <-ctx.Done():
				w.peak <- peak
				return
			}
		}
	}()
	return w
}

// stop returns the largest sum that was seen, in bytes; 0 where the system has no process table to read.
func (w *memoryWatch) stop() int64 {
	w.cancel()
	return <-w.peak
}

// residentMemory adds up the resident sets of a process and its children, in bytes.
func residentMemory(parent int) (sum int64) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended meanwhile
		}
		// Behind the name in parentheses: state, parent, and 20 fields further the resident set in pages.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		const parentField, residentField = 1, 21
		if len(fields) <= residentField {
			continue
		}
		if owner, _ := strconv.Atoi(string(fields[parentField])); owner == parent || pid == parent {
			pages, _ := strconv.ParseInt(string(fields[residentField]), 10, 64)
			sum += pages * int64(os.Getpagesize())
		}
	}
	return sum
}
