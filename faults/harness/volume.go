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

	mu     sync.Mutex
	images []evidence.Image
}

// mountVolumes mounts what the world asks for and sets the placeholders of all stores.
func mountVolumes(world faults.World, dir string, values map[string]string) (*volumes, error) {
	s := world.Survival
	v := &volumes{
		survival: lossfs.Survival{Chance: float64(s.Percent) / 100, Torn: true, Seed: s.Seed},
		mounted:  map[string]*lossfs.Volume{}, dirs: map[string]string{},
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
			v.mounted[name], err = lossfs.Mount(point, nil)
		}
		if err != nil {
			delete(v.mounted, name)
			return nil, errors.Join(err, v.unmount())
		}
		v.dirs[name], values[name] = point, point
	}
	return v, nil
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
	if f.Action == faults.PowerCut {
		proof = "power lost"
		err = t.cutPower(f)
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

// cutPower stops every process that uses the volume, so that none of them sees the failure, takes the power from the volume,
// kills them, and gives the power back to what is on the disk.
func (t *trial) cutPower(f *firing) error {
	volume, err := t.volumes.named(f.rule.Volume)
	if err != nil {
		return err
	}
	users := t.processes.using(t.volumes.dirs[f.rule.Volume])
	for _, p := range users {
		if p.signal(syscall.SIGSTOP) == nil {
			_ = p.awaitState('T') // one that ended just now was not there any more when the power failed
		}
	}
	volume.Cut()
	image := volume.Image(t.volumes.survival)
	for _, p := range users {
		_ = p.signal(syscall.SIGKILL)
		if err := p.awaitEnd(signalWithin); err != nil {
			return err
		}
	}
	err = t.keepImage(f, image)
	volume.Restore(image)
	return err
}

// inspect looks at what is on the disk while everything goes on.
func (t *trial) inspect(f *firing) error {
	volume, err := t.volumes.named(f.rule.Volume)
	if err != nil {
		return err
	}
	return t.keepImage(f, volume.Image(t.volumes.survival))
}

// keepImage puts into the evidence what a client finds in an image of the journal: of the run that the rule hit, or, where it
// hit none, of all.
func (t *trial) keepImage(f *firing, image lossfs.Image) error {
	if f.rule.Volume != faults.VolumeJournal {
		return nil // the others tell by themselves, when their process is back
	}
	dir := filepath.Join(t.values["dir"], "image-"+f.Rule)
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
	kept := evidence.Image{Rule: f.Rule, Volume: f.rule.Volume, Exports: evidence.Exports{}, Failed: map[string]string{}}
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
	t.volumes.mu.Lock()
	defer t.volumes.mu.Unlock()
	t.volumes.images = append(t.volumes.images, kept)
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
