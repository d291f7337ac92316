package harness

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// proxy carries TCP connections to a far side that may move, and can be told to stop doing so. Its own address never changes:
// a far side that was killed comes back behind it on another port, and no port has to be free twice.
type proxy struct {
	listener net.Listener

	mu    sync.Mutex
	far   string // HOST:PORT
	mode  lineMode
	conns map[*net.TCPConn]bool
}

// lineMode is what a proxy does with what it is given.
type lineMode int

const (
	lineOpen   lineMode = iota // carry it
	lineCut                    // reset every connection, new ones at once
	lineSilent                 // take connections and bytes, and swallow them: nothing arrives, nobody is told
)

func newProxy(far string, mode lineMode) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &proxy{listener: listener, far: far, mode: mode, conns: map[*net.TCPConn]bool{}}
	go p.serve()
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) serve() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		if near, ok := conn.(*net.TCPConn); ok && p.track(near) {
			go p.carry(near)
		}
	}
}

// track takes a connection in, or resets it where the line is cut.
func (p *proxy) track(conn *net.TCPConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode == lineCut {
		reset(conn)
		return false
	}
	p.conns[conn] = true
	return true
}

func (p *proxy) carry(near *net.TCPConn) {
	p.mu.Lock()
	address, silent := p.far, p.mode == lineSilent
	p.mu.Unlock()
	if silent {
		p.pump(nil, near)
		return
	}
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", address) // as long as the near side waits
	far, ok := conn.(*net.TCPConn)
	if err != nil || !ok || !p.track(far) {
		p.drop(near) // the far side is not there, as it would look without us
		return
	}
	go p.pump(near, far)
	p.pump(far, near)
}

// pump carries bytes one way. The end of one side is told to the other, unless the line has fallen silent meanwhile.
func (p *proxy) pump(to, from *net.TCPConn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		silent := p.mode == lineSilent
		p.mu.Unlock()
		switch {
		case silent && err != nil:
			return
		case silent:
		default:
			if to != nil && n > 0 {
				_, _ = to.Write(buffer[:n]) // a side that is gone ends its own pump
			}
			if err != nil {
				p.drop(from)
				p.drop(to)
				return
			}
		}
	}
}

func (p *proxy) drop(conn *net.TCPConn) {
	if conn == nil {
		return
	}
	p.mu.Lock()
	delete(p.conns, conn)
	p.mu.Unlock()
	_ = conn.Close() // it is to be gone, however it ends
}

// set changes the mode. What was swallowed is lost for good: the connections that it was lost on are reset.
func (p *proxy) set(mode lineMode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if mode == lineCut || p.mode == lineSilent && mode != lineSilent {
		for conn := range p.conns {
			reset(conn)
		}
		p.conns = map[*net.TCPConn]bool{}
	}
	p.mode = mode
}

// move sends further connections to another address; those that stand are the old far side's and end with it.
func (p *proxy) move(far string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.far = far
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.set(lineCut)
}

// reset closes a connection so that the other side sees an error and no orderly end.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}
