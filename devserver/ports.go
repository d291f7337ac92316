package main

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// claimable says whether a server could listen on the port now. The server itself ends the process from deep
// inside when it cannot listen; asking first gives an error that names the flag.
func claimable(ip string, port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}

// portFinder hands out ports of one process, never the same twice.
type portFinder map[int]bool

// free returns a port on which nobody listens. Temporal's services take port numbers, not listeners, so there is a
// gap between finding and using. The range lies below the one from which kernels serve port 0 and outgoing
// connections (Linux from 32768, others from 49152), so only another finder could take the port in that gap.
func (taken portFinder) free(ip string) (int, error) {
	const low, high, tries = 15000, 30000, 100
	var err error
	for range tries {
		port := low + rand.IntN(high-low)
		if taken[port] {
			continue
		}
		if err = claimable(ip, port); err == nil {
			taken[port] = true
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port on %s between %d and %d: %w", ip, low, high, err)
}
