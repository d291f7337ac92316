package lossfs

import (
	"context"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// directory is the root and the only directory.
type directory struct {
	fs.Inode
	volume *Volume
}

// file is one file.
type file struct {
	fs.Inode
	volume  *Volume
	name    string   // that it was made under
	content []byte   // as programs see it
	disk    []byte   // as it is on the disk
	pending []change // since its last fsync
}

// change is a write at an offset, or, without data, the end of the file moved there.
type change struct {
	truncate bool
	offset   int64
	data     []byte
}

func (c change) apply(content []byte) []byte {
	end := c.offset + int64(len(c.data))
	if grow := end - int64(len(content)); grow > 0 {
		content = append(content, make([]byte, grow)...)
	}
	if c.truncate {
		return content[:c.offset]
	}
	copy(content[c.offset:], c.data)
	return content
}

// do makes a change. The lock is held.
func (f *file) do(c change) {
	f.content = c.apply(f.content)
	f.pending = append(f.pending, c)
}

// sync makes the content durable. The lock is held.
func (f *file) sync() {
	f.disk, f.pending = slices.Clone(f.content), nil
}

// unsynced is how many bytes were written since the last fsync. The lock is held.
func (f *file) unsynced() (bytes int) {
	for _, c := range f.pending {
		bytes += len(c.data)
	}
	return bytes
}

// fill writes the attributes of the file. The lock is held.
func (f *file) fill(out *fuse.Attr) {
	out.Mode = syscall.S_IFREG | 0o644
	out.Size = uint64(len(f.content))
	out.Blocks = (out.Size + 511) / 512
	out.Nlink = 0
	for _, linked := range f.volume.live {
		if linked == f {
			out.Nlink = 1 // SQLite looks whether its file was unlinked under it
		}
	}
}

// tell calls a hook, if there is one, with who asks.
func tell(ctx context.Context, hook func(Event), e Event) {
	if hook == nil {
		return
	}
	if caller, known := fuse.FromContext(ctx); known {
		e.Thread = int(caller.Pid)
	}
	hook(e)
}

// enter takes the lock for one operation, or says that the power is gone.
func (v *Volume) enter() (leave func(), errno syscall.Errno) {
	v.mu.Lock()
	if v.cut {
		v.mu.Unlock()
		return nil, syscall.EIO
	}
	return v.mu.Unlock, 0
}

func (d *directory) newInode(f *file) *fs.Inode {
	return d.NewPersistentInode(context.Background(), f, fs.StableAttr{Mode: syscall.S_IFREG})
}

func (d *directory) Lookup(_ context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	leave, errno := d.volume.enter()
	if errno != 0 {
		return nil, errno
	}
	defer leave()
	f := d.volume.live[name]
	if f == nil {
		return nil, syscall.ENOENT
	}
	f.fill(&out.Attr)
	return &f.Inode, 0
}

func (d *directory) Create(_ context.Context, name string, _, _ uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	leave, errno := d.volume.enter()
	if errno != 0 {
		return nil, nil, 0, errno
	}
	defer leave()
	f := d.volume.newFile(name, nil)
	d.volume.live[name] = f
	d.volume.namings = append(d.volume.namings, naming{name, f})
	f.fill(&out.Attr)
	return &f.Inode, nil, 0, 0
}

func (d *directory) Unlink(_ context.Context, name string) syscall.Errno {
	leave, errno := d.volume.enter()
	if errno != 0 {
		return errno
	}
	defer leave()
	delete(d.volume.live, name)
	d.volume.namings = append(d.volume.namings, naming{name, nil})
	return 0
}

// Fsync of the directory makes names durable, and no content.
func (d *directory) Fsync(ctx context.Context, _ fs.FileHandle, _ uint32) syscall.Errno {
	tell(ctx, d.volume.hooks.Before, Event{Op: SyncDir})
	leave, errno := d.volume.enter()
	if errno != 0 {
		return errno
	}
	defer leave()
	d.volume.syncNames()
	return 0
}

func (f *file) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	leave, errno := f.volume.enter()
	if errno != 0 {
		return nil, 0, errno
	}
	leave()
	return nil, 0, 0
}

func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	leave, errno := f.volume.enter()
	if errno != 0 {
		return errno
	}
	defer leave()
	f.fill(&out.Attr)
	return 0
}

// Setattr moves the end of the file. Owner, mode and times are accepted and forgotten.
func (f *file) Setattr(ctx context.Context, _ fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	size, resized := in.GetSize()
	if resized {
		tell(ctx, f.volume.hooks.Before, Event{Op: Truncate, Name: f.name})
	}
	leave, errno := f.volume.enter()
	if errno != 0 {
		return errno
	}
	defer leave()
	if resized {
		f.do(change{truncate: true, offset: int64(size)})
	}
	f.fill(&out.Attr)
	return 0
}

func (f *file) Read(_ context.Context, _ fs.FileHandle, into []byte, offset int64) (fuse.ReadResult, syscall.Errno) {
	leave, errno := f.volume.enter()
	if errno != 0 {
		return nil, errno
	}
	defer leave()
	if offset >= int64(len(f.content)) {
		return fuse.ReadResultData(nil), 0
	}
	return fuse.ReadResultData(into[:copy(into, f.content[offset:])]), 0
}

func (f *file) Write(ctx context.Context, _ fs.FileHandle, data []byte, offset int64) (uint32, syscall.Errno) {
	tell(ctx, f.volume.hooks.Before, Event{Op: Write, Name: f.name, Bytes: len(data)})
	leave, errno := f.volume.enter()
	if errno != 0 {
		return 0, errno
	}
	defer leave()
	f.do(change{offset: offset, data: slices.Clone(data)})
	return uint32(len(data)), 0
}

// Fsync makes the content durable, and no name.
func (f *file) Fsync(ctx context.Context, _ fs.FileHandle, _ uint32) syscall.Errno {
	leave, errno := f.volume.enter()
	if errno != 0 {
		return errno
	}
	event := Event{Op: Sync, Name: f.name, Bytes: f.unsynced()}
	leave()
	tell(ctx, f.volume.hooks.Before, event)
	if leave, errno = f.volume.enter(); errno != 0 {
		return errno
	}
	f.sync()
	leave()
	tell(ctx, f.volume.hooks.Synced, event)
	return 0
}
