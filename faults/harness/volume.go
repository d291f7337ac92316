package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/faults/lossfs"
	"refundlab/refund"
)

// volumes are the lossy volumes of one trial, by name. A command line reaches the store {journal}, {ledger} or {history} in
// the directory that is mounted there, or, in a trial without that volume, in the trial's own.
type volumes struct {
	survival lossfs.Survival
	mounted  map[string]*lossfs.Volume
	dirs     map[string]string
	// strike carries out a power cut at an fsync while the program that asked for it is held in the kernel, until letGo is called.
	strike func(f *firing, letGo func())

	mu     sync.Mutex
	armed  []*firing // power cuts that wait for an fsync
	images []evidence.Image
}

// mountVolumes mounts what the world asks for and sets the placeholders of all stores.
func mountVolumes(world faults.World, dir string, values map[string]string, strike func(*firing, func())) (*volumes, error) {
	s := world.Survival
	v := &volumes{
		survival: lossfs.Survival{Chance: float64(s.Percent) / 100, Torn: true, Seed: s.Seed},
		mounted:  map[string]*lossfs.Volume{}, dirs: map[string]string{}, strike: strike,
	}
	for _, name := range []string{faults.VolumeJournal, faults.VolumeLedger, faults.VolumeHistory} {
		values[name] = dir
	}
	for _, name := range world.Volumes {
		if _, known := values[name]; !known || v.mounted[name] != nil {
			return nil, errors.Join(fmt.Errorf("there is no volume %q, or it is asked for twice", name), v.unmount())
		}
		point := filepath.Join(dir, name)
		err := os.Mkdir(point, 0o755)
		if err == nil {
			v.mounted[name], err = lossfs.Mount(point, lossfs.Hooks{
				Before: func(e lossfs.Event) { v.syncing(name, faults.Before, e) },
				Synced: func(e lossfs.Event) { v.syncing(name, faults.After, e) },
			})
		}
		if err != nil {
			delete(v.mounted, name)
			return nil, errors.Join(err, v.unmount())
		}
		v.dirs[name], values[name] = point, point
	}
	return v, nil
}

// arm lets a power cut wait for the fsync of the transaction that a process now begins.
func (v *volumes) arm(f *firing) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.armed = append(v.armed, f)
}

// disarm returns a power cut that waits and takes it off the list; nil when none is meant.
func (v *volumes) disarm(meant func(*firing) bool) *firing {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := slices.IndexFunc(v.armed, meant)
	if i < 0 {
		return nil
	}
	f := v.armed[i]
	v.armed = slices.Delete(v.armed, i, i+1)
	return f
}

// SQLite makes a transaction durable by an fsync of its log, and by nothing else. A log that begins anew has its header synced
// first, under NORMAL too: that is no transaction's.
const (
	logSuffix = "-wal"
	logHeader = 32 // bytes
)

// syncing is called in the course of each operation of a program. An fsync that a power cut waits for holds its program until that
// has been sent SIGKILL: it never learns what became of its fsync.
func (v *volumes) syncing(volume string, when faults.When, e lossfs.Event) {
	if e.Op != lossfs.Sync || !strings.HasSuffix(e.Name, logSuffix) || e.Bytes <= logHeader {
		return
	}
	f := v.disarm(func(f *firing) bool {
		return f.rule.Volume == volume && f.rule.Sync == when && belongs(e.Thread, f.crossing.PID)
	})
	if f == nil {
		return
	}
	killed := make(chan struct{})
	go v.strike(f, sync.OnceFunc(func() { close(killed) }))
	<-killed
}

// belongs tells whether a thread is one of a process.
func belongs(thread, pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", pid, thread))
	return err == nil
}

// unmount ends the volumes; whoever used them has ended.
func (v *volumes) unmount() error {
	var errs []error
	for _, volume := range v.mounted {
		errs = append(errs, volume.Unmount())
	}
	return errors.Join(errs...)
}

func (v *volumes) named(name string) (*lossfs.Volume, error) {
	if volume := v.mounted[name]; volume != nil {
		return volume, nil
	}
	return nil, fmt.Errorf("the trial has no lossy volume %q", name)
}

func (v *volumes) sync(name string) error {
	volume, err := v.named(name)
	if err == nil {
		volume.SyncAll()
	}
	return err
}

// power carries out a power cut or an inspection and answers the process at the point, if it lives. What could not be done is
// its proof.
func (t *trial) power(f *firing) {
	var err error
	proof := "inspected"
	reply := faults.Reply{Action: faults.Continue}
	if f.rule.Sync != "" {
		t.volumes.arm(f)
		f.answer <- reply
		return
	}
	if f.Action == faults.PowerCut {
		proof = powerLost
		err = t.cutPower(f, nobodyHeld)
		if _, alive := t.processes.alive(f.crossing.Process); alive == nil && f.crossing.Process == faults.LineProvider && f.rule.Volume == faults.VolumeJournal {
			reply = t.post.orphaned(f) // it holds a message of a process that is dead
		}
	} else {
		err = t.inspect(f)
	}
	if err != nil {
		proof = err.Error()
	}
	t.trace.done(f, proof)
	f.answer <- reply
}

