// Package lossfs is a file system that loses power. It keeps files in memory, as the programs see them and as they would be
// on the disk, and what lies between the two is lost at a cut, or survives by lot: writes and truncations until fsync of the
// file, names until fsync of the directory.
//
// SIGKILL tests none of that: what a killed process had written stays in the kernel. Programs use a Volume through a mount
// point (FUSE; Linux, root). None of them may run in the process that serves it: a page fault on a file that it maps would
// wait for the process that it stops.
//
// It does not model a disk that lies about fsync, nor a kernel that reports a failed one.
package lossfs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Volume is one mounted file system: one directory with files.
type Volume struct {
	dir    string
	hooks  Hooks
	root   *directory
	server *fuse.Server

	mu      sync.Mutex
	cut     bool
	live    map[string]*file // names as programs see them
	disk    map[string]*file // names that are on the disk
	namings []naming         // what happened to names since the directory was synced
}

// naming is a name that was given to a file, or, with none, taken away.
type naming struct {
	name string
	file *file
}

// Op is what a program asks of a volume.
type Op string

// The operations that a hook can see.
const (
	Write    Op = "write"
	Truncate Op = "truncate"
	Sync     Op = "fsync"
	SyncDir  Op = "fsync of the directory"
)

// Event is one operation.
type Event struct {
	Op     Op
	Name   string // of the file
	Bytes  int    // of a write, or of the writes that an fsync makes durable
	Thread int    // of the program that asks, by its number in the process table
}

// Hooks see what programs ask of a volume. Each may block: that holds the program, which cannot die meanwhile, not even by
// SIGKILL. So send that, let the program go, wait for its end, and only then unmount.
type Hooks struct {
	Before func(Event) // ahead of each operation
	Synced func(Event) // behind an fsync of a file, when its content is on the disk and the program does not know yet
}

// Mount mounts an empty volume on the directory dir. A hook may be nil.
func Mount(dir string, hooks Hooks) (*Volume, error) {
	v := &Volume{dir: dir, hooks: hooks, live: map[string]*file{}, disk: map[string]*file{}}
	v.root = &directory{volume: v}
	// Nothing is cached by name and no page is written late, so that every pwrite is seen at once; only pages of a shared mapping
	// come later. DirectMountStrict asks the kernel itself, without the program fusermount.
	server, err := fs.Mount(dir, v.root, &fs.Options{MountOptions: fuse.MountOptions{
		DirectMountStrict: true, FsName: owner(), Name: kind, DisableXAttrs: true,
	}})
	if err != nil {
		return nil, fmt.Errorf("a lossy volume cannot be mounted on %s: %w", dir, err)
	}
	v.server = server
	if err := keepFromChildren(); err != nil {
		return nil, errors.Join(err, v.Unmount())
	}
	return v, nil
}

// letGoWithin bounds the wait for a killed program's mappings: the kernel may let go of its files only seconds after its end.
const letGoWithin = 30 * time.Second

// Unmount ends the volume, once nobody has a file open. A program that goes on using it makes that an error, and from then on
// uses it alone.
func (v *Volume) Unmount() error {
	var err error
	for deadline := time.Now().Add(letGoWithin); time.Now().Before(deadline); {
		if err = v.server.Unmount(); err == nil { // which pauses between tries of its own, for a third of a second
			return nil
		}
	}
	return errors.Join(fmt.Errorf("a lossy volume is still in use: %w", err), syscall.Unmount(v.dir, syscall.MNT_DETACH))
}

// Cut is the power failure: from now on every operation fails with EIO, and what is on the disk does not change any more.
func (v *Volume) Cut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.cut = true
}

// SyncAll makes everything durable that was written, as an operating system does by itself after some seconds.
func (v *Volume) SyncAll() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.syncNames()
	for _, f := range v.live {
		f.sync()
	}
}

// syncNames makes the names durable. The lock is held.
func (v *Volume) syncNames() { v.disk, v.namings = maps.Clone(v.live), nil }

// Restore gives the power back: the volume holds what the image says, all of it on the disk. Programs that used it before
// must have ended.
func (v *Volume) Restore(image Image) {
	v.mu.Lock()
	old := slices.Collect(maps.Keys(v.root.Children()))
	v.live = map[string]*file{}
	for name, content := range image {
		v.live[name] = v.newFile(name, content)
	}
	v.syncNames()
	v.cut = false
	v.mu.Unlock()
	v.root.RmChild(old...)
}

// newFile makes a file whose content is on the disk. The lock is held.
func (v *Volume) newFile(name string, content []byte) *file {
	f := &file{volume: v, name: name, content: slices.Clone(content), disk: slices.Clone(content)}
	v.root.newInode(f)
	return f
}