// powerLost proves a power cut.
const powerLost = "power lost"

func nobodyHeld() {}

// cutAtSync carries out a power cut that waited for an fsync.
func (t *trial) cutAtSync(f *firing, letGo func()) {
	defer letGo()
	proof := powerLost
	if err := t.cutPower(f, letGo); err != nil {
		proof = err.Error()
	}
	t.trace.done(f, proof)
}

// told is called with each announcement. It carries out the power cut that waits for an fsync of a process which has come to the
// far side of its transaction without one: whoever is told now is told what no disk has. It returns false when the process is
// gone with that.
func (t *trial) told(a faults.Announcement) bool {
	f := t.volumes.disarm(func(f *firing) bool {
		return a.PID == f.crossing.PID && a.Point == faults.Point{Boundary: f.Point.Boundary, When: faults.After}
	})
	if f == nil {
		return true
	}
	t.trace.mu.Lock()
	f.Unsynced = true
	t.trace.mu.Unlock()
	t.cutAtSync(f, nobodyHeld)
	_, gone := t.processes.alive(a.Process)
	return gone == nil
}

// cutPower stops every process that uses the volume, so that none of them sees the failure, takes the power from the volume,
// kills them, and gives the power back to what is on the disk. letGo lets go a process that the volume holds, which then dies.
func (t *trial) cutPower(f *firing, letGo func()) error {
	volume, err := t.volumes.named(f.rule.Volume)
	if err != nil {
		return err
	}
	users := t.processes.using(t.volumes.dirs[f.rule.Volume])
	for _, p := range users {
		_ = p.halt() // one that ended just now was not there any more when the power failed
	}
	volume.Cut()
	image, drawn := volume.Draw(t.volumes.survival)
	for _, p := range users {
		_ = p.signal(syscall.SIGKILL)
	}
	letGo()
	for _, p := range users {
		if err := p.awaitEnd(signalWithin); err != nil {
			return err
		}
	}
	err = t.keepImage(f, 0, image, drawn)
	for n := 1; n <= furtherDraws && f.rule.Sync != "" && t.volumes.survival.Chance > 0; n++ {
		other := t.volumes.survival
		other.Seed += uint64(n)
		image, drawn := volume.Draw(other)
		err = errors.Join(err, t.keepImage(f, n, image, drawn))
	}
	volume.Restore(image)
	return err
}

// furtherDraws is how many other images a cut at an fsync leaves in the evidence, by lots of their own. They cost a look, and the
// one that the trial goes on with cost the trial.
const furtherDraws = 5

// inspect looks at what is on the disk while everything goes on.
func (t *trial) inspect(f *firing) error {
	volume, err := t.volumes.named(f.rule.Volume)
	if err != nil {
		return err
	}
	image, drawn := volume.Draw(t.volumes.survival)
	return t.keepImage(f, 0, image, drawn)
}

// keepImage puts into the evidence what a client finds in an image of the journal: of the run that the rule hit, or, where it
// hit none, of all. The other stores tell by themselves, when their process is back.
func (t *trial) keepImage(f *firing, draw int, image lossfs.Image, drawn lossfs.Drawn) error {
	kept := evidence.Image{
		Rule: f.Rule, Volume: f.rule.Volume, Exports: evidence.Exports{}, Failed: map[string]string{},
		Pending: drawn.Of, Survived: drawn.Survived,
	}
	if f.rule.Volume == faults.VolumeJournal {
		if err := t.readImage(f, fmt.Sprintf("image-%s-%d", f.Rule, draw), image, &kept); err != nil {
			return err
		}
	}
	t.volumes.mu.Lock()
	defer t.volumes.mu.Unlock()
	t.volumes.images = append(t.volumes.images, kept)
	return nil
}

// readImage reads the runs of an image of the journal from a directory of its own.
func (t *trial) readImage(f *firing, name string, image lossfs.Image, kept *evidence.Image) error {
	dir := filepath.Join(t.values["dir"], name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := image.Save(dir); err != nil {
		return err
	}
	t.trace.mu.Lock()
	names := slices.Clone(t.order)
	ids := map[string]refund.OperationID{}
	for _, name := range names {
		ids[name] = t.runs[name].id
	}
	t.trace.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), clientWithin)
	defer cancel()
	for _, name := range names {
		if f.crossing.Operation != "" && f.crossing.Operation != string(ids[name]) {
			continue
		}
		export, found, err := t.exportFrom(ctx, dir, ids[name])
		switch {
		case err != nil:
			kept.Failed[name] = err.Error()
		case found:
			kept.Exports[name] = export
		}
	}
	return nil
}

// using lists the running processes that have a file below dir on their command line.
func (p *processes) using(dir string) []*process {
	p.mu.Lock()
	defer p.mu.Unlock()
	var users []*process
	for _, child := range p.list {
		uses := slices.ContainsFunc(child.record.Args, func(argument string) bool { return strings.Contains(argument, dir+string(filepath.Separator)) })
		if uses && child.running() {
			users = append(users, child)
		}
	}
	return users
}
